/** How a schema's Apply ends: always in a record, since only a fresh reading proves what it did. */
import type { Claim, JournalEntry } from "../../crds/status/index.ts";
import { type Context, patch } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { recordOf } from "../obligations/retain.ts";
import { durationMetric } from "../obligations/retry.ts";
import { instantOf } from "../time.ts";
import type { Outcome } from "./family.ts";
import { schemaPlan } from "./schema-fields.ts";

export function concludeSchemaApply(c: Context, rule: RuleId, claim: Claim, outcome: Outcome): Move {
  const plan = schemaPlan(c.status);
  const bindings = plan === undefined ? {} : { desiredStateFingerprint: plan.desiredStateFingerprint };
  const kind = outcome.unknown ? "OutcomeUnknown" : "ApplySucceeded";
  const record = recordOf(c, claim, outcome, kind, bindings);
  const { unproven } = c.status;
  const sentence = outcome.unknown
    ? `${outcome.sentence} What a run says of itself is not believed: a fresh reading says what the database holds, and that plan is never run again.`
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
