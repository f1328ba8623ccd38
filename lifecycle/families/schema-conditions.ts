/** A schema's conditions, one case per cause. */
import {
  ACTIVE,
  failed,
  IDLE,
  type Line,
  NO_APPROVAL,
  NOT_TRIED,
  READ,
  SUCCEEDED,
  type Told,
  told,
} from "../conditions.ts";
import type { Cause, OperationName, SharedCause } from "../present.ts";
import { ofSequence, type StatementsCause } from "./causes.ts";

type Own = SharedCause | StatementsCause;

/** @returns nothing for what only another family tells */
export function schemaConditions(cause: Cause): Told {
  return ofSequence(cause) ? [] : conditionsOf(cause);
}

function conditionsOf(cause: Own): Told {
  switch (cause.at) {
    case "bound":
      return told("False", "OperationInProgress", "The first reading is about to start.", "reconciling", ACTIVE);
    case "bindingChanged":
      return bindingChanged();
    case "begun":
      return begun(cause);
    case "claimed":
      return claimed(cause.type, cause.proving, cause.approved);
    case "realmHeld":
    case "resultUnread":
      return told("False", "OperationInProgress", cause.sentence, "reconciling");
    case "podHeld":
      return told("False", cause.reason, cause.sentence, "reconciling", NOT_TRIED, [
        "DatabaseReachable",
        "stale",
        cause.reason,
        cause.sentence,
      ]);
    case "readFailed":
      return readFailed(cause);
    case "unbuilt":
      return told(
        "False",
        "ConfigurationError",
        cause.sentence,
        "reconciling",
        IDLE,
        failed("ConfigurationError", cause.sentence),
        ...unread("ConfigurationError", cause.sentence),
      );
    case "sourceRefused":
      return told(
        "False",
        cause.reason,
        cause.sentence,
        "reconciling",
        ACTIVE,
        failed(cause.reason, cause.sentence),
        ["ArtifactResolved", "False", cause.reason, cause.sentence],
        ...unread("SourceFreshnessUnknown", "What is declared now cannot be read."),
      );
    default:
      return outcome(cause);
  }
}

type Outcome = Exclude<
  Own,
  {
    readonly at:
      | "bound"
      | "bindingChanged"
      | "begun"
      | "claimed"
      | "realmHeld"
      | "resultUnread"
      | "podHeld"
      | "readFailed"
      | "unbuilt"
      | "sourceRefused";
  }
>;

function outcome(cause: Outcome): Told {
  switch (cause.at) {
    case "dropped":
      return dropped(cause);
    case "gaveWay":
      return told("False", "InputsChanged", "The failed read gave way to reading the source again.", "reconciling");
    case "versionLearned":
      return told(
        "False",
        "OperationInProgress",
        "The server's version is known; the database is read next.",
        "reconciling",
        ["DatabaseReachable", "True", "Observed", "The database answered."],
      );
    case "observed":
      return told(
        "False",
        "OperationInProgress",
        "The database was read; the plan follows.",
        "reconciling",
        READ,
        ["DatabaseReachable", "True", "Observed", "The database was read."],
        ["InSync", "Unknown", "ScopedPlanPending", "The plan that proves it is being computed."],
      );
    case "decided":
      return decided(cause);
    case "converged":
      return converged(cause.unknownOutcome);
    case "planRefused":
      return planRefused(cause.reason, cause.sentence);
    default:
      return standing(cause);
  }
}

type Standing = Exclude<
  Outcome,
  { readonly at: "dropped" | "gaveWay" | "versionLearned" | "observed" | "decided" | "converged" | "planRefused" }
>;

function standing(cause: Standing): Told {
  switch (cause.at) {
    case "applied":
      return applied(cause.unknown, cause.sentence);
    case "holding":
      return told("False", "OutcomeUnknown", cause.sentence, "reconciling", IDLE);
    case "targetMoved":
      return told(
        "False",
        "TargetIdentityChanged",
        cause.sentence,
        "stalled",
        NOT_TRIED,
        ["InSync", "Unknown", "TargetIdentityChanged", cause.sentence],
        ["DriftDetected", "stale", "TargetIdentityChanged", cause.sentence],
      );
    case "superseded":
      return told(
        "False",
        "DesiredStateChanged",
        "What is declared changed after the Apply; it is read again.",
        "reconciling",
        ["InSync", "Unknown", "ProofInputsChanged", "A newer declaration took over from the proof."],
      );
    case "settled":
      return told(
        "False",
        "OperationInProgress",
        `${cause.username} settled the Apply; the database is read again.`,
        "reconciling",
        ["InSync", "Unknown", "SourceResolutionUnknown", "The database is read again."],
      );
    case "restored":
      return told(
        "False",
        "RecordRestored",
        "The record of an unsettled Apply was put back; its proof follows.",
        "reconciling",
        ["InSync", "Unknown", "RecordRestored", "An Apply is not accounted for yet."],
      );
    case "planStale":
      return told("False", "StalePlan", cause.sentence, "reconciling", NO_APPROVAL, [
        "PlanReady",
        "False",
        "Stale",
        cause.sentence,
      ]);
    case "suspended":
      return suspended(cause.wayOut);
    case "blocked":
      return blocked(cause.reason, cause.sentence);
    case "deleting":
      return told("False", cause.held ? "OutcomeUnknown" : "OperationInProgress", cause.sentence, "reconciling", IDLE);
  }
}

