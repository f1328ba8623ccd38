/** What an observer outside keeps, step by step, and what a step itself may break (properties 1–7). */
import type { ApplyRecord } from "../../crds/status/index.ts";
import type { Dispatch } from "../move.ts";
import type { Frame } from "./frames.ts";
import { databaseOf } from "./perform.ts";
import { playedIn } from "./played.ts";
import { isGarbled } from "./seen.ts";
import { OTHER_HOLDER } from "./seen-realm.ts";
import { GRACE_SECONDS, SKEW_MS } from "./values.ts";
import { type Ghost, type Lease, neighbours, type Pod, put, recordOf, type World, writerLives } from "./world.ts";

/** The world with a broken property noted; the first one stays. */
export function broken(world: World, property: number, sentence: string): World {
  if (world.ghost.broken !== undefined) return world;
  return { ...world, ghost: { ...world.ghost, broken: { property, sentence } } };
}

/** Processes of an Apply of ours that may write, now or without anybody's further leave. */
export const writers = (world: World, jobName?: string): readonly Pod[] =>
  world.pods.filter(
    (p) => p.work.type === "Apply" && writerLives(p) && (jobName === undefined || p.jobName === jobName),
  );

/** After a write of the status: what was settled, and by what right. */
export function onStatus(before: World, after: World, _move: unknown): World {
  const was = before.resource?.status;
  const is = after.resource?.status;
  if (was === undefined || is === undefined) return after;
  let next = after;
  const record = recordOf(was);
  if (record !== undefined && recordOf(is)?.operationID !== record.operationID) {
    next = onRecordCleared(before, next, record);
  }
  const claim = was.activeOperation;
  if (claim?.type === "Apply" && claim.dispatchStarted === true && is.activeOperation?.id !== claim.id) {
    next = onApplyEnded(before, next, claim.id, claim.jobName);
  }
  return prune(next);
}

/** A dispatched Apply's claim is cleared: a record takes its place, or its own account says that nothing is owed. */
function onApplyEnded(before: World, after: World, id: string, jobName: string): World {
  const status = after.resource?.status;
  if (status === undefined || recordOf(status)?.operationID === id || !playedIn(after).closed(status, id)) return after;
  const next = settledInGhost(after, id);
  const own = framesOf(before, jobName).filter((f) => f.type === "Apply");
  const outcome = status.lastRun?.outcome;
  // A refusal before the start ran nothing; else the run's own document has to say how it ended.
  const said = own.some((f) =>
    f.run === undefined
      ? outcome === "Failed" && f.outcome === "refused"
      : ACCOUNTS[f.run.outcome] === outcome && f.run.outcome !== "partial" && f.run.outcome !== "unknown",
  );
  if (!said) return broken(next, 5, "an Apply is taken for accounted for, and it did not say so itself");
  return writers(before, jobName).length === 0
    ? next
    : broken(next, 5, "an Apply is taken for accounted for while it could still write");
}

const ACCOUNTS: Readonly<Record<string, string>> = { applied: "Applied", "up-to-date": "UpToDate", failed: "Failed" };

const settledInGhost = (world: World, id: string): World => ({
  ...world,
  ghost: { ...world.ghost, unsettled: world.ghost.unsettled.filter((other) => other !== id) },
});

function onRecordCleared(before: World, after: World, record: ApplyRecord): World {
  const next = settledInGhost(after, record.operationID);
  const run = after.resource?.status.resolvedRun;
  if (run?.operationID !== record.operationID) {
    return broken(next, 4, "a record was cleared and nothing says how it was settled");
  }
  if (run.resolution === "Settled" || run.resolution === "Acknowledged") {
    if (!namedByPerson(before, record, run.acknowledgment?.uid)) {
      return broken(next, 5, "a record was cleared as a person's word, and no person named that operation");
    }
    if (writers(before, record.job.name).length > 0) {
      return broken(next, 5, "a person's word cleared a record while the attempt could still write");
    }
    return next;
  }
  const claim = before.resource?.status.activeOperation;
  const readings = framesOf(before, claim?.jobName ?? "");
  const database = databaseOf(record.targetIdentityDigest ?? "");
  const { settles, anyReadingSettles } = playedIn(before);
  const own = anyReadingSettles || claim?.proves === record.operationID;
  const good = own && readings.some((f) => settles(f) && f.database === database && !f.dirty);
  if (!good) return broken(next, 5, "a record was cleared without a fresh reading of the same database");
  return writers(before, record.job.name).length === 0
    ? next
    : broken(next, 5, "a reading cleared a record while the attempt could still write");
}

