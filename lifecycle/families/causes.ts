/** What only one of the families has to tell: outcomes of its readings and of its Applies. */
import type { ApplyPolicy } from "../../crds/common.ts";
import type { RunOutcome } from "../../crds/status/index.ts";
import type { Verdict } from "../policy.ts";
import type { Cause } from "../present.ts";

/** Of a schema. */
export type StatementsCause =
  | { readonly at: "versionLearned"; readonly proving: boolean }
  | { readonly at: "observed"; readonly proving: boolean }
  | { readonly at: "decided"; readonly verdict: Verdict; readonly statementCount: number }
  | { readonly at: "converged"; readonly unknownOutcome: boolean }
  | {
      readonly at: "planRefused";
      readonly reason: "ProtectedTable" | "PlanRefused" | "PlanTooLarge";
      readonly sentence: string;
    }
  | { readonly at: "applied"; readonly unknown: boolean; readonly sentence: string }
  | { readonly at: "superseded" };

/** Why a history cannot be continued, or a run holds the resource. */
export type HistoryRefusal =
  | "HistoryDirty"
  | "HistoryModified"
  | "HistoryOutOfOrder"
  | "HistoryAhead"
  | "PlanTooLarge"
  | "OutcomeUnknown";

/** Of a migration. */
export type SequenceCause =
  | { readonly at: "historyMatched"; readonly version: number }
  | { readonly at: "sequencePending"; readonly count: number }
  | { readonly at: "sequenceReady"; readonly apply: ApplyPolicy; readonly count: number }
  | { readonly at: "historyRefused"; readonly reason: HistoryRefusal; readonly sentence: string }
  | {
      readonly at: "ran";
      readonly outcome: RunOutcome;
      /** Past its selection: a reading of the history follows. */
      readonly selected: boolean;
      readonly sentence: string;
    }
  | { readonly at: "unpublished"; readonly sentence: string };

export type FamilyCause = StatementsCause | SequenceCause;

const STATEMENTS: ReadonlySet<string> = new Set<StatementsCause["at"]>([
  "versionLearned",
  "observed",
  "decided",
  "converged",
  "planRefused",
  "applied",
  "superseded",
]);
const SEQUENCE: ReadonlySet<string> = new Set<SequenceCause["at"]>([
  "historyMatched",
  "sequencePending",
  "sequenceReady",
  "historyRefused",
  "ran",
  "unpublished",
]);

/** Whether only the family of statements tells this. */
export const ofStatements = (cause: Cause): cause is StatementsCause => STATEMENTS.has(cause.at);
/** Whether only the family of sequences tells this. */
export const ofSequence = (cause: Cause): cause is SequenceCause => SEQUENCE.has(cause.at);
