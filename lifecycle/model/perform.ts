/** Performing a Move on a world: what the shell, the API server and admission do with it. */

import { sha256Digest } from "../../crds/canonical.ts";
import { annotation } from "../../crds/names.ts";
import type { Work as JobWork, OperationSpec } from "../../workload/operation.ts";
import type { Dispatch, Move } from "../move.ts";
import { msOf } from "../time.ts";
import { onDispatch, onLeaseWrite, onStatus } from "./ghost.ts";
import { wordOf } from "./revisions.ts";
import { templateDigestOf } from "./tools.ts";
import { targetIdentity } from "./values.ts";
import {
  type Creating,
  type Job,
  type Manager,
  put,
  type Resource,
  recordOf,
  unused,
  type Work,
  type World,
} from "./world.ts";

/** How far an effect came, and how it was answered. */
export type Course =
  | "done"
  /** Double moves: stopped between the two effects. */
  | "stopBetween"
  /** Dispatch: the create failed, and the manager knows; or it was committed and the answer lost. */
  | "createRefused"
  | "createLost"
  /** Dispatch: the create is under way when the manager gives up on it, or stops. */
  | "createLate"
  | "createLateStop";

const changeManager = (world: World, at: number, change: (manager: Manager) => Manager): World => ({
  ...world,
  managers: world.managers.map((m, i) => (i === at ? change(m) : m)),
});

/** A conflict, or our own write: the manager's next decision sees the resource as it is. */
export const sawResource = (world: World, at: number): World =>
  world.managers[at]?.old === undefined ? world : changeManager(world, at, ({ old: _old, ...rest }) => rest);

export const forget = (world: World, at: number): World => changeManager(world, at, () => ({}));

/** The resource with a change, and a new version; undefined where the precondition does not hold. */
function write(
  world: World,
  uid: string,
  version: string,
  change: (resource: Resource) => Resource,
): World | undefined {
  const { resource } = world;
  if (resource === null || resource.uid !== uid || String(resource.version) !== version) return undefined;
  const next = change(resource);
  return { ...world, resource: { ...next, version: resource.version + 1 } };
}

/**
 * The world after a move, as the API server would leave it. The same object where nothing happened.
 * @param at which manager performs it
 */
export function perform(world: World, at: number, move: Move, course: Course = "done"): World {
  switch (move.kind) {
    case "patchStatus": {
      const next = write(world, move.uid, move.resourceVersion, (r) => ({ ...r, status: move.status }));
      return next === undefined
        ? sawResource(world, at)
        : sawResource(settleMemory(onStatus(world, next, move), at), at);
    }
    case "patchMetadata":
      return patchMetadata(world, at, move);
    case "claim": {
      const first = move.finalizer
        ? write(world, move.uid, move.resourceVersion, (r) => ({ ...r, finalizer: true }))
        : world;
      if (first === undefined) return sawResource(world, at);
      if (course === "stopBetween") return forget(first, at);
      const version = String(first.resource?.version ?? 0);
      const next = write(first, move.uid, move.finalizer ? version : move.resourceVersion, (r) => ({
        ...r,
        status: move.status,
      }));
      return next === undefined
        ? sawResource(world, at)
        : sawResource(settleMemory(onStatus(world, next, move), at), at);
    }
    case "dispatch":
      return dispatch(world, at, move, course);
    default:
      return performOther(world, move);
  }
}

/** What a manager remembers of a claim goes with the claim. */
function settleMemory(world: World, at: number): World {
  const job = world.resource?.status.activeOperation?.jobName;
  const manager = world.managers[at];
  if (manager === undefined) return world;
  const keepFailed = manager.createFailed === undefined || manager.createFailed.jobName === job;
  const keepResult = manager.result === undefined || manager.result.jobName === job;
  if (keepFailed && keepResult) return world;
  return changeManager(world, at, ({ createFailed, result, ...rest }) => ({
    ...rest,
    ...(keepFailed && createFailed !== undefined ? { createFailed } : {}),
    ...(keepResult && result !== undefined ? { result } : {}),
  }));
}

