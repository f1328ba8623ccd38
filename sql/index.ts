/** Reading SQL text: splitting, classification, the plan document and its chunks. Pure but for loading the grammar once. */
export { type Chunk, type ChunkFailure, chunk, contentDigest, join } from "./chunks.ts";
export { classify } from "./classify.ts";
export type { Classification } from "./findings.ts";
export { LIMITS as SQL_LIMITS } from "./limits.ts";
export { loadParser, type ParseFailure, type Parser } from "./parser.ts";
export {
  type DecodeOutcome,
  decodePlan,
  type EncodeOutcome,
  encodePlan,
  type PlanDocument,
  type PlanFailure,
  type PlanStatement,
} from "./plan-document.ts";
export { orderedPrivileges, PRIVILEGE_CHANGES, type PrivilegeChange } from "./privileges.ts";
export { calledOnRows, rowChanger } from "./row-changes.ts";
export { SEVERITIES, type Severity, strongerSeverity } from "./severity.ts";
export { type SplitOutcome, type SplitStatement, split } from "./split.ts";
export { type PlanSummary, planSummary, type SummaryOutcome } from "./summary.ts";
export { type Touched, type TouchedName, touchedBy } from "./touched.ts";
export { child, list, stringValue, type Tree, text, unwrap, visit } from "./tree.ts";
