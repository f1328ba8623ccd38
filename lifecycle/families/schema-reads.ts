/** How a schema's Observe and Plan are judged: the next reading, a plan, convergence, or the proof of an Apply. */
import type { ApplyRecord, Claim, ObservedTarget } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { type Change, type Context, patch, type Status } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { releaseOfOwnLease } from "../obligations/drop.ts";
import { spoiled } from "../obligations/prove.ts";
import { durationMetric, failAttempt } from "../obligations/retry.ts";
import { settled, verified } from "../obligations/settle.ts";
import { cycleAt, cycleEnded, retryAt } from "../positions.ts";
import { instantOf } from "../time.ts";
import { judgePlanResult } from "./schema-plan.ts";

const SPOILED = "A Pod of the Apply came up while the proof read; the proof starts again.";

export function judgeSchemaRead(
  c: Context,
  rule: RuleId,
  claim: Claim,
  result: OperationResult,
  ttl: Move | undefined,
): Move {
  const proof = proofRecord(c, claim);
  const again = proof === undefined ? undefined : spoiled(c, rule, claim, proof, SPOILED);
  if (again !== undefined) return again;
  const { error } = result;
  if (error !== undefined) return ttl ?? judgeError(c, rule, claim, result, error);
  return claim.type === "Observe"
    ? (ttl ?? observed(c, rule, claim, result))
    : judgePlanResult(c, rule, claim, result, ttl);
}

/** The record a reading proves, while it stands. */
export function proofRecord(c: Context, claim: Claim): ApplyRecord | undefined {
  return claim.proves !== undefined && c.record?.operationID === claim.proves ? c.record : undefined;
}

/** Fields that move to the reading that follows: the record's position for a proof, the cycle's else. */
export function nextReading(c: Context, claim: Claim, next: "Observe" | "Plan"): Partial<Status> {
  const record = proofRecord(c, claim);
  return record === undefined ? { cycle: cycleAt(c, next) } : c.family.withRecord({ ...record, next });
}

const REFUSALS: Readonly<Record<string, "ProtectedTable" | "PlanRefused" | "PlanTooLarge">> = {
  protected_table: "ProtectedTable",
  plan_refused: "PlanRefused",
  plan_too_large: "PlanTooLarge",
};

/** The server did not answer, or let nobody in. */
const UNREACHABLE: ReadonlySet<string> = new Set(["connection_failed", "authentication_failed"]);

function judgeError(
  c: Context,
  rule: RuleId,
  claim: Claim,
  result: OperationResult,
  error: NonNullable<OperationResult["error"]>,
): Move {
  const sentence = `${claim.type} ended with ${error.code}: ${error.message}`;
  if (error.code === "server_version_changed") return versionChanged(c, rule, claim, result);
  const refusal = REFUSALS[error.code];
  const record = proofRecord(c, claim);
  // A refused proof has read that changes are left only where the fence was hit; any other refusal proves nothing.
  if (refusal === undefined || (record !== undefined && refusal !== "ProtectedTable")) {
    const again = `${sentence}. It is tried again after ${c.spec.execution.failureRetryInterval}.`;
    const unreachable = UNREACHABLE.has(error.code);
    return failAttempt(c, rule, claim, { reason: "OperationFailed", sentence: again, unreachable });
  }
  const code = result.refusal?.code.replaceAll("-", "_");
  const why = code === undefined || code === error.code ? error.message : `Refused with ${code}: ${error.message}`;
  return planRefused(c, rule, claim, refusal, `${why}.`);
}

/** A refusal ends the cycle without a plan; the resource keeps reading at its interval. */
function planRefused(
  c: Context,
  rule: RuleId,
  claim: Claim,
  reason: "ProtectedTable" | "PlanRefused" | "PlanTooLarge",
  sentence: string,
): Move {
  const record = proofRecord(c, claim);
  return ended(c, `${rule}/refusedPlan`, claim, {
    set: { plan: undefined, ...cycleEnded(c), ...(record === undefined ? {} : settled(c, record, "Reading")) },
    cause: { at: "planRefused", reason, sentence },
    ...(record === undefined ? {} : { journal: [verified(c, record, "DriftRemains")] }),
    events: [
      {
        type: "Warning",
        reason: reason === "ProtectedTable" ? "ProtectedTableRefused" : "OperationFailed",
        note: sentence,
      },
    ],
    metrics: [durationMetric(c, claim, "failed")],
  });
}

/** One patch that ends a reading's claim, with the release of a Lease it took itself. */
export function ended(c: Context, rule: RuleId, claim: Claim, change: Change): Move {
  const lease = releaseOfOwnLease(c, rule, claim);
  if ("look" in lease) return lease.look;
  const set: Partial<Status> = { activeOperation: undefined, retryNotBefore: undefined };
  if (lease.release !== undefined) set.pendingLockRelease = lease.release;
  return patch(c, rule, { ...change, set: { ...set, ...change.set } });
}

/** Another major than the claim counted on: what the server says is stored, and a new claim carries it. */
function versionChanged(c: Context, rule: RuleId, claim: Claim, result: OperationResult): Move {
  const { serverVersion, serverMajor } = result;
  return ended(c, `${rule}/version`, claim, {
    set: {
      target: { ...c.status.target, serverVersion, serverMajor },
      ...nextReading(c, claim, "Observe"),
      retryNotBefore: retryAt(c),
    },
    cause: { at: "versionLearned", proving: claim.proves !== undefined },
  });
}

function observed(c: Context, rule: RuleId, claim: Claim, result: OperationResult): Move {
  const proving = claim.proves !== undefined;
  const target = targetAfter(c, claim, result);
  const learnedOnly = result.driftReportDigest === undefined;
  return ended(c, learnedOnly ? `${rule}/learned` : `${rule}/observed`, claim, {
    set: { target, ...nextReading(c, claim, learnedOnly ? "Observe" : "Plan") },
    cause: learnedOnly ? { at: "versionLearned", proving } : { at: "observed", proving },
    metrics: [
      durationMetric(c, claim, "succeeded"),
      ...(learnedOnly
        ? []
        : [
            {
              metric: "drift_observations_total" as const,
              outcome: result.observedDrift === true ? ("drift" as const) : ("converged" as const),
            },
          ]),
    ],
  });
}

function targetAfter(c: Context, claim: Claim, result: OperationResult): ObservedTarget {
  return {
    ...c.status.target,
    engine: claim.target?.engine,
    serverVersion: result.serverVersion,
    serverMajor: result.serverMajor,
    coordinationDigest: claim.coordinationDigest,
    identityDigest: result.targetIdentityDigest,
    lastObservedAt: instantOf(c.nowMs),
    ...(result.driftReportDigest === undefined
      ? {}
      : {
          driftReportDigest: result.driftReportDigest,
          highestDriftSeverity: result.highestDriftSeverity,
          driftFindingCount: result.driftFindingCount,
          driftFindings: result.driftFindings,
        }),
  };
}
