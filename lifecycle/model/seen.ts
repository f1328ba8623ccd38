/** What a manager sees of a world: the pieces of a View, as the shell would read them. */

import * as v from "valibot";
import { API_VERSION } from "../../crds/common.ts";
import type { AdmissionSnapshot, ManagerRecord } from "../../crds/status/index.ts";
import { Mirror } from "../../crds/status/index.ts";
import { KINDS } from "../families/kinds.ts";
import type { LookItem } from "../move.ts";
import { leaseRecordKey } from "../obligations/realm.ts";
import type {
  AcknowledgmentFacts,
  ApprovalFacts,
  EnvelopeFacts,
  MirrorMark,
  OwnedPlanFacts,
  Piece,
  PlanFacts,
  ResourceFacts,
  ResultFacts,
  SnapshotFacts,
  SourceFacts,
  View,
} from "../view.ts";
import { resultOf } from "./frames.ts";
import { censusOf, foreignOf, leaseOf } from "./seen-realm.ts";
import { jobFacts, namedJob, podsOf } from "./seen-workloads.ts";
import {
  componentsOf,
  contentDigestOf,
  MANAGERS,
  NAMESPACE,
  RESOURCE_NAME,
  SCRATCH_IMAGES,
  SOURCE_UID,
  specOf,
} from "./values.ts";
import { type Plan, type Resource, realmIn, recordOf, type World } from "./world.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const mirrors = new Map<string, MirrorMark>();

/** The mirror annotation, parsed as the door does. */
export function mirrorMark(text: string, knows: number): MirrorMark {
  const key = `${knows} ${text}`;
  const known = mirrors.get(key);
  if (known !== undefined) return known;
  if (mirrors.size > 20_000) mirrors.clear();
  const value: unknown = JSON.parse(text);
  const parsed = v.safeParse(Mirror, value);
  const mark: MirrorMark = !parsed.success
    ? { state: "unreadable" }
    : parsed.output.version > knows
      ? { state: "newer", version: parsed.output.version }
      : { state: "read", mirror: parsed.output };
  mirrors.set(key, mark);
  return mark;
}

/** Whether a resource carries a mirror that nobody can read. */
export const isGarbled = (resource: Resource, knows: number): boolean =>
  resource.mirror !== undefined && mirrorMark(resource.mirror, knows).state === "unreadable";

function resourceFacts(resource: Resource, knows: number): ResourceFacts {
  return {
    apiVersion: API_VERSION,
    kind: KINDS[resource.family],
    namespace: NAMESPACE,
    name: RESOURCE_NAME,
    uid: resource.uid,
    resourceVersion: String(resource.version),
    generation: resource.generation,
    deleting: resource.deleting,
    finalizer: resource.finalizer,
    marks: {
      ...(resource.mirror === undefined ? {} : { mirror: mirrorMark(resource.mirror, knows) }),
      ...(resource.settled === undefined
        ? {}
        : { settledApply: { operationID: resource.settled, by: { username: "ann" } } }),
      ...(resource.readRequest === undefined ? {} : { readRequestedAt: resource.readRequest }),
    },
    spec: specOf(resource.family, resource.inputs),
    status: resource.status,
  };
}

const planFacts = (world: World, name: string): PlanFacts => {
  const plan = world.plans.find((p) => p.name === name);
  if (plan === undefined) return { name, object: null, chunks: [] };
  return {
    name,
    object: {
      uid: plan.uid,
      resourceVersion: String(plan.version),
      deleting: false,
      ownedByUs: plan.owner === world.resource?.uid,
      spec: plan.spec,
      ready: plan.ready,
      createdAt: new Date(plan.createdAt).toISOString(),
    },
    chunks: plan.chunks,
  };
};

const ownedPlan = (plan: Plan): OwnedPlanFacts => ({
  name: plan.name,
  uid: plan.uid,
  resourceVersion: String(plan.version),
  serial: plan.spec.serial,
  fingerprint: plan.spec.fingerprint,
  contentDigest: plan.spec.contentDigest,
  executionBindingID: plan.spec.executionBindingID,
  controllerStateVersion: plan.spec.controllerStateVersion,
  deleting: false,
});

const plansOf = (world: World): OwnedPlanFacts[] =>
  world.plans.filter((p) => p.owner === world.resource?.uid).map(ownedPlan);

const approvalsOf = (world: World): ApprovalFacts[] =>
  world.approvals.map((a) => ({
    name: a.name,
    uid: a.uid,
    resourceVersion: String(a.version),
    generation: 1,
    deleting: false,
    resourceName: RESOURCE_NAME,
    resourceUID: a.resourceUID,
    planName: a.planName,
    planUID: a.planUID,
    planFingerprint: a.planFingerprint,
    approver: { username: "ann" },
    approvedAt: new Date(a.approvedAt).toISOString(),
    stamped: true,
    status: a.status,
  }));

