/**
 * The mirror: the annotation that keeps an unsettled Apply known across a restore that loses status (rules 2 and 2b,
 * step 5). Ids and digests only; a record rebuilt from it is a hold, not a binding.
 */
import { annotation } from "../../crds/names.ts";
import type { ApplyRecord, Claim, Mirror } from "../../crds/status/index.ts";
import { type Context, patch, patchMetadata, rest } from "../context.ts";
import { GRACE_SECONDS } from "../limits.ts";
import type { Move } from "../move.ts";
import { instantOf } from "../time.ts";

export function mirrorText(mirror: Mirror): string {
  return JSON.stringify(mirror);
}

/** What the mirror of a claim says before its dispatch. */
export function mirrorOfClaim(c: Context, claim: Claim): Mirror | undefined {
  const { plan, coordinationDigest, targetIdentityDigest, executionNotAfter, leaseDurationSeconds } = claim;
  if (plan === undefined || coordinationDigest === undefined || targetIdentityDigest === undefined) return undefined;
  if (executionNotAfter === undefined || leaseDurationSeconds === undefined) return undefined;
  return {
    version: c.view.configuration.components.controllerStateVersion,
    family: c.family.name,
    operationID: claim.id,
    generation: claim.generation,
    jobName: claim.jobName,
    planName: plan.name,
    planUID: plan.uid,
    planFingerprint: plan.fingerprint,
    ...(claim.approval === undefined ? {} : { approvalName: claim.approval.name, approvalUID: claim.approval.uid }),
    coordinationDigest,
    targetIdentityDigest,
    leaseDurationSeconds,
    executionNotAfter,
    terminationGracePeriodSeconds: claim.terminationGracePeriodSeconds ?? GRACE_SECONDS,
  };
}

/** What the mirror of a record says. @param before the mirror that is there, for what a restored record does not know */
export function mirrorOfRecord(c: Context, record: ApplyRecord, before: Mirror | undefined): Mirror | undefined {
  const same = before?.operationID === record.operationID ? before : undefined;
  const plan = record.plan;
  const target = record.targetIdentityDigest ?? same?.targetIdentityDigest;
  const executionNotAfter = record.executionNotAfter ?? same?.executionNotAfter;
  if (plan === undefined || target === undefined || executionNotAfter === undefined) return same;
  return {
    version: c.view.configuration.components.controllerStateVersion,
    family: c.family.name,
    operationID: record.operationID,
    outcome: record.outcome,
    generation: record.generation,
    jobName: record.job.name,
    ...(record.job.uid === undefined ? {} : { jobUID: record.job.uid }),
    planName: plan.name,
    planUID: plan.uid,
    planFingerprint: plan.fingerprint,
    ...(record.approval === undefined ? {} : { approvalName: record.approval.name, approvalUID: record.approval.uid }),
    coordinationDigest: record.coordinationDigest,
    targetIdentityDigest: target,
    leaseDurationSeconds: record.leaseDurationSeconds,
    executionNotAfter,
    terminationGracePeriodSeconds: record.terminationGracePeriodSeconds ?? GRACE_SECONDS,
    recordedAt: record.recordedAt,
  };
}

/** Rule 2: the mirror names an attempt status does not hold. */
export function restoreFromMirror(c: Context): Move | undefined {
  const mark = c.resource.marks.mirror;
  if (mark === undefined || c.record !== undefined) return undefined;
  if (mark.state !== "read") return c.claim === undefined ? unreadable(c) : undefined;
  const { mirror } = mark;
  const id = mirror.operationID;
  if (c.claim?.id === id) return undefined;
  if (endedWithoutRecord(c, id)) {
    return patchMetadata(c, "2/remove", { annotations: { [annotation.unsettledApply]: null } });
  }
  // A dispatched Apply is its own hold; what this mirror names is put back once that one is accounted for.
  if (c.claim?.type === "Apply" && c.claim.dispatchStarted === true) return undefined;
  if (!c.resource.finalizer && !c.resource.deleting) return patchMetadata(c, "2/hold", { finalizer: "add" });
  const restored: ApplyRecord = recordOf(c, mirror);
  return patch(c, "2/restore", {
    set: { ...c.family.withRecord(restored), activeOperation: undefined, plan: undefined },
    cause: { at: "restored" },
    journal: [c.family.lostEntry(c, mirror)],
    events: [c.family.restoredEvent()],
  });
}

/** Whether status says how this Apply ended, and holds no record of it. */
function endedWithoutRecord(c: Context, id: string): boolean {
  const { resolvedRun, closedOperationID } = c.status;
  return resolvedRun?.operationID === id || closedOperationID === id || c.family.accountedFor(c.status, id);
}

function recordOf(c: Context, mirror: Mirror): ApplyRecord {
  return {
    outcome: mirror.outcome ?? c.family.unknownOutcome,
    operationID: mirror.operationID,
    generation: mirror.generation,
    job: { name: mirror.jobName, ...(mirror.jobUID === undefined ? {} : { uid: mirror.jobUID }) },
    plan: { name: mirror.planName, uid: mirror.planUID, fingerprint: mirror.planFingerprint },
    coordinationDigest: mirror.coordinationDigest,
    targetIdentityDigest: mirror.targetIdentityDigest,
    leaseDurationSeconds: mirror.leaseDurationSeconds,
    executionNotAfter: mirror.executionNotAfter,
    terminationGracePeriodSeconds: mirror.terminationGracePeriodSeconds,
    identityUncertain: true,
    next: c.family.proofStart,
    recordedAt: instantOf(c.nowMs),
    observeAfter: instantOf(c.nowMs + mirror.leaseDurationSeconds * 1000),
    restored: true,
  };
}

/** A mirror nobody can read may stand for an attempt: nothing is started beside it. */
function unreadable(c: Context): Move {
  const sentence = `The annotation ${annotation.unsettledApply} cannot be read, so it is not known whether an Apply is unsettled. Establish what it did; then delete the resource, take the finalizer ${c.family.finalizer} off by hand, and create it again without the annotation.`;
  return patchIfBlocked(c, sentence) ?? rest("2/unreadable", "Blocked");
}

function patchIfBlocked(c: Context, sentence: string): Move | undefined {
  const move = patch(c, "2/unreadable", { cause: { at: "blocked", reason: "ConfigurationError", sentence } });
  return move.status === c.status ? undefined : move;
}

/** Rule 2b: what owes something has our finalizer. */
export function keepFinalizer(c: Context): Move | undefined {
  const owes = c.claim !== undefined || c.record !== undefined;
  if (!owes || c.resource.finalizer || c.resource.deleting) return undefined;
  return patchMetadata(c, "2b", { finalizer: "add" });
}