/** Whether a person named exactly this run: by an object, or by the mark where that counts. */
function namedByPerson(world: World, record: ApplyRecord, wordUID: string | undefined): boolean {
  const id = record.operationID;
  if (wordUID === undefined) return world.resource?.settled === id && playedIn(world).markSettles(world);
  return world.words.some(
    (word) => word.uid === wordUID && word.operationID === id && word.resourceUID === world.resource?.uid,
  );
}

/** Readings that exist of a Job: in a Pod's log or already read by a manager. */
function framesOf(world: World, jobName: string): Frame[] {
  const frames = world.managers.map((m) => (m.result?.jobName === jobName ? m.result.frame : undefined));
  for (const pod of world.pods) if (pod.jobName === jobName) frames.push(pod.frame);
  return frames.filter((f) => f !== undefined);
}

/** Drops from the ghost what can no longer matter. */
function prune(world: World): World {
  const status = world.resource?.status;
  const named = (name: string): boolean =>
    status?.activeOperation?.jobName === name ||
    recordOf(status)?.job.name === name ||
    world.creating.some((c) => c.job.name === name) ||
    (world.resource?.mirror?.includes(name) ?? false);
  const created = world.ghost.created.filter(named);
  return created.length === world.ghost.created.length ? world : { ...world, ghost: { ...world.ghost, created } };
}

/** After the first half of a dispatch: is it authorised, for the first time, and under its own Lease? */
export function onDispatch(before: World, after: World, move: Dispatch): World {
  const claim = after.resource?.status.activeOperation;
  if (claim === undefined || claim.type !== "Apply" || move.job.work.type !== "Apply") return after;
  const { work } = move.job;
  const plan = before.plans.find((p) => p.uid === claim.plan?.uid);
  const ghost: Ghost = {
    ...after.ghost,
    unsettled: [...after.ghost.unsettled, claim.id],
    dispatchedSerial: Math.max(after.ghost.dispatchedSerial, plan?.spec.serial ?? 0),
    spent: claim.approval === undefined ? after.ghost.spent : [...after.ghost.spent, claim.approval.uid],
  };
  const next = { ...after, ghost };
  if (after.ghost.unsettled.length > 0 || recordOf(before.resource?.status) !== undefined) {
    return broken(next, 2, "an Apply was dispatched beside one that nothing has settled");
  }
  if (plan === undefined) return broken(next, 1, "an Apply was dispatched for a plan object that does not exist");
  if (plan.spec.serial <= after.ghost.dispatchedSerial) return broken(next, 2, "a plan was dispatched a second time");
  const exact =
    claim.plan?.fingerprint === plan.spec.fingerprint &&
    work.plan.fingerprint === plan.spec.fingerprint &&
    work.expectedTargetIdentityDigest === plan.spec.targetIdentityDigest;
  if (!exact) return broken(next, 1, "the Apply's Job does not carry the plan of its claim");
  const wrong = playedIn(before).carries(before, work, plan);
  if (wrong !== undefined) return broken(next, 1, wrong);
  if (!playedIn(before).continues(before.resource?.status, plan)) {
    return broken(next, 1, "an Apply was dispatched for a plan of an older reading than the last one");
  }
  return authorised(before, next, claim.approval?.uid, plan.uid, plan.spec.fingerprint);
}

function authorised(
  before: World,
  next: World,
  approvalUID: string | undefined,
  planUID: string,
  print: string,
): World {
  if (approvalUID === undefined) {
    return before.resource?.inputs.apply === "Always"
      ? next
      : broken(next, 1, "an Apply was dispatched without an approval though the policy asks for one");
  }
  if (before.ghost.spent.includes(approvalUID)) return broken(next, 6, "one approval authorised a second dispatch");
  const approval = before.approvals.find((a) => a.uid === approvalUID);
  const names = approval?.planUID === planUID && approval.planFingerprint === print;
  return names ? next : broken(next, 6, "an approval authorised the dispatch of a plan it does not name");
}

