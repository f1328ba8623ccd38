import { isDeepStrictEqual } from "node:util";
import { label, MANAGED_BY } from "../crds/names.ts";
import {
  type Change,
  type Job,
  type KubeClient,
  type KubeError,
  keyOf,
  kinds,
  type MetadataOnly,
  metadataOf,
  type Pod,
  type Ports,
  Store,
} from "../kube/index.ts";
import type { JobFacts, PodFacts, ResourceFacts } from "../lifecycle/view.ts";
import {
  type ConfigMapEntry,
  claimChanged,
  configMapEntry,
  type JobEntry,
  jobEntry,
  type PodEntry,
  podEntry,
  type ResourceEntry,
  realmOf,
} from "./entries.ts";
import { FAMILIES, familyOf, ofKey } from "./families.ts";
import { FamilyCaches, type Listener } from "./family-caches.ts";

/** What the caches tell about: a resource to decide about again. */
export type Wake = (key: string) => void;

export interface CacheOptions {
  readonly namespace: string | undefined;
  readonly stateVersion: number;
  readonly wake: Wake;
  onError(kind: string, error: KubeError, waitMs: number): void;
  onUnreadable(kind: string, key: string, message: string): void;
}

/** Jobs and Pods of operations, of whichever family. */
const OPERATIONS = `${label.managedBy}=${MANAGED_BY},${label.operation}`;

/**
 * What the watches say, as decisions need it: no plan bytes, no file of a source, no Secret. Watches only wake; where
 * absence or freshness matters a decision asks for an uncached read.
 */
export class Caches {
  readonly families: readonly FamilyCaches[];
  readonly jobs: Store<Job, JobEntry>;
  readonly pods: Store<Pod, PodEntry>;
  readonly configMaps: Store<MetadataOnly, ConfigMapEntry>;
  readonly #byKind: ReadonlyMap<string, FamilyCaches>;
  /** Resources by the ConfigMaps that their sources name, and by realm. */
  readonly #bySource = new Map<string, Set<string>>();
  readonly #byRealm = new Map<string, Set<string>>();
  readonly #byUID = new Map<string, string>();
  readonly #options: CacheOptions;

  constructor(options: CacheOptions) {
    this.#options = options;
    const selection = { namespace: options.namespace };
    const onError = (kind: string) => (error: KubeError, waitMs: number) => options.onError(kind, error, waitMs);
    const listener: Listener = {
      namespace: options.namespace,
      stateVersion: options.stateVersion,
      onResource: (kind, change) => this.#onResource(kind, change),
      wakeUID: (uid, by) => this.#wakeUID(uid, by),
      wake: (key, by) => this.#wake(key, by),
      onError: (kind, error, waitMs) => options.onError(kind, error, waitMs),
      onUnreadable: (kind, key, message) => options.onUnreadable(kind, key, message),
    };
    this.families = FAMILIES.map((family) => new FamilyCaches(family, listener));
    this.#byKind = new Map(this.families.map((caches) => [caches.family.lifecycle.kind, caches]));
    this.jobs = new Store(
      kinds.Job,
      { ...selection, labelSelector: OPERATIONS },
      {
        keep: jobEntry,
        onChange: (change) => this.#onJob(change),
        onError: onError("Job"),
      },
    );
    this.pods = new Store(
      kinds.Pod,
      { ...selection, labelSelector: OPERATIONS },
      {
        keep: podEntry,
        onChange: (change) => this.#onPod(change),
        onError: onError("Pod"),
      },
    );
    this.configMaps = new Store(metadataOf(kinds.ConfigMap), selection, {
      keep: configMapEntry,
      onChange: (change) => this.#onConfigMap(change),
      onError: onError("ConfigMap"),
    });
  }

  get all(): readonly {
    readonly name: string;
    readonly store: Pick<Store<never, unknown>, "ready" | "isReady" | "run">;
  }[] {
    return [
      ...this.families.flatMap((caches) => caches.all),
      { name: "Job", store: this.jobs },
      { name: "Pod", store: this.pods },
      { name: "ConfigMap", store: this.configMaps },
    ];
  }

  /** Follows every collection until the signal fires. */
  async run(client: KubeClient, signal: AbortSignal, ports: Ports): Promise<void> {
    await Promise.all(this.all.map(({ store }) => store.run(client, signal, ports)));
  }

