import { sha256Digest } from "../../crds/canonical.ts";
import type { SourceFile } from "../../crds/fingerprints.ts";
import { coordinationDigest } from "../../crds/fingerprints.ts";
import { chunkName, label, leaseName } from "../../crds/names.ts";
import { type ConfigMap, type KubeClient, keyOf, kinds, orAbsent } from "../../kube/index.ts";
import type { LookItem } from "../../lifecycle/move.ts";
import type {
  AcknowledgmentFacts,
  Configuration,
  FreshValues,
  JobFacts,
  NamedJobFacts,
  NamedPodFacts,
  Piece,
  PlanFacts,
  PodFacts,
  ProjectionFacts,
  ResourceFacts,
  SnapshotFacts,
  SourceFacts,
  View,
} from "../../lifecycle/view.ts";
import type { AdmissionFlags } from "../../workload/envelope.ts";
import type { Caches } from "../caches.ts";
import { familyOf, ofKey, resourceKey } from "../families.ts";
import { limits } from "../limits.ts";
import type { Memories } from "../memory.ts";
import type { Clock } from "../ports.ts";
import type { Results } from "../results.ts";
import { readCensus } from "./census.ts";
import { readEnvelope } from "./envelope.ts";
import { readForeignHolder } from "./foreign.ts";
import {
  acknowledgmentFacts,
  approvalFacts,
  chunkFacts,
  controllerOf,
  leaseFacts,
  ownedPlanFacts,
  planObjectFacts,
} from "./objects.ts";
import { Remembered } from "./remembered.ts";
import { snapshotFacts } from "./snapshot.ts";
import { readSource } from "./source.ts";
import { WorkloadLook } from "./workload-look.ts";

/** A view, and beside it what only the performer needs of the objects it was made from. */
export interface Reading {
  readonly view: View;
  /** Finalizers of exactly the resourceVersion in `view.resource`. */
  readonly finalizers: readonly string[];
  /** Files of the source as `view.source` names it, where a look brought them. */
  readonly files?: readonly SourceFile[];
  /** When the same look would tell more although nothing that is watched changes. */
  readonly askAgainMs?: number;
}

/** The resource is gone, or cannot be read by this version: there is nothing to decide. */
export type Nothing = { readonly nothing: "gone" | "unreadable" };

export interface ReaderDeps {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly memories: Memories;
  readonly results: Results;
  readonly clock: Clock;
  readonly configuration: Configuration;
  readonly admission: AdmissionFlags;
  readonly coordinationNamespace: string;
  fresh(): FreshValues;
}

type Pieces = Partial<Omit<View, "family" | "now" | "fresh" | "configuration" | "memory">>;

