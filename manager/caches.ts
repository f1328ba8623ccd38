import { engineSupported } from "../crds/engine.ts";
import { coordinationDigest } from "../crds/fingerprints.ts";
import { label, MANAGED_BY } from "../crds/names.ts";
import { declaredSource } from "../crds/source.ts";
import {
  type ConfigMap,
  custom,
  type Job,
  type KubeClient,
  type KubeError,
  keyOf,
  kinds,
  type MetadataOnly,
  metadataOf,
  type Pod,
  type Ports,
  type RawCustom,
  Store,
} from "../kube/index.ts";
import { sourceSpecOf } from "../lifecycle/families/types.ts";
import type {
  ApprovalFacts,
  ClaimantFacts,
  JobFacts,
  OwnedPlanFacts,
  PodFacts,
  ResourceFacts,
} from "../lifecycle/view.ts";
import { newerStateVersions } from "./contract.ts";
import { approvalFacts, controllerOf, instantMs, ownedPlanFacts, resourceFacts } from "./view/objects.ts";
import { jobFacts, podFacts } from "./view/workloads.ts";

/** A PtahSchema as a cache holds it. One this version cannot read is kept as such, so that it is counted and never acted on. */
export type SchemaEntry = {
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly newerVersions: readonly number[];
} & (
  | {
      readonly state: "read";
      readonly facts: ResourceFacts;
      readonly finalizers: readonly string[];
      /** Undefined where the engine is unknown or no realm is named. */
      readonly coordinationDigest: string | undefined;
      /** Keys of the ConfigMaps that its source names. */
      readonly configMaps: readonly string[];
    }
  | { readonly state: "unreadable"; readonly message: string }
);

export interface PlanEntry {
  readonly namespace: string;
  readonly ownerUID: string;
  readonly schemaName: string;
  readonly sizeBytes: number;
  readonly facts: OwnedPlanFacts;
  readonly newerVersions: readonly number[];
}

export interface ApprovalEntry {
  readonly namespace: string;
  readonly facts: ApprovalFacts;
}

export interface ConfigMapEntry {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** UID of the resource whose snapshot it is; empty for any other ConfigMap. */
  readonly snapshotOf: string;
  readonly createdAtMs: number;
  readonly deleting: boolean;
}

/** A Job or a Pod of an operation: what decisions see of it, and whom it belongs to. Templates and specs are not kept. */
export interface JobEntry {
  readonly namespace: string;
  readonly ownerUID: string;
  readonly facts: JobFacts;
}

export interface PodEntry {
  readonly namespace: string;
  readonly schema: string;
  /** Names of the Jobs that own it. */
  readonly jobNames: readonly string[];
  /** Never `accepted`: that is judged on a Pod that was read for the purpose. */
  readonly facts: PodFacts;
}

/** What the caches tell about: a resource to decide about again. */
export type Wake = (key: string) => void;

export interface CacheOptions {
  readonly namespace: string | undefined;
  readonly stateVersion: number;
  readonly wake: Wake;
  onError(kind: string, error: KubeError, waitMs: number): void;
  onUnreadable(kind: string, key: string, message: string): void;
}

export function schemaEntry(object: RawCustom, stateVersion: number): SchemaEntry {
  const base = {
    key: keyOf(object.metadata),
    uid: object.metadata.uid,
    namespace: object.metadata.namespace ?? "",
    newerVersions: newerStateVersions(object),
  };
  const parsed = custom.PtahSchema.read(object);
  if (!parsed.ok) return { ...base, state: "unreadable", message: parsed.message };
  const facts = resourceFacts(parsed.value, stateVersion);
  const source = declaredSource(sourceSpecOf(facts.spec));
  const named = source?.kind === "ConfigMap" ? [source.configMap.name, source.sourcePolicyFrom?.name] : [];
  return {
    ...base,
    state: "read",
    facts,
    finalizers: object.metadata.finalizers ?? [],
    coordinationDigest: coordinationDigest(facts.namespace, facts.spec.target),
    configMaps: named.flatMap((name) => (name === undefined ? [] : [keyOf({ namespace: facts.namespace, name })])),
  };
}

/** A resource as a claimant of its realm. */
export function claimantFacts(facts: ResourceFacts): ClaimantFacts {
  return {
    family: "schema",
    namespace: facts.namespace,
    name: facts.name,
    uid: facts.uid,
    sharedRealm: facts.spec.target.sharedRealm === true,
    suspended: facts.spec.suspend,
    deleting: facts.deleting,
    engineSupported: engineSupported(facts.spec.target.engine, "schema"),
    owes: facts.status.activeOperation !== undefined || facts.status.pendingObservation !== undefined,
  };
}

