/** A reading whose attempt failed: the same claim, the next attempt, after the retry delay. */
import type { Claim, JournalEntry } from "../../crds/status/index.ts";
import { type Context, patch, type Status } from "../context.ts";
import type { FailureCategory, MetricTransition, Move, RuleId } from "../move.ts";
import { retryAt } from "../positions.ts";
import { instantOf, msOf } from "../time.ts";
import { jobNameOf } from "./claim.ts";
import { releaseOfOwnLease } from "./drop.ts";

export function failureEntry(c: Context, operation: string, reason: string): JournalEntry {
  return { type: "OperationFailed", time: instantOf(c.nowMs), operation, reason };
}

export function failureMetric(stage: string, category: FailureCategory): MetricTransition {
  return { metric: "failures_total", stage, category };
}

/** The time an operation took until now. */
export function durationMetric(
  c: Context,
  claim: Claim,
  outcome: Extract<MetricTransition, { metric: "operation_duration_seconds" }>["outcome"],
): MetricTransition {
  return {
    metric: "operation_duration_seconds",
    operation: claim.type.toLowerCase(),
    outcome,
    seconds: Math.max(0, (c.nowMs - msOf(claim.startedAt)) / 1000),
  };
}

/** The claim's next attempt: another Job name, nothing dispatched. */
export function nextAttempt(c: Context, claim: Claim): Claim {
  const next: Claim = {
    ...claim,
    attempt: claim.attempt + 1,
    jobUID: undefined,
    dispatchStarted: undefined,
    dispatchedAt: undefined,
    pods: undefined,
    podCount: undefined,
  };
  if (claim.proves === undefined) next.leaseEpoch = undefined;
  return { ...next, jobName: jobNameOf(c, next) };
}

export interface AttemptFailure {
  readonly reason: string;
  readonly sentence: string;
  readonly category?: FailureCategory;
  /** The database did not answer. */
  readonly unreachable?: boolean;
  /** Fields to change besides. */
  readonly set?: Partial<Status>;
}

/** What a failing reading says; one that proves an Apply also says how a person ends the wait for it. */
export function withWayOut(c: Context, claim: Claim, sentence: string): string {
  if (claim.proves === undefined) return sentence;
  return `${sentence} The Apply it proves stays unsettled; once it is known what it did, ${c.family.wayOut(c)} ends that.`;
}

/**
 * One patch: `dispatchStarted` and `jobUID` cleared with the next attempt and the retry delay. An ordinary Plan gives its
 * Lease back meanwhile, so that a reading which keeps failing holds nobody else's up.
 */
export function failAttempt(c: Context, rule: RuleId, claim: Claim, failure: AttemptFailure): Move {
  const proof = claim.proves === undefined ? undefined : c.family.proofFailed(c, rule, claim, failure);
  if (proof !== undefined) return proof;
  const lease = releaseOfOwnLease(c, rule, claim);
  if ("look" in lease) return lease.look;
  const sentence = withWayOut(c, claim, failure.sentence);
  return patch(c, `${rule}/failed`, {
    set: {
      activeOperation: nextAttempt(c, claim),
      retryNotBefore: retryAt(c),
      ...(lease.release === undefined ? {} : { pendingLockRelease: lease.release }),
      ...failure.set,
    },
    cause: {
      at: "readFailed",
      type: claim.type,
      reason: failure.reason,
      sentence,
      unreachable: failure.unreachable === true,
    },
    journal: [failureEntry(c, claim.type, failure.reason)],
    events: [{ type: "Warning", reason: "OperationFailed", note: sentence }],
    metrics: [
      failureMetric(claim.type.toLowerCase(), failure.category ?? "operation"),
      durationMetric(c, claim, "failed"),
    ],
  });
}