function patchMetadata(world: World, at: number, move: Extract<Move, { kind: "patchMetadata" }>): World {
  const next = write(world, move.uid, move.resourceVersion, (r) => {
    const marks = move.annotations ?? {};
    const value = (key: string, now: string | undefined): string | undefined =>
      key in marks ? (marks[key] ?? undefined) : now;
    return {
      ...r,
      finalizer: move.finalizer === undefined ? r.finalizer : move.finalizer === "add",
      mirror: value(annotation.unsettledApply, r.mirror),
      settled: value(annotation.settledApply, r.settled),
      readRequest: value(annotation.readRequestedAt, r.readRequest),
    };
  });
  if (next === undefined) return sawResource(world, at);
  const seen = sawResource(next, at);
  return seen.resource?.deleting === true && !seen.resource.finalizer ? collect({ ...seen, resource: null }) : seen;
}

/** Owner garbage collection after the resource is gone. */
export function collect(world: World): World {
  const uid = world.resource?.uid;
  const jobs = world.jobs.filter((j) => j.owner === uid);
  return {
    ...world,
    plans: world.plans.filter((p) => p.owner === uid),
    snapshots: world.snapshots.filter((s) => s.owner === uid),
    projections: world.projections.filter((p) => world.plans.some((q) => q.uid === p.planUID && q.owner === uid)),
    jobs,
    pods: world.pods.map((p) =>
      jobs.some((j) => j.uid === p.jobUID) || p.object === "gone" ? p : { ...p, object: "deleting" as const },
    ),
  };
}

function workOf(spec: OperationSpec<JobWork>): Work {
  const { work } = spec;
  const none = {
    family: "schema" as const,
    content: "",
    exclude: false,
    major: 0,
    plan: "",
    fingerprint: "",
    target: "",
    dispatchNotAfter: 0,
    executionNotAfter: 0,
  };
  if (work.type === "History") {
    return { ...none, family: "migration", type: "History", content: work.source.contentDigest };
  }
  if (work.type === "Apply" && work.family === "migration") {
    return {
      ...none,
      family: "migration",
      type: "Apply",
      content: work.source.contentDigest,
      plan: wordOf(work.plan.migrations.map((step) => step.version)),
      fingerprint: work.plan.fingerprint,
      target: work.expectedTargetIdentityDigest,
      dispatchNotAfter: msOf(work.dispatchNotAfter),
      executionNotAfter: msOf(work.executionNotAfter),
    };
  }
  if (work.type === "Apply") {
    return {
      ...none,
      type: "Apply",
      plan: work.plan.contentDigest,
      fingerprint: work.plan.fingerprint,
      target: work.expectedTargetIdentityDigest,
      dispatchNotAfter: msOf(work.dispatchNotAfter),
      executionNotAfter: msOf(work.executionNotAfter),
    };
  }
  return {
    ...none,
    type: work.type,
    content: work.desired?.source.contentDigest ?? "",
    exclude: work.exclude.length > 0,
    major: work.desired?.serverMajor ?? 0,
  };
}

function jobOf(world: World, move: Dispatch): Job {
  const { job: spec } = move;
  return {
    name: spec.jobName,
    uid: unused("job", (name) => uidInUse(world, name)),
    owner: move.uid,
    operationID: spec.operationID,
    epoch: spec.binding.epoch,
    templateDigest: templateDigestOf(spec),
    work: workOf(spec),
    deadlineAt: world.now + spec.activeDeadlineSeconds * 1000,
    made: 0,
  };
}

/** Whether a UID is named anywhere; one that is not may be given again, as nobody can tell. */
export function uidInUse(world: World, uid: string): boolean {
  const status = world.resource?.status;
  const record = recordOf(status);
  const claim = status?.activeOperation;
  return (
    world.jobs.some((j) => j.uid === uid) ||
    world.pods.some((p) => p.uid === uid || p.jobUID === uid) ||
    world.creating.some((c) => c.job.uid === uid) ||
    claim?.jobUID === uid ||
    record?.job.uid === uid ||
    (claim?.pods ?? []).some((p) => p.uid === uid) ||
    (record?.pods ?? []).some((p) => p.uid === uid) ||
    world.managers.some((m) => m.result?.podUID === uid || JSON.stringify(m.old ?? m.held ?? 0).includes(`"${uid}"`)) ||
    (world.resource?.mirror?.includes(`"${uid}"`) ?? false)
  );
}