const OPERATIONS = `${label.managedBy}=${MANAGED_BY},${label.schema}`;

/**
 * What the watches say, as decisions need it: no plan bytes, no file of a source, no Secret. Watches only wake; where
 * absence or freshness matters a decision asks for an uncached read.
 */
export class Caches {
  readonly schemas: Store<RawCustom, SchemaEntry>;
  readonly plans: Store<RawCustom, PlanEntry | undefined>;
  readonly approvals: Store<RawCustom, ApprovalEntry | undefined>;
  readonly jobs: Store<Job, JobEntry>;
  readonly pods: Store<Pod, PodEntry>;
  readonly configMaps: Store<MetadataOnly, ConfigMapEntry>;
  /** Resources by the ConfigMaps that their sources name, and by realm. */
  readonly #bySource = new Map<string, Set<string>>();
  readonly #byRealm = new Map<string, Set<string>>();
  readonly #byUID = new Map<string, string>();
  readonly #options: CacheOptions;

  constructor(options: CacheOptions) {
    this.#options = options;
    const selection = { namespace: options.namespace };
    const onError = (kind: string) => (error: KubeError, waitMs: number) => options.onError(kind, error, waitMs);
    this.schemas = new Store(custom.PtahSchema.raw, selection, {
      keep: (object) => schemaEntry(object, options.stateVersion),
      onChange: ({ before, after }) => this.#onSchema(before, after),
      onError: onError("PtahSchema"),
    });
    this.plans = new Store(custom.PtahSchemaPlan.raw, selection, {
      keep: (object) => this.#planEntry(object),
      onChange: ({ before, after }) => this.#wakeUID((after ?? before)?.ownerUID),
      onError: onError("PtahSchemaPlan"),
    });
    this.approvals = new Store(custom.PtahSchemaApproval.raw, selection, {
      keep: (object) => this.#approvalEntry(object),
      onChange: ({ before, after }) => this.#onApproval(after ?? before),
      onError: onError("PtahSchemaApproval"),
    });
    this.jobs = new Store(
      kinds.Job,
      { ...selection, labelSelector: OPERATIONS },
      {
        keep: jobEntry,
        onChange: ({ before, after }) => this.#wakeUID((after ?? before)?.ownerUID),
        onError: onError("Job"),
      },
    );
    this.pods = new Store(
      kinds.Pod,
      { ...selection, labelSelector: OPERATIONS },
      {
        keep: podEntry,
        onChange: ({ before, after }) => this.#onPod(after ?? before),
        onError: onError("Pod"),
      },
    );
    this.configMaps = new Store(metadataOf(kinds.ConfigMap), selection, {
      keep: configMapEntry,
      onChange: ({ before, after }) => this.#onConfigMap(after ?? before),
      onError: onError("ConfigMap"),
    });
  }

  get all(): readonly {
    readonly name: string;
    readonly store: Pick<Store<RawCustom, unknown>, "ready" | "isReady">;
  }[] {
    return [
      { name: "PtahSchema", store: this.schemas },
      { name: "PtahSchemaPlan", store: this.plans },
      { name: "PtahSchemaApproval", store: this.approvals },
      { name: "Job", store: this.jobs },
      { name: "Pod", store: this.pods },
      { name: "ConfigMap", store: this.configMaps },
    ];
  }

  /** Follows every collection until the signal fires. */
  async run(client: KubeClient, signal: AbortSignal, ports: Ports): Promise<void> {
    await Promise.all([
      this.schemas.run(client, signal, ports),
      this.plans.run(client, signal, ports),
      this.approvals.run(client, signal, ports),
      this.jobs.run(client, signal, ports),
      this.pods.run(client, signal, ports),
      this.configMaps.run(client, signal, ports),
    ]);
  }

  /** Every resource this version can read. */
  *readable(): Generator<ResourceFacts> {
    for (const entry of this.schemas.values()) if (entry.state === "read") yield entry.facts;
  }

  /** Readable resources of a realm. */
  *claimants(coordination: string): Generator<ResourceFacts> {
    for (const key of this.#byRealm.get(coordination) ?? []) {
      const entry = this.schemas.get(key);
      if (entry?.state === "read") yield entry.facts;
    }
  }

  plansOf(uid: string): OwnedPlanFacts[] {
    const found: OwnedPlanFacts[] = [];
    for (const plan of this.plans.values()) if (plan?.ownerUID === uid) found.push(plan.facts);
    return found;
  }

  approvalsOf(resource: ResourceFacts): ApprovalFacts[] {
    const found: ApprovalFacts[] = [];
    for (const approval of this.approvals.values()) {
      if (approval?.namespace === resource.namespace && approval.facts.resourceName === resource.name)
        found.push(approval.facts);
    }
    return found;
  }

