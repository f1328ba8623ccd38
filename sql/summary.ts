import { classify } from "./classify.ts";
import type { Parser } from "./parser.ts";
import type { PlanDocument } from "./plan-document.ts";
import { orderedPrivileges, type PrivilegeChange } from "./privileges.ts";
import { type Severity, strongerSeverity } from "./severity.ts";

/** What a plan object says about its document, derived again from the stored bytes. */
export interface PlanSummary {
  readonly destructive: boolean;
  readonly privilegeChanges: readonly PrivilegeChange[];
  readonly statementCount: number;
  readonly highestSeverity: Severity;
  /** Positions (from 0) of statements that carry a credential; a plan with any is refused. */
  readonly credentialStatements: readonly number[];
}

export type SummaryOutcome =
  | { readonly summary: PlanSummary }
  | { readonly error: { readonly code: "dialect_unsupported"; readonly message: string } };

/**
 * Derives a plan's summary from its statements and what the document itself claims, whichever is stronger. The manager
 * compares it with the stored plan before it dispatches.
 */
export function planSummary(parser: Parser, plan: PlanDocument): SummaryOutcome {
  if (plan.dialect !== "postgres") {
    return {
      error: { code: "dialect_unsupported", message: `plans for ${plan.dialect} cannot be read by this version` },
    };
  }
  let destructive = plan.destructive;
  let highestSeverity: Severity = "safe";
  const privileges: PrivilegeChange[] = [];
  const credentialStatements: number[] = [];
  for (const [index, statement] of plan.statements.entries()) {
    const own = classify(parser, statement.sql);
    destructive ||= own.destructive || statement.class.destructive || statement.severity === "destructive";
    highestSeverity = strongerSeverity(highestSeverity, strongerSeverity(own.severity, statement.severity));
    privileges.push(...own.privilegeChanges, ...statement.class.privilegeChanges);
    if (own.credential) credentialStatements.push(index);
  }
  return {
    summary: {
      destructive,
      privilegeChanges: orderedPrivileges(privileges),
      statementCount: plan.statements.length,
      highestSeverity,
      credentialStatements,
    },
  };
}