function dispatch(world: World, at: number, move: Dispatch, course: Course): World {
  const patched = write(world, move.uid, move.resourceVersion, (r) => ({ ...r, status: move.status }));
  if (patched === undefined) return sawResource(world, at);
  const next = sawResource(settleMemory(onDispatch(world, onStatus(world, patched, move), move), at), at);
  if (course === "stopBetween") return forget(next, at);
  const job = jobOf(next, move);
  const failed = (w: World, code: string): World =>
    changeManager(w, at, (m) => ({ ...m, createFailed: { jobName: job.name, code } }));
  switch (course) {
    case "createRefused":
      return failed(next, "ServiceUnavailable");
    case "createLost":
      return failed(commitJob(next, { kind: "job", admitted: true, job }), "Timeout");
    case "createLate":
      return failed({ ...next, creating: [...next.creating, { kind: "job", admitted: false, job }] }, "Timeout");
    case "createLateStop":
      return forget({ ...next, creating: [...next.creating, { kind: "job", admitted: false, job }] }, at);
    default: {
      if (!admitsJob(next, job)) return failed(next, "Forbidden");
      if (next.jobs.some((j) => j.name === job.name)) return failed(next, "AlreadyExists");
      return commitJob(next, { kind: "job", admitted: true, job });
    }
  }
}

/** Admission's fence of a Job: the resource, read uncached, names it, dispatched and without a UID. */
export function admitsJob(world: World, job: Job): boolean {
  const claim = world.resource?.status.activeOperation;
  return claim?.jobName === job.name && claim.dispatchStarted === true && claim.jobUID === undefined;
}

/** Admission's fence of a Pod: the claim names its Job; a record's Job admits none. */
export function admitsPod(world: World, job: Job): boolean {
  const claim = world.resource?.status.activeOperation;
  return claim?.jobName === job.name && (claim.jobUID === undefined || claim.jobUID === job.uid);
}

/** Stores a Job whose create was admitted; nothing where the name is taken or the owner gone. */
export function commitJob(world: World, { job }: Creating): World {
  if (world.jobs.some((j) => j.name === job.name)) return world;
  const again = world.ghost.created.includes(job.name);
  return {
    ...world,
    jobs: [...world.jobs, job],
    ghost: {
      ...world.ghost,
      created: again ? world.ghost.created : [...world.ghost.created, job.name],
      ...(again
        ? { broken: { property: 2, sentence: `a second Job was created for one attempt of ${job.work.type}` } }
        : {}),
    },
  };
}

function performOther(world: World, move: Move): World {
  switch (move.kind) {
    case "writeLease":
      return writeLease(world, move);
    case "createSnapshot": {
      const owner = world.resource?.uid;
      if (owner === undefined || world.snapshots.some((s) => s.name === move.name)) return world;
      if (String(world.source.version) !== move.source.resourceVersion || world.source.missing) return world;
      const uid = unused("snapshot", (name) => world.snapshots.some((s) => s.uid === name));
      const snapshot = { name: move.name, uid, owner, digest: move.contentDigest, createdAt: world.now };
      return { ...world, snapshots: [...world.snapshots, snapshot] };
    }
    case "markApproval":
    case "consumeApproval":
      return markApproval(world, move);
    case "markAcknowledgment":
      return {
        ...world,
        words: put(
          world.words,
          (w) => w.uid === move.uid && String(w.version) === move.resourceVersion,
          (w) => ({ ...w, version: w.version + 1, status: move.status }),
        ),
      };
    case "openGate":
      return {
        ...world,
        pods: put(
          world.pods,
          (p) =>
            p.uid === move.podUID &&
            p.object === "there" &&
            String(p.version) === move.resourceVersion &&
            world.now <= move.notAfterMs,
          (p) => ({ ...p, gated: false, version: p.version + 1 }),
        ),
      };
    case "scheduleTtl":
      return {
        ...world,
        jobs: put(
          world.jobs,
          (j) => j.uid === move.jobUID,
          (j) => ({ ...j, ttlSeconds: move.ttlSeconds }),
        ),
      };
    case "deleteSnapshot":
      return { ...world, snapshots: world.snapshots.filter((s) => s.uid !== move.uid) };
    default:
      return performPlan(world, move);
  }
}