  #onSchema(before: SchemaEntry | undefined, after: SchemaEntry | undefined): void {
    const { wake } = this.#options;
    if (before !== undefined) this.#unindex(before);
    if (after !== undefined) this.#index(after);
    if (after?.state === "unreadable") this.#options.onUnreadable("PtahSchema", after.key, after.message);
    const key = (after ?? before)?.key;
    if (key !== undefined) wake(key);
    if (claimChanged(before, after)) {
      for (const realm of new Set([realmOf(before), realmOf(after)])) {
        for (const other of this.#byRealm.get(realm) ?? []) if (other !== key) wake(other);
      }
    }
  }

  #index(entry: SchemaEntry): void {
    this.#byUID.set(entry.uid, entry.key);
    if (entry.state !== "read") return;
    for (const name of entry.configMaps) addTo(this.#bySource, name, entry.key);
    addTo(this.#byRealm, realmOf(entry), entry.key);
  }

  #unindex(entry: SchemaEntry): void {
    this.#byUID.delete(entry.uid);
    if (entry.state !== "read") return;
    for (const name of entry.configMaps) removeFrom(this.#bySource, name, entry.key);
    removeFrom(this.#byRealm, realmOf(entry), entry.key);
  }

  #wakeUID(uid: string | undefined): void {
    const key = uid === undefined ? undefined : this.#byUID.get(uid);
    if (key !== undefined) this.#options.wake(key);
  }

  #onApproval(entry: ApprovalEntry | undefined): void {
    if (entry !== undefined) this.#options.wake(keyOf({ namespace: entry.namespace, name: entry.facts.resourceName }));
  }

  #onPod(pod: PodEntry | undefined): void {
    if (pod !== undefined) this.#options.wake(keyOf({ namespace: pod.namespace, name: pod.schema }));
  }

  #onConfigMap(entry: ConfigMapEntry | undefined): void {
    if (entry === undefined) return;
    for (const key of this.#bySource.get(keyOf(entry)) ?? []) this.#options.wake(key);
    if (entry.snapshotOf !== "") this.#wakeUID(entry.snapshotOf);
  }

  #planEntry(object: RawCustom): PlanEntry | undefined {
    const parsed = custom.PtahSchemaPlan.read(object);
    if (!parsed.ok) {
      this.#options.onUnreadable("PtahSchemaPlan", keyOf(object.metadata), parsed.message);
      return undefined;
    }
    const { metadata, spec } = parsed.value;
    return {
      namespace: metadata.namespace ?? "",
      ownerUID: controllerOf(metadata),
      schemaName: spec.schemaRef.name,
      sizeBytes: spec.size,
      facts: ownedPlanFacts(parsed.value),
      newerVersions: newerStateVersions(object),
    };
  }

  #approvalEntry(object: RawCustom): ApprovalEntry | undefined {
    const parsed = custom.PtahSchemaApproval.read(object);
    if (parsed.ok) return { namespace: object.metadata.namespace ?? "", facts: approvalFacts(parsed.value) };
    this.#options.onUnreadable("PtahSchemaApproval", keyOf(object.metadata), parsed.message);
    return undefined;
  }
}

function realmOf(entry: SchemaEntry | undefined): string {
  return (entry?.state === "read" ? entry.coordinationDigest : undefined) ?? "";
}

/** Whether others of the realm have to look at it again. */
function claimChanged(before: SchemaEntry | undefined, after: SchemaEntry | undefined): boolean {
  const said = (entry: SchemaEntry | undefined): string =>
    entry?.state === "read" ? JSON.stringify([realmOf(entry), claimantFacts(entry.facts)]) : "";
  return said(before) !== said(after);
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

function jobEntry(job: Job): JobEntry {
  return { namespace: job.metadata.namespace ?? "", ownerUID: controllerOf(job.metadata), facts: jobFacts(job) };
}

function podEntry(pod: Pod): PodEntry {
  const owners = (pod.metadata.ownerReferences ?? []).filter((owner) => owner.kind === "Job");
  return {
    namespace: pod.metadata.namespace ?? "",
    schema: pod.metadata.labels?.[label.schema] ?? "",
    jobNames: owners.map((owner) => owner.name),
    facts: podFacts(pod, undefined, undefined),
  };
}

function configMapEntry(object: MetadataOnly | ConfigMap): ConfigMapEntry {
  const { metadata } = object;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    snapshotOf: metadata.labels?.[label.sourceSnapshot] === undefined ? "" : controllerOf(metadata),
    createdAtMs: instantMs(metadata.creationTimestamp),
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
