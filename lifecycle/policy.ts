/** What policy says of a plan of statements, in the exact order of the API's promise. */

import type { ApplyPolicy } from "../crds/common.ts";
import type { Unproven } from "../crds/status/index.ts";
import { UNPROVEN_APPLIES_MAX } from "./limits.ts";

export type Verdict =
  | { readonly kind: "Blocked"; readonly reason: "DestructiveChangesDisabled" | "ApplyDisabled" }
  | { readonly kind: "AwaitingApproval"; readonly reason: "PrivilegeChanges" | "PlanReady" | "UnprovenChanges" }
  | { readonly kind: "ReadyToApply"; readonly reason: "NotRequired" };

interface Policy {
  readonly apply: ApplyPolicy;
  readonly allowDestructive: boolean;
}

interface Judged {
  readonly destructive: boolean;
  readonly privilegeChanges?: readonly string[] | undefined;
  readonly contentDigest: string;
}

/**
 * The verdict over a plan: (1) destructive and not allowed; (2) Never; (3) Always with privilege changes; (4) anything a
 * person decides; (5) else it may run. Last, a plan that `unproven` holds back waits for a person even under Always.
 */
export function judgePlan(policy: Policy, plan: Judged, unproven: Unproven | undefined): Verdict {
  const privileges = (plan.privilegeChanges?.length ?? 0) > 0;
  if (plan.destructive && !policy.allowDestructive) return { kind: "Blocked", reason: "DestructiveChangesDisabled" };
  if (policy.apply === "Never") return { kind: "Blocked", reason: "ApplyDisabled" };
  if (policy.apply === "Always" && privileges) return { kind: "AwaitingApproval", reason: "PrivilegeChanges" };
  if (policy.apply !== "Always" || plan.destructive || privileges) {
    return { kind: "AwaitingApproval", reason: "PlanReady" };
  }
  if (heldBack(plan, unproven)) return { kind: "AwaitingApproval", reason: "UnprovenChanges" };
  return { kind: "ReadyToApply", reason: "NotRequired" };
}

/** Whether Applies without a clean reading hold this plan back (no loop of DDL): the same bytes again, or the third Apply. */
function heldBack(plan: Judged, unproven: Unproven | undefined): boolean {
  return (
    unproven !== undefined &&
    (unproven.applies >= UNPROVEN_APPLIES_MAX || unproven.contentDigest === plan.contentDigest)
  );
}