function markApproval(world: World, move: Extract<Move, { kind: "markApproval" | "consumeApproval" }>): World {
  return {
    ...world,
    approvals: put(
      world.approvals,
      (a) =>
        a.uid === move.uid &&
        String(a.version) === move.resourceVersion &&
        (move.kind === "markApproval" || a.status.consumedBy === undefined),
      (a) => ({
        ...a,
        version: a.version + 1,
        status: { ...move.status, consumedBy: move.status.consumedBy ?? a.status.consumedBy },
      }),
    ),
  };
}

function writeLease(world: World, move: Extract<Move, { kind: "writeLease" }>): World {
  const { lease } = world;
  const { content, over } = move;
  const fits =
    over === undefined
      ? lease === null
      : lease !== null && lease.uid === over.uid && String(lease.version) === over.resourceVersion;
  if (!fits) return world;
  const next: World = {
    ...world,
    lease: {
      uid: lease?.uid ?? freshLeaseUID(world),
      version: (lease?.version ?? 0) + 1,
      holder: content.holder,
      epoch: content.epoch,
      durationSeconds: content.durationSeconds,
      acquiredAt: content.acquiredAtMs,
      renewedAt: content.renewedAtMs,
      transitions: content.transitions,
      owner: content.owner,
    },
  };
  return onLeaseWrite(world, next);
}

/** The UID of a new Lease: none that a paused manager's precondition names. */
export const freshLeaseUID = (world: World): string =>
  unused("lease", (uid) => world.managers.some((m) => m.held?.kind === "writeLease" && m.held.over?.uid === uid));

function performPlan(world: World, move: Move): World {
  switch (move.kind) {
    case "createPlan": {
      const owner = world.resource?.uid;
      if (owner === undefined || world.plans.some((p) => p.name === move.name)) return world;
      const uid = unused("plan", (name) => planInUse(world, name));
      const plan = {
        name: move.name,
        uid,
        version: 1,
        owner,
        spec: move.spec,
        ready: false,
        createdAt: world.now,
        chunks: [],
      };
      return { ...world, plans: [...world.plans, plan] };
    }
    case "createChunk":
      return {
        ...world,
        plans: put(
          world.plans,
          (p) => p.uid === move.planUID && !p.chunks.some((c) => c.index === move.index),
          (p) => ({ ...p, chunks: [...p.chunks, chunkOf(move, p.uid)] }),
        ),
      };
    case "markPlanReady":
      return {
        ...world,
        plans: put(
          world.plans,
          (p) => p.uid === move.uid && String(p.version) === move.resourceVersion,
          (p) => ({ ...p, ready: true, version: p.version + 1 }),
        ),
      };
    case "createProjection": {
      if (world.projections.some((p) => p.name === move.name)) return world;
      const projection = {
        name: move.name,
        uid: `${move.planUID}-p${move.index}`,
        planUID: move.planUID,
        digest: move.digest,
      };
      return { ...world, projections: [...world.projections, projection] };
    }
    case "deletePlan":
      return {
        ...world,
        plans: world.plans.filter((p) => p.uid !== move.uid || String(p.version) !== move.resourceVersion),
        projections: world.projections.filter((p) => p.planUID !== move.uid),
      };
    default:
      return world;
  }
}

const chunkOf = (move: Extract<Move, { kind: "createChunk" }>, planUID: string) => ({
  index: move.index,
  name: move.name,
  uid: `${planUID}-c${move.index}`,
  digest: sha256Digest(move.bytes),
  sizeBytes: move.bytes.byteLength,
  ownerUID: planUID,
  deleting: false,
});

function planInUse(world: World, uid: string): boolean {
  const status = world.resource?.status;
  return (
    world.plans.some((p) => p.uid === uid) ||
    world.approvals.some((a) => a.planUID === uid) ||
    status?.plan?.uid === uid ||
    recordOf(status)?.plan?.uid === uid ||
    status?.activeOperation?.plan?.uid === uid ||
    status?.pendingBindingRetirement?.plan?.uid === uid ||
    status?.applied?.planRef.uid === uid ||
    (world.resource?.mirror?.includes(`"${uid}"`) ?? false) ||
    world.managers.some((m) => JSON.stringify(m.old ?? m.held ?? 0).includes(`"${uid}"`))
  );
}

/** The database an identity digest stands for. */
export const databaseOf = (digest: string): number => [0, 1].find((n) => targetIdentity(n) === digest) ?? -1;