/** Makes views: the cached pieces that are at hand, and the uncached ones a decision asks for. */
export class Reader {
  readonly #deps: ReaderDeps;
  readonly #sources = new Remembered<SourceFacts>(limits.sourcesRememberedMax);
  readonly #snapshots = new Remembered<SnapshotFacts>(limits.snapshotsRememberedMax);

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** The first view of a decision. `fresh` reads the resource itself uncached: after a conflict, or an uncertain write. */
  async begin(key: string, fresh: boolean): Promise<Reading | Nothing> {
    const { caches } = this.#deps;
    if (fresh) await this.#refreshResource(key);
    const entry = caches.resource(key);
    if (entry === undefined) return { nothing: "gone" };
    if (entry.state === "unreadable") return { nothing: "unreadable" };
    const resource = entry.facts;
    const how = fresh ? "fresh" : "cached";
    const own = caches.of(resource);
    const acknowledgments = own.acknowledgmentsOf(resource);
    return {
      finalizers: entry.finalizers,
      view: {
        ...this.#frame(resource, key),
        resource: { how, value: resource },
        plans: cached(own.plansOf(resource.uid)),
        approvals: cached(own.approvalsOf(resource)),
        ...(acknowledgments === undefined ? {} : { acknowledgments: cached(acknowledgments) }),
        census: cached(await readCensus(this.#deps.client, caches, resource, false)),
        ownedJobs: cached(this.#ownedJobs(resource)),
        ...(await this.#cachedSource(resource)),
        snapshots: cached(await this.#cachedSnapshots(resource)),
        ...this.#cachedWorkloads(resource),
      },
    };
  }

  /** Adds what a decision asked for, read uncached, to the same view. Errors: KubeError; nothing is decided then. */
  async look(reading: Reading, what: readonly LookItem[]): Promise<Reading | Nothing> {
    const resource = reading.view.resource.value;
    const key = keyOfResource(resource);
    let base = reading;
    if (what.some((item) => item.piece === "resource")) {
      const again = await this.begin(key, true);
      if ("nothing" in again) return again;
      // A pass is about one resource: one of the same name is another.
      if (again.view.resource.value.uid !== resource.uid) return { nothing: "gone" };
      base = { ...again, view: { ...reading.view, ...again.view } };
    }
    const current = base.view.resource.value;
    const workloads = new WorkloadLook(this.#deps, current);
    const parts = await Promise.all(
      what.filter((item) => item.piece !== "resource").map((item) => this.#piece(current, item, workloads)),
    );
    const files = parts.find((part) => part.files !== undefined)?.files ?? base.files;
    const pieces: Pieces = Object.assign({}, ...parts.map((part) => part.pieces));
    const view: View = { ...base.view, ...pieces, ...this.#frame(current, key) };
    const { askAgainMs = base.askAgainMs } = workloads;
    return {
      ...base,
      view,
      ...(files === undefined ? {} : { files }),
      ...(askAgainMs === undefined ? {} : { askAgainMs }),
    };
  }

  /** What every view has: the moment, chance, configuration, this process's memory, and what is known of a result. */
  #frame(resource: ResourceFacts, key: string): Omit<View, "resource"> {
    const { clock, configuration, memories, results } = this.#deps;
    const claim = resource.status.activeOperation;
    const realm = coordinationDigest(resource.namespace, resource.spec.target);
    const result = results.of(key, claim?.id);
    return {
      family: familyOf(resource).name,
      now: { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() },
      fresh: this.#deps.fresh(),
      configuration,
      memory: memories.of(resource.uid, claim?.jobName, heldRealm(resource) ?? realm),
      ...(result === undefined ? {} : { result }),
    };
  }

  async #refreshResource(key: string): Promise<void> {
    const { client, caches } = this.#deps;
    const { family, at } = ofKey(key);
    const { resources } = caches.of(family.lifecycle);
    const object = await orAbsent(client.get(family.resource.raw, at));
    if (object === undefined) resources.forget(at, key);
    else resources.learn(object, key);
  }

  async #piece(
    resource: ResourceFacts,
    item: LookItem,
    workloads: WorkloadLook,
  ): Promise<{ readonly pieces: Pieces; readonly files?: readonly SourceFile[] }> {
    const { client, caches, admission } = this.#deps;
    const { namespace } = resource;
    switch (item.piece) {
      case "resource":
        return { pieces: {} };
      case "plans":
        return { pieces: { plans: fresh(await this.#plans(resource)) } };
      case "approvals":
        return { pieces: { approvals: fresh(await this.#approvals(resource)) } };
      case "acknowledgments":
        return { pieces: { acknowledgments: fresh(await this.#acknowledgments(resource)) } };
      case "source": {
        const source = await readSource(client, namespace, declaredBy(resource));
        return source === undefined ? { pieces: {} } : { pieces: { source: fresh(source.facts) }, files: source.files };
      }
      case "snapshots":
        return { pieces: { snapshots: fresh(await this.#readSnapshots(resource)) } };
      case "census":
        return { pieces: { census: fresh(await readCensus(client, caches, resource, true)) } };
      case "envelope":
        return { pieces: { envelope: fresh(await readEnvelope(client, namespace, resource.spec, admission)) } };
      case "plan":
        return { pieces: { plan: fresh(await this.#plan(resource, item.name)) } };
      case "projections":
        return { pieces: { projections: fresh(await this.#projections(resource, item.planName)) } };
      case "job":
        return { pieces: { job: fresh(await workloads.job(item.name)) } };
      case "recordJob":
        return { pieces: { recordJob: fresh(await workloads.job(item.name)) } };
      case "pods":
        return { pieces: { pods: fresh(await workloads.pods(item.jobName, item.jobUID)) } };
      case "recordPods":
        return { pieces: { recordPods: fresh(await workloads.pods(item.jobName, item.jobUID)) } };
      case "lease":
        return { pieces: { lease: fresh(await this.#lease(item.digest)) } };
      case "foreignHolder":
        return { pieces: { foreignHolder: fresh(await readForeignHolder(client, item.holder, item.owner)) } };
    }
  }

  async #lease(digest: string): Promise<ReturnType<typeof leaseFacts>> {
    const { client, coordinationNamespace, memories, clock } = this.#deps;
    const lease = await orAbsent(
      client.get(kinds.Lease, { namespace: coordinationNamespace, name: leaseName(digest) }),
    );
    const facts = leaseFacts(digest, lease);
    memories.sawLease(facts, clock.monotonicMs());
    return facts;
  }

  async #plans(resource: ResourceFacts) {
    const { plan: kind } = familyOf(resource);
    const list = await this.#deps.client.list(kind.raw, { namespace: resource.namespace });
    const { plans } = this.#deps.caches.of(resource);
    return list.items
      .filter((plan) => controllerOf(plan.metadata) === resource.uid)
      .flatMap((plan) => {
        plans.learn(plan, keyOfResource(resource));
        const parsed = kind.read(plan);
        return parsed.ok ? [ownedPlanFacts(parsed.value)] : [];
      });
  }

  async #acknowledgments(resource: ResourceFacts) {
    const { acknowledgment: kind } = familyOf(resource);
    const { acknowledgments } = this.#deps.caches.of(resource);
    const named: AcknowledgmentFacts[] = [];
    if (kind === undefined) return named;
    for await (const page of this.#deps.client.pages(kind.raw, { namespace: resource.namespace })) {
      for (const word of page.items) {
        const parsed = kind.read(word);
        if (!parsed.ok || parsed.value.about.name !== resource.name) continue;
        acknowledgments?.learn(word, keyOfResource(resource));
        named.push(acknowledgmentFacts(parsed.value));
      }
    }
    return named;
  }

  async #approvals(resource: ResourceFacts) {
    const { approval: kind } = familyOf(resource);
    const { approvals } = this.#deps.caches.of(resource);
    const list = await this.#deps.client.list(kind.raw, { namespace: resource.namespace });
    return list.items.flatMap((approval) => {
      const parsed = kind.read(approval);
      if (!parsed.ok || parsed.value.about.name !== resource.name) return [];
      approvals.learn(approval, keyOfResource(resource));
      return [approvalFacts(parsed.value)];
    });
  }

  async #plan(resource: ResourceFacts, name: string): Promise<PlanFacts> {
    const { client } = this.#deps;
    const { namespace } = resource;
    const { plan: kind, chunk: part, lifecycle } = familyOf(resource);
    const plan = await orAbsent(client.get(kind.typed, { namespace, name }));
    if (plan === undefined) return { name, object: null, chunks: [] };
    const chunks = await Promise.all(
      lifecycle.chunksOf(plan.spec).map(async ({ index }) => {
        if (part === undefined) return [];
        const chunk = await orAbsent(client.get(part.typed, { namespace, name: chunkName(name, index) }));
        return chunk === undefined ? [] : [chunkFacts(chunk, index)];
      }),
    );
    return { name, object: planObjectFacts(plan, resource.uid), chunks: chunks.flat() };
  }

  async #projections(resource: ResourceFacts, planName: string): Promise<ProjectionFacts[]> {
    const { client } = this.#deps;
    const { namespace } = resource;
    const { plan: kind, lifecycle } = familyOf(resource);
    const plan = await orAbsent(client.get(kind.typed, { namespace, name: planName }));
    const found = await Promise.all(
      (plan === undefined ? [] : lifecycle.chunksOf(plan.spec)).map(async ({ index }) => {
        const object = await orAbsent(client.get(kinds.ConfigMap, { namespace, name: chunkName(planName, index) }));
        return object === undefined ? [] : [projectionFacts(object)];
      }),
    );
    return found.flat();
  }

  #cachedWorkloads(resource: ResourceFacts): Pieces {
    const { activeOperation } = resource.status;
    const held = recordOf(resource);
    const claim = activeOperation === undefined ? undefined : this.#workloads(resource, activeOperation.jobName);
    const record = held === undefined ? undefined : this.#workloads(resource, held.job.name);
    return {
      ...(claim === undefined ? {} : { job: cached(claim.job), pods: cached(claim.pods) }),
      ...(record === undefined ? {} : { recordJob: cached(record.job), recordPods: cached(record.pods) }),
    };
  }

  /** A Job by name and its Pods, as the watches last said. */
  #workloads(resource: ResourceFacts, jobName: string): { readonly job: NamedJobFacts; readonly pods: NamedPodFacts } {
    const { caches } = this.#deps;
    const job = caches.jobs.get(keyOf({ namespace: resource.namespace, name: jobName }))?.facts ?? null;
    const pods: PodFacts[] = [];
    for (const pod of caches.pods.values()) {
      if (pod.namespace === resource.namespace && pod.jobNames.includes(jobName)) pods.push(pod.facts);
    }
    return { job: { name: jobName, job }, pods: { jobName, pods } };
  }

  #ownedJobs(resource: ResourceFacts): JobFacts[] {
    const found: JobFacts[] = [];
    for (const job of this.#deps.caches.jobs.values()) {
      if (job.ownerUID === resource.uid && job.facts.terminal !== undefined) found.push(job.facts);
    }
    return found;
  }

  /** The source's facts, remembered by the very versions of the objects they were read from. */
  async #cachedSource(resource: ResourceFacts): Promise<Pieces> {
    const entry = this.#deps.caches.resource(keyOfResource(resource));
    const named = entry?.state === "read" ? entry.configMaps : [];
    if (named.length === 0) return {};
    const versions = named.map((key) => {
      const held = this.#deps.caches.configMaps.get(key);
      return held === undefined ? "" : `${held.uid} ${held.resourceVersion}`;
    });
    const memo = JSON.stringify([resource.uid, declaredBy(resource).source, versions]);
    const facts = await this.#sources.get(resource.uid, memo, async () => {
      const reading = await readSource(this.#deps.client, resource.namespace, declaredBy(resource));
      return reading?.facts;
    });
    return facts === undefined ? {} : { source: cached(facts) };
  }

  /** Snapshots are immutable: each is read once. */
  async #cachedSnapshots(resource: ResourceFacts): Promise<SnapshotFacts[]> {
    const { caches, client } = this.#deps;
    const found: SnapshotFacts[] = [];
    for (const entry of caches.configMaps.values()) {
      if (entry.snapshotOf !== resource.uid || entry.namespace !== resource.namespace) continue;
      const facts = await this.#snapshots.get(entry.uid, resource.uid, async () => {
        const object = await orAbsent(client.get(kinds.ConfigMap, entry));
        return object === undefined || object.metadata.uid !== entry.uid
          ? undefined
          : snapshotFacts(object, resource.uid);
      });
      if (facts !== undefined)
        found.push({ ...facts, resourceVersion: entry.resourceVersion, deleting: entry.deleting });
    }
    return found;
  }

  async #readSnapshots(resource: ResourceFacts): Promise<SnapshotFacts[]> {
    const labelSelector = `${label.sourceSnapshot}`;
    const list = await this.#deps.client.list<ConfigMap>(kinds.ConfigMap, {
      namespace: resource.namespace,
      labelSelector,
    });
    return list.items
      .filter((object) => controllerOf(object.metadata) === resource.uid)
      .map((object) => snapshotFacts(object, resource.uid));
  }
}

const keyOfResource = (resource: ResourceFacts): string => resourceKey(resource.kind, resource);
const cached = <T>(value: T): Piece<T> => ({ how: "cached", value });
const fresh = <T>(value: T): Piece<T> => ({ how: "fresh", value });

const recordOf = (resource: ResourceFacts) => familyOf(resource).lifecycle.record(resource.status);
const declaredBy = (resource: ResourceFacts) => familyOf(resource).lifecycle.declared(resource.spec);

/** The realm whose Lease matters now: the one a claim, a record or an owed release holds, before the spec's own. */
function heldRealm(resource: ResourceFacts): string | undefined {
  const { pendingLockRelease, activeOperation } = resource.status;
  return (
    pendingLockRelease?.coordinationDigest ?? activeOperation?.coordinationDigest ?? recordOf(resource)?.lease?.digest
  );
}

function projectionFacts(object: ConfigMap): ProjectionFacts {
  const bytes = Buffer.from(object.binaryData?.["chunk"] ?? "", "base64");
  return {
    name: object.metadata.name,
    uid: object.metadata.uid,
    planUID: controllerOf(object.metadata),
    digest: sha256Digest(bytes),
    immutable: object.immutable === true,
    deleting: object.metadata.deletionTimestamp !== undefined,
  };
}
