/**
 * Supervise (step 8): by UID on every pass. Drift is uncertain for an Apply and another attempt for a reading. Nothing is
 * read before Complete or Failed. Rule 4 is the Apply's way: supervise, account, retain.
 */
import type { Claim } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { attemptOfClaim, horizonMs, withListed } from "../attempt.ts";
import { type Context, need, patch, patchIfNew, wait } from "../context.ts";
import { EVIDENCE_KEPT_SECONDS, JOB_KEPT_SECONDS, SKEW_MS } from "../limits.ts";
import type { Move } from "../move.ts";
import { cycleAt } from "../positions.ts";
import { msOf } from "../time.ts";
import type { JobFacts, PodFacts } from "../view.ts";
import { account, ttlFirst } from "./account.ts";
import { confirm, isClaimed } from "./confirm.ts";
import { drop } from "./drop.ts";
import { dispatchClosed, nextRenewalMs } from "./realm.ts";
import { failAttempt } from "./retry.ts";

const createFailed = (c: Context, claim: Claim): boolean => c.view.memory.createFailed?.jobName === claim.jobName;

/** A dispatched reading. */
export function superviseRead(c: Context, claim: Claim): Move {
  if (claim.leaseContinuityLost === true) return lostRead(c, claim);
  if (createFailed(c, claim) && claim.jobUID === undefined) {
    return failAttempt(c, "6", claim, {
      reason: "OperationFailed",
      sentence: `The Job of ${claim.type} could not be created (${createProblem(c)}). It is tried again.`,
      category: "infrastructure",
    });
  }
  const look = need(c, "6/supervise", { piece: "job", name: claim.jobName });
  if (look !== undefined) return look;
  const job = c.view.job?.value.job ?? null;
  if (job === null || !isClaimed(c, claim, job)) {
    const what = job === null ? "is gone" : "is not the one that was dispatched";
    return failAttempt(c, "6", claim, {
      reason: "OperationFailed",
      sentence: `The Job of ${claim.type} ${what}. It is tried again.`,
      category: "infrastructure",
    });
  }
  if (claim.jobUID === undefined) return confirm(c, "6", claim, job);
  return job.terminal === undefined ? superviseRunning(c, claim, job) : accountRead(c, claim, job);
}

/** A reading's Job has ended by its own deadline, or nobody looks after it any more. */
function overdueMs(claim: Claim): number {
  const seconds = (claim.activeDeadlineSeconds ?? 0) + (claim.terminationGracePeriodSeconds ?? 0);
  return msOf(claim.dispatchedAt ?? claim.startedAt) + seconds * 1000 + SKEW_MS;
}

function superviseRunning(c: Context, claim: Claim, job: JobFacts): Move {
  const overMs = overdueMs(claim);
  if (c.nowMs >= overMs) {
    return failAttempt(c, "6", claim, {
      reason: "OperationFailed",
      sentence: `The Job of ${claim.type} outlived its deadline without an end. It is tried again.`,
      category: "infrastructure",
    });
  }
  const held = podHeld(c, "6/held", claim, job);
  if (held !== undefined) return held;
  return wait("6/running", `the end of Job ${claim.jobName}`, Math.min(overMs, nextRenewalMs(c)));
}

/** Why the create of a Job failed, as far as the answer tells. */
function createProblem(c: Context): string {
  const { code = "unknown", sentence } = c.view.memory.createFailed ?? {};
  const plain = code === "Unavailable" ? ["the API server or a webhook that it asks did not answer"] : [];
  return [code, ...plain, ...(sentence === undefined ? [] : [sentence])].join(": ");
}

/** Says why an operation's Pod does not come up, where the cluster says so. The Job controller and the kubelet keep trying. */
function podHeld(c: Context, rule: string, claim: Claim, job: JobFacts): Move | undefined {
  if (job.podRefused === true) {
    const sentence = `The API server refused the Pod of ${claim.type}. The Events of Job ${claim.jobName} say why; the Job keeps trying until its deadline.`;
    return patchIfNew(c, rule, {
      cause: { at: "podHeld", reason: "PodAdmissionRefused", sentence },
      events: [{ type: "Warning", reason: "PodAdmissionRefused", note: sentence }],
    });
  }
  const pods = c.view.pods?.value.jobName === claim.jobName ? c.view.pods.value.pods : [];
  const waiting = pods.find((pod) => pod.waiting !== undefined && !pod.gated);
  if (waiting === undefined) return undefined;
  const sentence = `Pod ${waiting.name} of ${claim.type} cannot start: ${waiting.waiting ?? ""}.`;
  return patchIfNew(c, rule, { cause: { at: "podHeld", reason: "PodCannotStart", sentence } });
}

function accountRead(c: Context, claim: Claim, job: JobFacts): Move {
  const look = need(c, "6/account", podsOf(claim));
  if (look !== undefined) return look;
  const accounted = account(c, "6", claim, job, podsIn(c, job));
  if (accounted.kind === "move") return accounted.move;
  const ttl = ttlFirst(c, "6", job);
  if (accounted.kind === "none") {
    const { reason, sentence } = accounted;
    return ttl ?? failAttempt(c, "6", claim, { reason, sentence: `${sentence} It is tried again.` });
  }
  return c.family.judgeRead(c, "6", claim, accounted.result, ttl);
}

/** A Plan that lost its Lease is not read: what it read, it read without the lock. Observe is next. */
function lostRead(c: Context, claim: Claim): Move {
  const { record } = c;
  const next = c.family.afterSource;
  return drop(c, "6/lost", claim, {
    set:
      record === undefined
        ? { cycle: cycleAt(c, next) }
        : c.family.withRecord({ ...record, next: c.family.proofStart }),
    cause: {
      at: "dropped",
      leads: c.family.staleLeads,
      reason: "LeaseContinuityLost",
      sentence: "The database realm's Lease changed hands while the plan was made; the database is read again.",
    },
  });
}

