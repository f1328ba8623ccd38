/**
 * Authorize (step 1): the exact plan, source, policy, approval and realm, re-read uncached. Any difference means no claim,
 * or withdraws the one that stands; nothing durable is written here.
 */
import type { AcceptedApproval, Claim } from "../../crds/status/index.ts";
import { type Context, need } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { msOf } from "../time.ts";
import type { ApprovalFacts } from "../view.ts";

/** The uncached reads an Apply is authorised by. */
export function authorityReads(c: Context, rule: RuleId): Move | undefined {
  const name = c.status.plan?.name;
  if (name === undefined) return undefined;
  return need(c, rule, { piece: "plan", name }, { piece: "approvals" }, { piece: "source" }, { piece: "census" });
}

/** Whether an approval names exactly this resource and the plan that stands. */
export function namesStandingPlan(c: Context, approval: ApprovalFacts): boolean {
  const { plan } = c.status;
  return (
    plan !== undefined &&
    plan.dispatched !== true &&
    approval.resourceName === c.resource.name &&
    approval.resourceUID === c.resource.uid &&
    approval.planName === plan.name &&
    approval.planUID === plan.uid &&
    approval.planFingerprint === plan.fingerprint
  );
}

/** Whether an approval may be spent on the plan that stands, by this claim or by a new one. */
function usable(c: Context, approval: ApprovalFacts, claim: Claim | undefined): boolean {
  const spent = approval.status.consumedBy;
  const free = spent === undefined || (claim !== undefined && spent.operationID === claim.id);
  return free && approval.stamped && !approval.deleting && namesStandingPlan(c, approval);
}

/** The approval an Apply may spend: of several the one approved first, then by UID. */
export function approvalFor(c: Context, claim: Claim | undefined): ApprovalFacts | undefined {
  let best: ApprovalFacts | undefined;
  for (const approval of c.view.approvals?.value ?? []) {
    if (!usable(c, approval, claim)) continue;
    if (claim?.approval !== undefined && claim.approval.uid !== approval.uid) continue;
    if (best === undefined || before(approval, best)) best = approval;
  }
  return best;
}

function before(a: ApprovalFacts, b: ApprovalFacts): boolean {
  const difference = msOf(a.approvedAt) - msOf(b.approvedAt);
  return difference === 0 ? a.uid < b.uid : difference < 0;
}

export function acceptedOf(approval: ApprovalFacts): AcceptedApproval {
  const { name, uid, approver, approvedAt } = approval;
  return { name, uid, approver, approvedAt };
}