  /** The caches of a resource's family. */
  of(resource: Pick<ResourceFacts, "kind">): FamilyCaches {
    const caches = this.#byKind.get(resource.kind);
    if (caches === undefined) throw new Error(`${familyOf(resource).lifecycle.kind} is not followed`);
    return caches;
  }

  /** The resource that a key names. */
  resource(key: string): ResourceEntry | undefined {
    const { family, at } = ofKey(key);
    return this.of(family.lifecycle).resources.get(keyOf(at));
  }

  /** Every resource. */
  *resources(): Generator<ResourceEntry> {
    for (const { resources } of this.families) yield* resources.values();
  }

  /** Every resource this version can read. */
  *readable(): Generator<ResourceFacts> {
    for (const entry of this.resources()) if (entry.state === "read") yield entry.facts;
  }

  /** Readable resources of a realm. */
  *claimants(coordination: string): Generator<ResourceFacts> {
    for (const key of this.#byRealm.get(coordination) ?? []) {
      const entry = this.resource(key);
      if (entry?.state === "read") yield entry.facts;
    }
  }

  #onResource(kind: string, { before, after, by }: Change<ResourceEntry>): void {
    if (before !== undefined) this.#unindex(before);
    if (after !== undefined) this.#index(after);
    if (after?.state === "unreadable") this.#options.onUnreadable(kind, after.key, after.message);
    const key = (after ?? before)?.key;
    if (key !== undefined) this.#wake(key, by);
    if (claimChanged(before, after)) {
      for (const realm of new Set([realmOf(before), realmOf(after)])) {
        for (const other of this.#byRealm.get(realm) ?? []) if (other !== key) this.#wake(other, by);
      }
    }
  }

  #index(entry: ResourceEntry): void {
    this.#byUID.set(entry.uid, entry.key);
    if (entry.state !== "read") return;
    for (const name of entry.configMaps) addTo(this.#bySource, name, entry.key);
    addTo(this.#byRealm, realmOf(entry), entry.key);
  }

  #unindex(entry: ResourceEntry): void {
    this.#byUID.delete(entry.uid);
    if (entry.state !== "read") return;
    for (const name of entry.configMaps) removeFrom(this.#bySource, name, entry.key);
    removeFrom(this.#byRealm, realmOf(entry), entry.key);
  }

  /** A pass goes on from what it brought itself; only others are woken by that. */
  #wake(key: string, by: string | undefined): void {
    if (key !== by) this.#options.wake(key);
  }

  #wakeUID(uid: string | undefined, by: string | undefined): void {
    const key = uid === undefined ? undefined : this.#byUID.get(uid);
    if (key !== undefined) this.#wake(key, by);
  }

  /** The Job controller and the kubelet write many versions of a Job and a Pod that say nothing new to a decision. */
  #onJob({ before, after, by }: Change<JobEntry>): void {
    if (!sameButVersion(before?.facts, after?.facts)) this.#wakeUID((after ?? before)?.ownerUID, by);
  }

  #onPod({ before, after, by }: Change<PodEntry>): void {
    const pod = after ?? before;
    if (pod === undefined || pod.resourceKey === "") return;
    if (before?.resourceKey !== pod.resourceKey || !sameButVersion(before.facts, after?.facts))
      this.#wake(pod.resourceKey, by);
  }

  #onConfigMap({ before, after, by }: Change<ConfigMapEntry>): void {
    const entry = after ?? before;
    if (entry === undefined) return;
    for (const key of this.#bySource.get(keyOf(entry)) ?? []) this.#wake(key, by);
    if (entry.snapshotOf !== "") this.#wakeUID(entry.snapshotOf, by);
  }
}

/** Whether a newer version of an object says nothing that a decision could see. */
function sameButVersion(before: JobFacts | PodFacts | undefined, after: JobFacts | PodFacts | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return isDeepStrictEqual({ ...before, resourceVersion: "" }, { ...after, resourceVersion: "" });
}

function addTo(index: Map<string, Set<string>>, name: string, key: string): void {
  if (name === "") return;
  const held = index.get(name) ?? new Set();
  held.add(key);
  index.set(name, held);
}

function removeFrom(index: Map<string, Set<string>>, name: string, key: string): void {
  const held = index.get(name);
  held?.delete(key);
  if (held?.size === 0) index.delete(name);
}
