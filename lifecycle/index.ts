/** The pure core's front door. */

export { attemptOfClaim, attemptOfRecord, horizonMs, mayStillWrite } from "./attempt.ts";
export { decide, decideWith, RULES, type Rule } from "./decide.ts";
export type { Family } from "./families/family.ts";
export { FAMILIES } from "./families/index.ts";
export { KINDS, type Kind } from "./families/kinds.ts";
export { type PlanSpec, type Spec, type StandingPlan, type Status, sourceSpecOf } from "./families/types.ts";
export { CONTROLLER_STATE_VERSION } from "./limits.ts";
export * from "./move.ts";
export { leaseRecordKey } from "./obligations/realm.ts";
export { RULE_IDS } from "./rules.ts";
export { type PlanSummary, realTools, type Tools } from "./tools.ts";
export * from "./view.ts";