/** What was proved before does not speak for now. */
const unread = (reason: string, sentence: string): readonly Line[] => [
  ["InSync", "stale", reason, sentence],
  ["DriftDetected", "stale", reason, sentence],
];

/** The database was not read: it is known to be out of reach, or nothing is known of it. A Plan failed after a reading. */
function readFailed({ type, reason, sentence, unreachable }: Extract<Own, { readonly at: "readFailed" }>): Told {
  const reached: Line = ["DatabaseReachable", unreachable ? "False" : "stale", reason, sentence];
  return told(
    "False",
    reason,
    sentence,
    "reconciling",
    failed(reason, sentence),
    ...unread(reason, sentence),
    ...(unreachable || type !== "Plan" ? [reached] : []),
  );
}

/** A cycle begins; what was proved of another declaration does not speak for this one. */
function begun(cause: Extract<Own, { readonly at: "begun" }>): Told {
  const common: readonly Line[] = [
    ACTIVE,
    READ,
    ["ArtifactResolved", "True", "SnapshotTaken", cause.sentence],
    ["EngineSupported", "True", "SupportedEngine", "This engine is supported."],
  ];
  if (!cause.changed) {
    return told("False", "OperationInProgress", "The database is about to be read.", "reconciling", ...common);
  }
  const sentence = "What is declared changed; the database is read again.";
  return told("False", "DesiredStateChanged", sentence, "reconciling", ...common, [
    "InSync",
    "False",
    "DesiredStateChanged",
    sentence,
  ]);
}

/** No plan came of the reading: only a fence that was hit says that something is left to change. */
function planRefused(reason: string, sentence: string): Told {
  const inSync = reason === "PlanRefused" ? "Unknown" : "False";
  return told(
    "False",
    reason,
    sentence,
    "stalled",
    READ,
    NO_APPROVAL,
    ["PlanReady", "False", reason, sentence],
    ["InSync", inSync, reason, sentence],
    ["DriftDetected", "Unknown", reason, "How the database differs is not known: no plan came of the last reading."],
  );
}

function claimed(type: OperationName, proving: boolean, approved: boolean): Told {
  if (type !== "Apply") {
    const reason = proving ? "VerifyingConvergence" : "OperationInProgress";
    return told("False", reason, `${type} is under way.`, "reconciling", ACTIVE);
  }
  const reason = approved ? "ApprovedPlan" : "AutomaticPlan";
  const sentence = approved ? "The approved plan is being applied." : "The plan that policy allows is being applied.";
  return told(
    "False",
    "OperationInProgress",
    sentence,
    "reconciling",
    ACTIVE,
    ["Applying", "True", reason, sentence],
    ["ApprovalRequired", "False", approved ? "Satisfied" : "NotRequired", sentence],
  );
}

function bindingChanged(): Told {
  const sentence = "An execution component changed; what was read before is not evidence any more.";
  const unknown = (type: string): Line => [type, "Unknown", "ExecutionBindingChanged", sentence];
  const no = (type: string): Line => [type, "False", "ExecutionBindingChanged", sentence];
  return told(
    "False",
    "ExecutionBindingChanged",
    sentence,
    "reconciling",
    unknown("ArtifactResolved"),
    unknown("DatabaseReachable"),
    unknown("DriftDetected"),
    unknown("InSync"),
    no("PlanReady"),
    no("ApprovalRequired"),
    no("Applying"),
  );
}

function dropped(cause: Extract<Outcome, { readonly at: "dropped" }>): Told {
  if (cause.leads === "Suspended") return suspended(undefined);
  if (cause.leads === "AwaitingApproval") {
    return told("False", "AwaitingApproval", cause.sentence, "rests", IDLE, [
      "ApprovalRequired",
      "True",
      "ApprovalRevoked",
      cause.sentence,
    ]);
  }
  return told("False", cause.reason, cause.sentence, "reconciling", IDLE);
}

