/**
 * Account for the outcome (step 9): a terminal Job is not an outcome. The account is a frame from exactly one Pod that the
 * snapshot accepts, its container terminated, bound to the operation; it may still arrive for 30 s.
 */
import type { Claim } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { attemptOfClaim, horizonMs } from "../attempt.ts";
import { type Context, patchIfNew, wait } from "../context.ts";
import {
  FRAME_REREAD_MS,
  FRAME_WAIT_MS,
  JOB_KEPT_SECONDS,
  RESULT_READ_MS,
  RESULT_RETRY_MS,
  SKEW_MS,
} from "../limits.ts";
import type { Move, RuleId } from "../move.ts";
import type { JobFacts, PodFacts } from "../view.ts";
import { ttlSeconds } from "./marks.ts";
import { nextRenewalMs } from "./realm.ts";

export type Account =
  | { readonly kind: "move"; readonly move: Move }
  | { readonly kind: "frame"; readonly result: OperationResult }
  /** Nothing can be read any more; `evidence` where the Pod's log is all there is. */
  | { readonly kind: "none"; readonly reason: "ResultMissing" | "RunnerProtocolMismatch"; readonly sentence: string };

/** The account of a terminal Job whose Pods were listed uncached for this decision. */
export function account(c: Context, rule: RuleId, claim: Claim, job: JobFacts, pods: readonly PodFacts[]): Account {
  const pod = pods[0];
  if (pods.length !== 1 || pod === undefined || !pod.accepted) {
    const found = pods.length === 0 ? "no Pod is left" : "its Pods are not the one that was admitted";
    return {
      kind: "none",
      reason: "ResultMissing",
      sentence: `${claim.type} ended and ${found}, so there is no account of it.${whyEnded(job, pod)}`,
    };
  }
  if (!pod.terminated) {
    const endMs = silentAtMs(c, claim, job);
    if (c.nowMs < endMs) {
      return { kind: "move", move: wait(`${rule}/ending`, "the Pod's end", Math.min(endMs, nextRenewalMs(c))) };
    }
    return {
      kind: "none",
      reason: "ResultMissing",
      sentence: `The Pod of ${claim.type} does not end although its time is over.`,
    };
  }
  return readResult(c, rule, claim, job, pod);
}

/** When a Pod that is not seen to end is waited for no longer: an Apply's horizon, a reading's grace after its Job's end. */
function silentAtMs(c: Context, claim: Claim, job: JobFacts): number {
  if (claim.type === "Apply") return horizonMs(attemptOfClaim(claim));
  return (job.finishedAtMs ?? c.nowMs) + (claim.terminationGracePeriodSeconds ?? 0) * 1000 + SKEW_MS;
}

function readResult(c: Context, rule: RuleId, claim: Claim, job: JobFacts, pod: PodFacts): Account {
  const facts = c.view.result?.podUID === pod.uid ? c.view.result : undefined;
  const lastMs = (job.finishedAtMs ?? c.nowMs) + FRAME_WAIT_MS;
  switch (facts?.state) {
    case "frame":
      return { kind: "frame", result: told(facts.result, whyEnded(job, pod)) };
    case "otherProtocol":
      return {
        kind: "none",
        reason: "RunnerProtocolMismatch",
        sentence: "The runner speaks another protocol; the executor never started.",
      };
    case "invalid":
      return {
        kind: "none",
        reason: "ResultMissing",
        sentence: `${claim.type} ended with a result that is not valid.${whyEnded(job, pod)}`,
      };
    case "none":
      if (facts.readAtMs >= lastMs) {
        const sentence = `${claim.type} ended without a result.${whyEnded(job, pod)}`;
        return { kind: "none", reason: "ResultMissing", sentence };
      }
      return reading(c, rule, claim, pod, Math.min(facts.readAtMs + FRAME_REREAD_MS, lastMs));
    case "failed":
      return failedRead(c, rule, claim, pod, facts.readAtMs);
    default:
      return reading(c, rule, claim, pod, 0);
  }
}

/** What the cluster knows of an end that the operation did not choose, as a sentence of its own; else nothing. */
function whyEnded(job: JobFacts, pod: PodFacts | undefined): string {
  if (job.cutByDeadline === true) return " Its Job had reached its deadline (spec.execution.activeDeadlineSeconds).";
  if (pod?.endedBy === undefined) return "";
  return ` The cluster ended it: ${pod.endedBy}.`;
}

/** A report's sentence without its full stop: some have one and some have none, and whoever quotes it ends his own. */
function told(result: OperationResult, why: string): OperationResult {
  const { error } = result;
  if (error === undefined) return result;
  const stopped = (text: string): string => text.replace(/\.+$/, "");
  const message = why === "" ? stopped(error.message) : `${stopped(error.message)}.${stopped(why)}`;
  return { ...result, error: { ...error, message } };
}

/** Have the log read beside the pass, not before `notBeforeMs`. */
function reading(c: Context, rule: RuleId, claim: Claim, pod: PodFacts, notBeforeMs: number): Account {
  const wholeLeaseMs = (claim.leaseDurationSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  const boundMs = Math.min(RESULT_READ_MS, wholeLeaseMs);
  const read = {
    podName: pod.name,
    podUID: pod.uid,
    operation: claim.type,
    operationID: claim.id,
    boundMs,
    notBeforeMs,
  };
  const untilMs = notBeforeMs > c.nowMs ? notBeforeMs : c.nowMs + boundMs;
  return { kind: "move", move: wait(`${rule}/result`, "the result", Math.min(untilMs, nextRenewalMs(c)), read) };
}

/** A log that could not be read decides nothing; it is read again at a fixed short interval. */
function failedRead(c: Context, rule: RuleId, claim: Claim, pod: PodFacts, readAtMs: number): Account {
  const told = patchIfNew(c, `${rule}/unreadable`, {
    cause: {
      at: "resultUnread",
      sentence: `The log of Pod ${pod.name} cannot be read, so ${claim.type} has no account yet; it is read again. Deleting the Pod ends that.`,
    },
    events: [
      {
        type: "Warning",
        reason: "ResultReadFailed",
        note: `The log of Pod ${pod.name} could not be read; it is read again.`,
      },
    ],
  });
  if (told !== undefined) return { kind: "move", move: told };
  return reading(c, rule, claim, pod, readAtMs + RESULT_RETRY_MS);
}

/** The TTL comes before the outcome (step 10). Undefined once the Job has one, or is gone. */
export function ttlFirst(
  c: Context,
  rule: RuleId,
  job: JobFacts | null,
  keptSeconds = JOB_KEPT_SECONDS,
): Move | undefined {
  if (job === null || job.ttlSeconds !== undefined || job.deleting) return undefined;
  return {
    kind: "scheduleTtl",
    rule: `${rule}/ttl`,
    jobName: job.name,
    jobUID: job.uid,
    ttlSeconds: ttlSeconds(c, job.finishedAtMs ?? c.nowMs, keptSeconds),
  };
}
