/** What policy says of a schema plan, in the exact order of the API's promise. */

import type { SchemaPolicy } from "../crds/spec.ts";
import type { CurrentSchemaPlan, SchemaStatus } from "../crds/status/index.ts";
import { UNPROVEN_APPLIES_MAX } from "./limits.ts";

export type Verdict =
  | { readonly kind: "Blocked"; readonly reason: "DestructiveChangesDisabled" | "ApplyDisabled" }
  | { readonly kind: "AwaitingApproval"; readonly reason: "PrivilegeChanges" | "PlanReady" | "UnprovenChanges" }
  | { readonly kind: "ReadyToApply"; readonly reason: "NotRequired" };

type Judged = Pick<CurrentSchemaPlan, "destructive" | "privilegeChanges" | "contentDigest">;

/**
 * The verdict over a plan: (1) destructive and not allowed; (2) Never; (3) Always with privilege changes; (4) anything a
 * person decides; (5) else it may run. Last, a plan that `unproven` holds back waits for a person even under Always.
 */
export function judgePlan(policy: SchemaPolicy, plan: Judged, unproven: SchemaStatus["unproven"]): Verdict {
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
function heldBack(plan: Judged, unproven: SchemaStatus["unproven"]): boolean {
  return (
    unproven !== undefined &&
    (unproven.applies >= UNPROVEN_APPLIES_MAX || unproven.contentDigest === plan.contentDigest)
  );
}