function decided(cause: Extract<Outcome, { readonly at: "decided" }>): Told {
  const { verdict } = cause;
  const count = `${cause.statementCount} statement${cause.statementCount === 1 ? "" : "s"}`;
  const common: readonly Line[] = [
    ACTIVE,
    READ,
    IDLE,
    ["PlanReady", "True", "Published", `A plan of ${count} is stored.`],
    ["DriftDetected", "True", "ScopedChanges", `The database differs from what is declared by ${count}.`],
    ["InSync", "False", "ScopedChanges", `The database differs from what is declared by ${count}.`],
  ];
  if (verdict.kind === "ReadyToApply") {
    return told(
      "False",
      "ApplyPending",
      "The plan is allowed and about to be applied.",
      "rests",
      ...common,
      NO_APPROVAL,
    );
  }
  if (verdict.kind === "AwaitingApproval") {
    const sentence = WAITS[verdict.reason];
    return told("False", "AwaitingApproval", sentence, "rests", ...common, [
      "ApprovalRequired",
      "True",
      verdict.reason,
      sentence,
    ]);
  }
  const sentence = REFUSES[verdict.reason];
  const line: Line = ["ApprovalRequired", "False", verdict.reason, sentence];
  return verdict.reason === "ApplyDisabled"
    ? told("False", "ApplyDisabled", sentence, "rests", ...common, line)
    : told("False", "PolicyBlocked", sentence, "stalled", ...common, line);
}

const WAITS = {
  PlanReady: "The plan waits for an approval of exactly this plan.",
  PrivilegeChanges: "The plan changes who may do what and waits for an approval of exactly this plan.",
  UnprovenChanges: "Applying did not make this difference go away, so the plan waits for an approval.",
} as const;
const REFUSES = {
  DestructiveChangesDisabled:
    "The plan may lose data and spec.policy.allowDestructive is false. Such plans need an approval also where it is true.",
  ApplyDisabled: "spec.policy.apply is Never: plans are recorded and none is run.",
} as const;

function converged(unknownOutcome: boolean): Told {
  const reason = unknownOutcome ? "ConvergedAfterUnknownOutcome" : "InSync";
  const sentence = unknownOutcome
    ? "The database is as declared. What made it so is not known: the Apply before had no provable outcome."
    : "The database is as declared.";
  return told(
    "True",
    reason,
    sentence,
    "rests",
    ACTIVE,
    SUCCEEDED,
    IDLE,
    NO_APPROVAL,
    ["PlanReady", "False", "NoChanges", "A fresh plan has no statement."],
    ["DriftDetected", "False", "ScopedConverged", "A fresh plan has no statement."],
    ["InSync", "True", unknownOutcome ? reason : "ScopedConverged", sentence],
  );
}

function applied(unknown: boolean, sentence: string): Told {
  const inSync: Line = ["InSync", "Unknown", "VerifyingConvergence", "A fresh reading has to prove it."];
  const approval: Line = ["ApprovalRequired", "False", "Satisfied", "The plan was dispatched once and is spent."];
  const plan: Line = ["PlanReady", "False", "StaleObservation", "The database is read again before another plan."];
  return unknown
    ? told(
        "False",
        "OutcomeUnknown",
        sentence,
        "reconciling",
        inSync,
        approval,
        plan,
        failed("ApplyOutcomeUnknown", sentence),
        ["Applying", "False", "ApplyOutcomeUnknown", sentence],
      )
    : told("False", "VerifyingConvergence", sentence, "reconciling", inSync, approval, plan, SUCCEEDED, IDLE);
}

function suspended(wayOut: string | undefined): Told {
  const sentence =
    wayOut !== undefined
      ? `Suspended. An Apply is not proved yet; its proof starts when spec.suspend is false, and the database's lock is kept until then. To end it without a proof, once it is known what it did: ${wayOut}.`
      : "No new operation starts while spec.suspend is true.";
  return told("False", "Suspended", sentence, "rests", NOT_TRIED, [
    "Suspended",
    "True",
    "Requested",
    "spec.suspend asks for it.",
  ]);
}

const ENGINE_REASONS = new Set(["UnsupportedEngine", "UnsupportedSource", "UnsupportedServerVersion"]);

function blocked(reason: string, sentence: string): Told {
  const engine: readonly Line[] = ENGINE_REASONS.has(reason) ? [["EngineSupported", "False", reason, sentence]] : [];
  return told(
    "False",
    reason,
    sentence,
    "stalled",
    ACTIVE,
    ["Applying", "False", reason, sentence],
    NOT_TRIED,
    ["DatabaseReachable", "stale", reason, sentence],
    ...unread(reason, sentence),
    ...engine,
  );
}
