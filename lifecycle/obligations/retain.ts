/**
 * Retain (steps 11 and 12): claim and record swap in one patch. The record is written by this one function, whatever the
 * Apply's own account came to, and stands until a reading or a named person settles it.
 */
import type { ApplyRecord, Claim, JournalEntry } from "../../crds/status/index.ts";
import { type Context, patch } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { instantOf } from "../time.ts";
import { durationMetric } from "./retry.ts";

export interface Outcome {
  readonly unknown: boolean;
  /** Create, Job or Pod identity is uncertain. */
  readonly uncertain: boolean;
  readonly sentence: string;
  readonly jobTerminal?: boolean;
}

export function retain(c: Context, rule: RuleId, claim: Claim, outcome: Outcome): Move {
  const record = recordOf(c, claim, outcome);
  const { plan, unproven } = c.status;
  const sentence = outcome.unknown
    ? `${outcome.sentence} The outcome is unknown and is never replayed; a fresh reading comes next.`
    : outcome.sentence;
  return patch(c, rule, {
    set: {
      ...c.family.withRecord(record),
      activeOperation: undefined,
      plan: undefined,
      retryNotBefore: undefined,
      unproven: {
        applies: (unproven?.applies ?? 0) + 1,
        // Only bytes that succeeded and did not help are held back by themselves; a failure is tried again, at most twice.
        contentDigest: outcome.unknown ? unproven?.contentDigest : claim.planContentDigest,
        ...(plan === undefined ? {} : { desiredStateFingerprint: plan.desiredStateFingerprint }),
      },
    },
    cause: { at: "applied", unknown: outcome.unknown, sentence },
    journal: [finished(c, claim, outcome)],
    events: [
      outcome.unknown
        ? { type: "Warning", reason: "ApplyOutcomeUnknown", note: sentence }
        : { type: "Normal", reason: "OperationCompleted", note: outcome.sentence },
    ],
    metrics: [
      { metric: "applies_total", outcome: outcome.unknown ? "uncertain" : "completed" },
      durationMetric(c, claim, outcome.unknown ? "unknown" : "succeeded"),
    ],
  });
}

function recordOf(c: Context, claim: Claim, outcome: Outcome): ApplyRecord {
  const { plan, executionBinding } = c.status;
  const seconds = claim.leaseDurationSeconds ?? 0;
  const gone = c.view.job?.how === "fresh" && c.view.job.value.job === null && claim.jobUID !== undefined;
  const held = claim.leaseContinuityLost !== true && claim.leaseEpoch !== undefined && claim.leaseHolder !== undefined;
  return {
    outcome: outcome.unknown ? "OutcomeUnknown" : "ApplySucceeded",
    operationID: claim.id,
    generation: claim.generation,
    job: {
      name: claim.jobName,
      ...(claim.jobUID === undefined ? {} : { uid: claim.jobUID }),
      ...(outcome.jobTerminal === true || gone ? { terminal: true } : {}),
    },
    pods: claim.pods,
    podCount: claim.podCount,
    plan: claim.plan,
    ...(plan === undefined
      ? {}
      : {
          planBindings: {
            serial: plan.serial,
            contentDigest: plan.contentDigest,
            desiredStateFingerprint: plan.desiredStateFingerprint,
            policyFingerprint: plan.policyFingerprint,
          },
        }),
    approval: claim.approval,
    source: claim.source,
    target: claim.target,
    coordinationDigest: claim.coordinationDigest ?? "",
    targetIdentityDigest: claim.targetIdentityDigest,
    observation: claim.observation,
    binding: executionBinding,
    dispatchedBy: c.view.configuration.manager,
    admissionSnapshot: claim.admissionSnapshot,
    ...(held
      ? {
          lease: {
            digest: claim.coordinationDigest ?? "",
            holder: claim.leaseHolder ?? "",
            epoch: claim.leaseEpoch ?? "",
            durationSeconds: seconds,
          },
        }
      : {}),
    leaseDurationSeconds: seconds,
    executionNotAfter: claim.executionNotAfter,
    terminationGracePeriodSeconds: claim.terminationGracePeriodSeconds,
    ...(outcome.uncertain ? { identityUncertain: true } : {}),
    next: c.family.proofStart,
    recordedAt: instantOf(c.nowMs),
    observeAfter: instantOf(c.nowMs + seconds * 1000),
  };
}

function finished(c: Context, claim: Claim, outcome: Outcome): JournalEntry {
  return {
    type: "ApplyFinished",
    time: instantOf(c.nowMs),
    operationID: claim.id,
    ...(claim.plan === undefined ? {} : { plan: claim.plan }),
    ...(claim.approval === undefined
      ? {}
      : { approvalName: claim.approval.name, approvalUID: claim.approval.uid, approver: claim.approval.approver }),
    jobName: claim.jobName,
    ...(claim.jobUID === undefined ? {} : { jobUID: claim.jobUID }),
    outcome: outcome.unknown ? "Unknown" : "Succeeded",
  };
}
