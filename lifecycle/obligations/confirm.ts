/**
 * Confirm (step 7): the Job read back is compared with what the claim stored, never with a Job rebuilt from today's spec or
 * binary, before its UID is written.
 */
import type { Claim } from "../../crds/status/index.ts";
import { type Context, patch } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import type { JobFacts } from "../view.ts";

/** Whether this Job is the one the claim dispatched. */
export function isClaimed(c: Context, claim: Claim, job: JobFacts): boolean {
  return (
    job.oneShot &&
    job.ownerUID === c.resource.uid &&
    job.operationID === claim.id &&
    job.executionBindingID === claim.executionBindingID &&
    job.templateDigest === claim.admissionSnapshot?.templateDigest &&
    (claim.jobUID === undefined || claim.jobUID === job.uid)
  );
}

/** Writes the UID of a Job that was compared; after a stop this is the adoption. */
export function confirm(c: Context, rule: RuleId, claim: Claim, job: JobFacts): Move {
  return patch(c, `${rule}/confirm`, {
    set: { activeOperation: { ...claim, jobUID: job.uid } },
    events: [{ type: "Normal", reason: "OperationStarted", note: `${claim.type} runs as Job ${claim.jobName}.` }],
    ...(claim.type === "Apply" ? { metrics: [{ metric: "applies_total" as const, outcome: "started" as const }] } : {}),
  });
}