const wordsOf = (world: World): AcknowledgmentFacts[] =>
  world.words.map((w) => ({
    name: w.name,
    uid: w.uid,
    resourceVersion: String(w.version),
    generation: 1,
    deleting: false,
    resourceName: RESOURCE_NAME,
    resourceUID: w.resourceUID,
    operationID: w.operationID,
    by: { username: "ann" },
    acknowledgedAt: new Date(w.acknowledgedAt).toISOString(),
    stamped: true,
    status: w.status,
  }));

function sourceOf(world: World): SourceFacts {
  if (world.source.missing) {
    return { state: "refused", reason: "SourceNotFound", sentence: "The ConfigMap does not exist; create it." };
  }
  return {
    state: "resolved",
    kind: "ConfigMap",
    requestedReference: "ConfigMap/orders-sql",
    identity: SOURCE_UID,
    resourceVersion: String(world.source.version),
    contentDigest: contentDigestOf(world.source.content),
    fileCount: 1,
    sizeBytes: 10,
  };
}

const snapshotsOf = (world: World): SnapshotFacts[] =>
  world.snapshots
    .filter((s) => s.owner === world.resource?.uid)
    .map((s) => ({
      name: s.name,
      uid: s.uid,
      resourceVersion: "1",
      contentDigest: s.digest,
      createdAtMs: s.createdAt,
      deleting: false,
      intact: true,
    }));

const envelopes = new Map<number, EnvelopeFacts>();

function envelopeOf(world: World): EnvelopeFacts {
  if (!world.envelope.resolves) {
    return { state: "unresolved", sentence: "The ServiceAccount does not exist; create it." };
  }
  const known = envelopes.get(world.envelope.version);
  if (known !== undefined) return known;
  const snapshot: Omit<AdmissionSnapshot, "digest" | "templateDigest"> = {
    version: "v1",
    serviceAccount: { object: { name: "default", uid: "sa-1", resourceVersion: String(world.envelope.version) } },
    priorityClass: { value: 0 },
    defaultTolerationsEnabled: true,
    defaultNotReadyTolerationSeconds: 300,
    defaultUnreachableTolerationSeconds: 300,
    extendedResourceTolerationEnabled: false,
    alwaysPullImagesEnabled: false,
  };
  const facts: EnvelopeFacts = { state: "resolved", snapshot };
  envelopes.set(world.envelope.version, facts);
  return facts;
}

function resultFacts(world: World, at: number, resource: Resource): ResultFacts | undefined {
  const result = world.managers[at]?.result;
  const claim = resource.status.activeOperation;
  if (result === undefined || claim === undefined) return undefined;
  const { podUID, frame } = result;
  if (result.jobName !== claim.jobName) return undefined;
  switch (result.state) {
    case "frame":
      return frame === undefined
        ? undefined
        : { podUID, state: "frame", result: resultOf(frame, claim.id, realmIn(world)) };
    case "otherProtocol":
      return { podUID, state: "otherProtocol" };
    case "invalid":
      return { podUID, state: "invalid" };
    case "unreadable":
    case "failed":
      return { podUID, state: "failed", timedOut: false, readAtMs: result.readAt };
    default:
      return { podUID, state: "none", readAtMs: result.readAt };
  }
}

function managerOf(rollout: number): ManagerRecord {
  const manager = MANAGERS[rollout];
  if (manager === undefined) throw new Error(`there is no manager ${rollout}`);
  return manager;
}

const cached = <T>(value: T): Piece<T> => ({ how: "cached", value });
const fresh = <T>(value: T): Piece<T> => ({ how: "fresh", value });

/**
 * The view a manager begins a decision with.
 * @param draw number of the fresh values, chosen so that nothing alive was made with them
 * @param eager give at once, as fresh, what looks would ask for: the world they would read is the same one
 */