/** A new object numbers its plans from one again; what an older object's Apply executed stays behind all of them. */
export function numberedAnew(world: World): World {
  const { dispatchedSerial, executed } = world.ghost;
  const ofTheLast = executed[0] === dispatchedSerial ? executed[1] : 0;
  return { ...world, ghost: { ...world.ghost, dispatchedSerial: 0, executed: [0, ofTheLast] } };
}

/** After a write of the Lease: was it ours to give up? */
export function onLeaseWrite(before: World, after: World): World {
  const was = before.lease;
  const is = after.lease;
  if (was === null || was.holder === "" || was.holder === OTHER_HOLDER) return after;
  if (is?.holder === was.holder && is.epoch === was.epoch) return after;
  const holder = neighbours(before).find((peer) => peer.resource !== null && peer.resource.uid === was.owner?.uid);
  return handedOver(holder ?? before, after, was);
}

/** The Lease of a world's resource goes to another epoch, or to nobody. */
function handedOver(before: World, after: World, was: Lease): World {
  const is = after.lease;
  const status = before.resource?.status;
  const claim = status?.activeOperation;
  const record = recordOf(status);
  if (writers(before).length > 0 && is?.epoch !== was.epoch) {
    return broken(after, 7, "the Lease changed hands while the executor could still write");
  }
  if (writers(before).length > 0)
    return broken(after, 7, "the Lease was released while the executor could still write");
  const owed =
    (claim?.dispatchStarted === true && claim.type === "Apply" && claim.leaseEpoch === was.epoch) ||
    record?.lease?.epoch === was.epoch;
  return owed && was.renewedAt + was.durationSeconds * 1000 > before.now
    ? broken(after, 7, "the Lease was released before the outcome was durable")
    : after;
}

/** A process of an Apply of ours, or of the contender, begins to write. */
export function onStart(world: World, ours: Pod | undefined): World {
  const { other } = world;
  const foreign =
    other.state === "writing" ||
    (other.state === "crashed" && world.now < other.writesUntil + GRACE_SECONDS * 1000 + SKEW_MS);
  const writes = (p: Pod): boolean => p.work.type === "Apply" && (p.process === "started" || p.process === "half");
  const overlapping =
    (ours !== undefined && foreign) ||
    world.pods.some((p) => p.uid !== ours?.uid && writes(p)) ||
    neighbours(world).some((peer) => peer.pods.some(writes));
  return overlapping ? broken(world, 3, "two executors that may write overlap on one realm") : world;
}

/** One statement of an Apply reaches the database. */
export function onStatement(world: World, pod: Pod, serial: number, statement: number): World {
  const status = world.resource?.status;
  const id = pod.operationID;
  const held =
    (status?.activeOperation?.id === id && status.activeOperation.dispatchStarted === true) ||
    recordOf(status)?.operationID === id ||
    (world.resource?.mirror?.includes(id) ?? false) ||
    (world.resource !== null && isGarbled(world.resource, world.knows));
  const [lastSerial, lastStatement] = world.ghost.executed;
  let next: World = { ...markDirty(world), ghost: { ...world.ghost, executed: [serial, statement] } };
  if (serial < lastSerial || (serial === lastSerial && statement <= lastStatement)) {
    next = broken(next, 2, "a statement of a plan was executed a second time");
  }
  return held ? next : broken(next, 1, "SQL reached the database without a claim or record of its attempt");
}

/** Readings taken before this instant no longer say what the database is. */
function markDirty(world: World): World {
  const soil = (frame: Frame | undefined): Frame | undefined =>
    frame === undefined ? frame : { ...frame, dirty: true };
  return {
    ...world,
    pods: put(
      world.pods,
      (p) => p.frame !== undefined && !p.frame.dirty,
      (p) => ({ ...p, frame: soil(p.frame) }),
    ),
    managers: world.managers.map((m) =>
      m.result?.frame === undefined ? m : { ...m, result: { ...m.result, frame: soil(m.result.frame) } },
    ),
  };
}
