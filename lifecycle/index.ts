/** The pure core's front door. */

export { attemptOfClaim, attemptOfRecord, horizonMs, mayStillWrite } from "./attempt.ts";
export { decide, RULES, type Rule } from "./decide.ts";
export * from "./move.ts";
export { leaseRecordKey } from "./obligations/realm.ts";
export { type PlanSummary, realTools, type Tools } from "./tools.ts";
export * from "./view.ts";