export function firstView(world: World, at: number, draw: number, nowMs: number, eager: boolean): View | undefined {
  const manager = world.managers[at];
  const resource = manager?.old ?? world.resource;
  if (manager === undefined || resource === null || resource === undefined) return undefined;
  const hex = draw.toString(16).padStart(32, "0");
  const claimed = resource.status.activeOperation?.jobName;
  const recorded = recordOf(resource.status)?.job.name;
  const result = resultFacts(world, at, resource);
  const { createFailed, leaseUnchanged } = manager;
  const piece = eager ? fresh : cached;
  const view: View = {
    family: resource.family,
    now: { wallMs: nowMs, monotonicMs: nowMs },
    fresh: { nonce: hex, epoch: `v1-${hex}`, fraction: 0.5 },
    configuration: {
      components: componentsOf(world.release, world.knows),
      manager: managerOf(world.rollout),
      scratchImages: SCRATCH_IMAGES,
    },
    resource: piece(resourceFacts(resource, world.knows)),
    plans: piece(plansOf(world)),
    approvals: piece(approvalsOf(world)),
    ...(resource.family === "migration" ? { acknowledgments: piece(wordsOf(world)) } : {}),
    source: piece(sourceOf(world)),
    snapshots: piece(snapshotsOf(world)),
    census: piece(censusOf(world)),
    ownedJobs: cached(
      world.jobs.filter((j) => j.terminal !== undefined && j.owner === resource.uid).map((j) => jobFacts(j, world)),
    ),
    ...(claimed === undefined
      ? {}
      : { job: piece(namedJob(world, claimed)), pods: piece({ jobName: claimed, pods: podsOf(world, claimed) }) }),
    ...(recorded === undefined
      ? {}
      : {
          recordJob: piece(namedJob(world, recorded)),
          recordPods: piece({ jobName: recorded, pods: podsOf(world, recorded) }),
        }),
    ...(result === undefined ? {} : { result }),
    memory: {
      ...(createFailed === undefined || createFailed.jobName !== resource.status.activeOperation?.jobName
        ? {}
        : { createFailed }),
      ...(leaseUnchanged === undefined ? {} : { leaseUnchanged }),
    },
  };
  return eager ? withLook(view, usualLooks(world, resource), world, at) : view;
}

/** What decisions ask for most often beyond the cached pieces. */
function usualLooks(world: World, resource: Resource): LookItem[] {
  const { activeOperation: claim, plan } = resource.status;
  const looks: LookItem[] = [{ piece: "lease", digest: realmIn(world) }, { piece: "envelope" }];
  const name = claim?.plan?.name ?? plan?.name;
  if (name !== undefined) looks.push({ piece: "plan", name });
  if (claim?.plan !== undefined) looks.push({ piece: "projections", planName: claim.plan.name });
  const { lease } = world;
  if (lease?.owner !== undefined) looks.push({ piece: "foreignHolder", holder: lease.holder, owner: lease.owner });
  return looks;
}

/** Adds what a look asked for, read uncached from the world as it is now. Undefined where the resource is gone. */
export function withLook(view: View, what: readonly LookItem[], world: World, at: number): View | undefined {
  let next: Mutable<View> = { ...view };
  for (const item of what) {
    switch (item.piece) {
      case "resource":
        if (world.resource === null) return undefined;
        next.resource = fresh(resourceFacts(world.resource, world.knows));
        break;
      case "plans":
        next.plans = fresh(plansOf(world));
        break;
      case "approvals":
        next.approvals = fresh(approvalsOf(world));
        break;
      case "acknowledgments":
        next.acknowledgments = fresh(wordsOf(world));
        break;
      case "source":
        next.source = fresh(sourceOf(world));
        break;
      case "snapshots":
        next.snapshots = fresh(snapshotsOf(world));
        break;
      case "census":
        next.census = fresh(censusOf(world));
        break;
      case "envelope":
        next.envelope = fresh(envelopeOf(world));
        break;
      case "plan":
        next.plan = fresh(planFacts(world, item.name));
        break;
      case "projections": {
        const plan = world.plans.find((p) => p.name === item.planName);
        next.projections = fresh(
          world.projections
            .filter((p) => p.planUID === plan?.uid)
            .map((p) => ({ ...p, immutable: true, deleting: false })),
        );
        break;
      }
      case "job":
        next.job = fresh(namedJob(world, item.name));
        break;
      case "recordJob":
        next.recordJob = fresh(namedJob(world, item.name));
        break;
      case "recordPods":
        next.recordPods = fresh({ jobName: item.jobName, pods: podsOf(world, item.jobName) });
        break;
      case "pods":
        next.pods = fresh({ jobName: item.jobName, pods: podsOf(world, item.jobName) });
        break;
      case "lease":
        next.lease = fresh(leaseOf(world));
        next = { ...next, memory: { ...next.memory, ...unchanged(world, at, view.now.monotonicMs) } };
        break;
      case "foreignHolder":
        next.foreignHolder = fresh(foreignOf(world, item.holder));
        break;
    }
  }
  return next;
}

/** The manager's memory of the Lease after looking at it now. */
export function unchanged(
  world: World,
  at: number,
  nowMs: number,
): { leaseUnchanged?: { record: string; sinceMonotonicMs: number } } {
  const { lease } = leaseOf(world);
  if (lease === null) return {};
  const record = leaseRecordKey(lease);
  const known = world.managers[at]?.leaseUnchanged;
  return { leaseUnchanged: known?.record === record ? known : { record, sinceMonotonicMs: nowMs } };
}