const podsOf = (claim: Claim) =>
  ({ piece: "pods", jobName: claim.jobName, ...(claim.jobUID === undefined ? {} : { jobUID: claim.jobUID }) }) as const;

function podsIn(c: Context, job: JobFacts): readonly PodFacts[] {
  return (c.view.pods?.value.pods ?? []).filter((pod) => pod.jobUID === job.uid);
}

/** Rule 4: a dispatched Apply. Suspension, deletion, generation, census and binding may not discard it. */
export function superviseApply(c: Context, claim: Claim): Move {
  const unknown = (rule: string, sentence: string, uncertain: boolean) =>
    c.family.conclude(c, `4/${rule}`, claim, { unknown: true, uncertain, sentence });
  if (createFailed(c, claim) && claim.jobUID === undefined) {
    return unknown(
      "create",
      `Creating the Apply's Job was answered with an error (${createProblem(c)}); what happened is read from the database.`,
      true,
    );
  }
  const look = need(c, "4/supervise", { piece: "job", name: claim.jobName }, podsOf(claim));
  if (look !== undefined) return look;
  const job = c.view.job?.value.job ?? null;
  const lost = claim.leaseContinuityLost === true;
  if (lost && (c.family.lostEndsAtOnce || job === null || overAt(c, claim, job))) {
    const ttl = c.family.lostEndsAtOnce || job?.terminal !== undefined ? ttlFirst(c, "4/lost", job) : undefined;
    return (
      ttl ??
      unknown(
        "lost",
        "The database realm's Lease changed hands during the Apply; its result is not read.",
        claim.jobUID === undefined,
      )
    );
  }
  if (job === null) {
    return unknown(
      "gone",
      "The Apply's Job is gone; what it did is read from the database.",
      claim.jobUID === undefined,
    );
  }
  if (!isClaimed(c, claim, job)) {
    return unknown("drift", "The Job under the Apply's name is not the one that was dispatched.", true);
  }
  if (claim.jobUID === undefined) return confirm(c, "4", claim, job);
  return seePods(c, claim) ?? (lost ? undefined : openGate(c, claim)) ?? applyProgress(c, claim, job);
}

/** The Job of an Apply has its end, or its time is over. */
const overAt = (c: Context, claim: Claim, job: JobFacts): boolean =>
  job.terminal !== undefined || c.nowMs >= horizonMs(attemptOfClaim(claim));

/** Each Pod first seen and each termination seen goes to the claim before anything follows from it. */
function seePods(c: Context, claim: Claim): Move | undefined {
  const evidence = withListed(claim.pods ?? [], claim.podCount ?? 0, c.view.pods?.value.pods ?? []);
  if (!evidence.news) return undefined;
  return patch(c, "4/pods", {
    set: { activeOperation: { ...claim, pods: [...evidence.pods], podCount: evidence.podCount } },
  });
}

/** The gate of the first Pod recorded, and of no other, while its dispatch window is open. */
function openGate(c: Context, claim: Claim): Move | undefined {
  const uid = claim.pods?.[0]?.uid;
  if (claim.dispatchNotAfter === undefined || dispatchClosed(claim, c.nowMs)) return undefined;
  const pod = c.view.pods?.value.pods.find((p) => p.uid === uid);
  if (pod === undefined || !pod.gated || pod.deleting || !pod.accepted || pod.jobUID !== claim.jobUID) return undefined;
  return {
    kind: "openGate",
    rule: "4/gate",
    podName: pod.name,
    podUID: pod.uid,
    resourceVersion: pod.resourceVersion,
    notAfterMs: msOf(claim.dispatchNotAfter),
  };
}

function applyProgress(c: Context, claim: Claim, job: JobFacts): Move {
  const unknown = (rule: string, sentence: string, result?: OperationResult): Move =>
    (job.terminal === undefined ? undefined : ttlFirst(c, "4", job, EVIDENCE_KEPT_SECONDS)) ??
    c.family.conclude(c, `4/${rule}`, claim, {
      unknown: true,
      uncertain: false,
      sentence,
      jobTerminal: job.terminal !== undefined,
      finishedAtMs: job.finishedAtMs,
      ...(result === undefined ? {} : { result }),
    });
  const horizon = horizonMs(attemptOfClaim(claim));
  if (job.terminal === undefined) {
    if (c.nowMs >= horizon) return unknown("horizon", "The Apply's Job has no end although its time is over.");
    return (
      podHeld(c, "4/held", claim, job) ??
      wait("4/running", `the end of Job ${claim.jobName}`, Math.min(horizon, nextRenewalMs(c)))
    );
  }
  if ((claim.podCount ?? 0) > 1) {
    return unknown("duplicate", "More than one Pod of the Apply was seen; what it did is read from the database.");
  }
  const accounted = account(c, "4", claim, job, podsIn(c, job));
  if (accounted.kind === "move") return accounted.move;
  if (accounted.kind === "none")
    return unknown("unread", `${accounted.sentence} What it did is read from the database.`);
  const { result } = accounted;
  const judged = c.family.judgeApply(claim, result);
  if (judged.unknown) return unknown("error", judged.sentence, result);
  return (
    ttlFirst(c, "4", job, JOB_KEPT_SECONDS) ??
    c.family.conclude(c, "4/success", claim, {
      ...judged,
      uncertain: false,
      jobTerminal: true,
      finishedAtMs: job.finishedAtMs,
      result,
    })
  );
}
