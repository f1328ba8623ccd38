/** Condition types: what True and False mean, and which of them is the good one. */

export type ConditionObject =
  | "PtahSchema"
  | "PtahSchemaPlan"
  | "PtahSchemaApproval"
  | "PtahMigration"
  | "PtahMigrationPlan"
  | "PtahMigrationApproval"
  | "PtahMigrationRunAcknowledgment";

export interface ConditionType {
  readonly type: string;
  readonly on: readonly ConditionObject[];
  /** `positive`: True is the wanted state; `negative`: True is trouble; `neutral`: neither. */
  readonly polarity: "positive" | "negative" | "neutral";
  readonly whenTrue: string;
  readonly whenFalse: string;
  /** When the condition is not there at all. */
  readonly whenAbsent: string;
}

const schema = ["PtahSchema"] as const;
const migration = ["PtahMigration"] as const;
const both = ["PtahSchema", "PtahMigration"] as const;
const approval = ["PtahSchemaApproval", "PtahMigrationApproval"] as const;
const word = [...approval, "PtahMigrationRunAcknowledgment"] as const;

const NOT_YET = "Nothing of the kind has been read yet.";

export const CONDITION_TYPES = [
  {
    type: "Ready",
    on: [...both, "PtahSchemaPlan", "PtahMigrationPlan"],
    polarity: "positive",
    whenTrue:
      "The database is as declared, no migration is pending, and nothing is owed. A plan: it is stored whole and was read back.",
    whenFalse: "Something is missing; the reason says what, and who has to act.",
    whenAbsent: "Never, once a manager has seen the object.",
  },
  {
    type: "Reconciling",
    on: both,
    polarity: "neutral",
    whenTrue: "Something more comes by itself.",
    whenFalse: "Not written as False.",
    whenAbsent: "Nothing comes by itself: the resource rests, waits for a person or is blocked.",
  },
  {
    type: "Stalled",
    on: both,
    polarity: "negative",
    whenTrue: "Blocked: the answer does not change until somebody changes an input.",
    whenFalse: "Not written as False.",
    whenAbsent: "The resource is not blocked, or only because spec.policy.apply is Never (ApplyDisabled).",
  },
  {
    type: "ArtifactResolved",
    on: both,
    polarity: "positive",
    whenTrue: "The source is pinned to its content.",
    whenFalse: "The source could not be resolved.",
    whenAbsent: NOT_YET,
  },
  {
    type: "ArtifactVerified",
    on: both,
    polarity: "positive",
    whenTrue: "The verification policy accepts the artifact.",
    whenFalse: "The policy refused it, or has not judged it yet.",
    whenAbsent: "The source is a ConfigMap or Git, which have no verification policy.",
  },
  {
    type: "EngineSupported",
    on: schema,
    polarity: "positive",
    whenTrue: "The engine, its version and the kind of source can be run.",
    whenFalse: "One of them cannot; the message names it.",
    whenAbsent: NOT_YET,
  },
  {
    type: "DatabaseReachable",
    on: schema,
    polarity: "positive",
    whenTrue: "The last observation read the database.",
    whenFalse: "The last observation could not.",
    whenAbsent: NOT_YET,
  },
  {
    type: "DriftDetected",
    on: schema,
    polarity: "neutral",
    whenTrue: "The managed scope of the database differs from what is declared.",
    whenFalse: "It does not differ.",
    whenAbsent: NOT_YET,
  },
  {
    type: "PlanReady",
    on: schema,
    polarity: "positive",
    whenTrue: "A plan stands and can be read.",
    whenFalse: "No plan stands; the reason says why.",
    whenAbsent: NOT_YET,
  },
  {
    type: "ApprovalRequired",
    on: both,
    polarity: "neutral",
    whenTrue: "The plan waits for a person's approval.",
    whenFalse: "No approval is asked for, or policy refuses the plan whatever anybody approves.",
    whenAbsent: NOT_YET,
  },
  {
    type: "Applying",
    on: schema,
    polarity: "neutral",
    whenTrue: "An Apply is under way.",
    whenFalse: "None is.",
    whenAbsent: "There never was one.",
  },
  {
    type: "InSync",
    on: schema,
    polarity: "positive",
    whenTrue: "A fresh read proved that nothing is left to change.",
    whenFalse: "Something is left to change.",
    whenAbsent: NOT_YET,
  },
  {
    type: "Suspended",
    on: schema,
    polarity: "neutral",
    whenTrue: "spec.suspend keeps new operations from starting.",
    whenFalse: "The resource is active.",
    whenAbsent: "The resource never was suspended.",
  },
  {
    type: "ReconciliationFailed",
    on: schema,
    polarity: "negative",
    whenTrue: "The last operation failed; the message says what it tried and when it tries again.",
    whenFalse: "The failure is over.",
    whenAbsent: "Nothing ever failed.",
  },
  {
    type: "Progressing",
    on: migration,
    polarity: "neutral",
    whenTrue: "An operation is under way, is tried again, or follows by itself.",
    whenFalse: "Nothing is under way; the reason says what is waited for.",
    whenAbsent: NOT_YET,
  },
  {
    type: "Blocked",
    on: migration,
    polarity: "negative",
    whenTrue: "The history, the source or an unsettled run refuses every run until somebody acts.",
    whenFalse: "Nothing of the kind refuses a run.",
    whenAbsent: NOT_YET,
  },
  {
    type: "Accepted",
    on: approval,
    polarity: "positive",
    whenTrue: "The approval is for the plan that stands.",
    whenFalse: "It is for no plan that stands.",
    whenAbsent: "The manager has not looked at it yet.",
  },
  {
    type: "Consumed",
    on: word,
    polarity: "neutral",
    whenTrue:
      "One dispatch has spent the approval; it authorises nothing more. An acknowledgment: it ended the hold of its run.",
    whenFalse: "Not written as False.",
    whenAbsent: "No dispatch has spent it; it ended no hold.",
  },
  {
    type: "Stale",
    on: word,
    polarity: "negative",
    whenTrue:
      "The plan it names does not stand any more; a new plan needs a new approval. An acknowledgment: nobody waits for the run it names.",
    whenFalse: "What it names stands.",
    whenAbsent: "The manager has not looked at it yet.",
  },
] as const satisfies readonly ConditionType[];

export type ConditionTypeName = (typeof CONDITION_TYPES)[number]["type"];

/** The condition type a word names, whatever its case. */
export function explainCondition(word: string): ConditionType | undefined {
  return CONDITION_TYPES.find((entry) => entry.type.toLowerCase() === word.toLowerCase());
}
