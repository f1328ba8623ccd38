/** One of every cause a family tells, and of every word it can carry, for unit tests. */
import type { Cause, Leads } from "./present.ts";

const sentence = "x";
const LEADS: readonly Leads[] = ["Pending", "Suspended", "Observing", "Verifying", "AwaitingApproval"];
const DROPPED = [
  "InputsChanged",
  "StalePlan",
  "LeaseContinuityLost",
  "ExecutionBindingChanged",
  "ApprovalRevoked",
] as const;
const plan = { statementCount: 1 } as const;

const SHARED: readonly Cause[] = [
  { at: "bound" },
  { at: "bindingChanged" },
  { at: "begun", read: "Observe", changed: true, sentence },
  { at: "begun", read: "History", changed: false, sentence },
  ...(["Resolve", "Verify", "Observe", "Plan"] as const).map(
    (type): Cause => ({ at: "claimed", type, proving: false, approved: false }),
  ),
  { at: "claimed", type: "History", proving: true, approved: false },
  { at: "claimed", type: "Apply", proving: false, approved: true },
  { at: "claimed", type: "Apply", proving: false, approved: false },
  { at: "realmHeld", type: "Apply", proving: false, sentence },
  { at: "readFailed", type: "Observe", reason: "OperationFailed", sentence, unreachable: true },
  { at: "readFailed", type: "Observe", reason: "ResultMissing", sentence, unreachable: false },
  { at: "unbuilt", sentence },
  { at: "resultUnread", sentence },
  { at: "podHeld", reason: "PodAdmissionRefused", sentence },
  { at: "podHeld", reason: "PodCannotStart", sentence },
  ...(["SourceNotFound", "SourceRefused", "SourcePolicyNotFound", "SourcePolicyRefused"] as const).map(
    (reason): Cause => ({ at: "sourceRefused", reason, sentence }),
  ),
  { at: "gaveWay" },
  { at: "holding", sentence },
  { at: "targetMoved", sentence },
  { at: "settled", username: "ann" },
  { at: "restored" },
  ...LEADS.map((leads): Cause => ({ at: "planStale", leads, sentence })),
  { at: "suspended", wayOut: "kubectl ptah settle" },
  { at: "suspended", wayOut: undefined },
  ...(["UnsupportedEngine", "UnsupportedSource", "RealmConflict", "RealmNotAuthorized"] as const).map(
    (reason): Cause => ({ at: "blocked", reason, sentence }),
  ),
  { at: "deleting", held: true, sentence },
  { at: "deleting", held: false, sentence },
];
const STATEMENTS: readonly Cause[] = [
  ...DROPPED.map((reason): Cause => ({ at: "dropped", leads: "Pending", reason, sentence })),
  { at: "dropped", leads: "AwaitingApproval", reason: "ApprovalRevoked", sentence },
  { at: "blocked", reason: "UnsupportedServerVersion", sentence },
  { at: "versionLearned", proving: false },
  { at: "observed", proving: true },
  { at: "decided", verdict: { kind: "ReadyToApply", reason: "NotRequired" }, ...plan },
  ...(["PrivilegeChanges", "PlanReady", "UnprovenChanges"] as const).map(
    (reason): Cause => ({ at: "decided", verdict: { kind: "AwaitingApproval", reason }, ...plan }),
  ),
  ...(["DestructiveChangesDisabled", "ApplyDisabled"] as const).map(
    (reason): Cause => ({ at: "decided", verdict: { kind: "Blocked", reason }, ...plan }),
  ),
  { at: "converged", unknownOutcome: true },
  { at: "converged", unknownOutcome: false },
  ...(["ProtectedTable", "PlanRefused", "PlanTooLarge"] as const).map(
    (reason): Cause => ({ at: "planRefused", reason, sentence }),
  ),
  { at: "applied", unknown: true, sentence },
  { at: "applied", unknown: false, sentence },
  { at: "superseded" },
];
const SEQUENCE: readonly Cause[] = [
  ...[...DROPPED, "Suspended", "DesiredStateChanged"].map(
    (reason): Cause => ({ at: "dropped", leads: "Pending", reason, sentence }),
  ),
  { at: "historyMatched", version: 1 },
  { at: "sequencePending", count: 2 },
  ...(["Never", "OnApproval", "Always"] as const).map((apply): Cause => ({ at: "sequenceReady", apply, count: 2 })),
  ...(
    ["HistoryDirty", "HistoryModified", "HistoryOutOfOrder", "HistoryAhead", "PlanTooLarge", "OutcomeUnknown"] as const
  ).map((reason): Cause => ({ at: "historyRefused", reason, sentence })),
  ...(["UpToDate", "Applied", "Failed", "Partial", "Unknown"] as const).flatMap((outcome): Cause[] => [
    { at: "ran", outcome, selected: true, sentence },
    { at: "ran", outcome, selected: false, sentence },
  ]),
  { at: "unpublished", sentence },
];

export const CAUSES: Readonly<Record<"schema" | "migration", readonly Cause[]>> = {
  schema: [...SHARED, ...STATEMENTS],
  migration: [...SHARED, ...SEQUENCE],
};
