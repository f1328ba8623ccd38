/**
 * The closed table of condition reasons. A reason is a contract value: it is never given another meaning, adding one is
 * compatible. `kubectl ptah explain <reason>` and docs/reasons.md are this table.
 */
import { EVENT_REASONS, type EventReason } from "./events.ts";
import { MIGRATION_REASONS } from "./migrationreasons.ts";
import {
  ACKNOWLEDGE,
  APPROVE,
  EDIT,
  EVENTS,
  LOOK,
  NOTHING,
  PATCHES,
  PLAN,
  RESUME,
  type Reason,
  r,
  WAIT,
} from "./reason.ts";
import { SOURCE_REASONS } from "./sourcereasons.ts";

export * from "./events.ts";
export { type Actor, type Advice, adviceFor, type Reason, SETTLE } from "./reason.ts";

/** What was read before says nothing any more. */
const STALE = ["InSync=Unknown", "DriftDetected=Unknown"] as const;

const SUPPORT_REASONS = [
  r("SupportedEngine", ["EngineSupported=True"], "The engine is one this version runs.", "nobody", NOTHING),
  r(
    "UnsupportedEngine",
    [
      "EngineSupported=False",
      "Applying=False",
      "Ready=False",
      "Stalled=True",
      ...STALE,
      "Blocked=True",
      "Progressing=False",
      "DatabaseReachable=Unknown",
    ],
    "This version does not run the engine that spec.target.engine names.",
    "author",
    EDIT,
  ),
  r(
    "UnsupportedSource",
    [
      "EngineSupported=False",
      "Applying=False",
      "Ready=False",
      "Stalled=True",
      ...STALE,
      "Blocked=True",
      "Progressing=False",
      "DatabaseReachable=Unknown",
    ],
    "This version does not read the kind of source that spec.desired names.",
    "author",
    "Use a source this version reads (the message names them), or upgrade the operator.",
  ),
  r(
    "UnsupportedServerVersion",
    ["EngineSupported=False", "Applying=False", "Ready=False", "Stalled=True", ...STALE, "DatabaseReachable=Unknown"],
    "No scratch image is configured for the server's major version, and spec.dev names no scratch database.",
    "operator administrator",
    "Give the manager --scratch-image ENGINE-MAJOR=IMAGE@DIGEST, or set spec.dev.urlFrom to a scratch database.",
  ),
  r(
    "RealmConflict",
    [
      "Ready=False",
      "Stalled=True",
      "Applying=False",
      ...STALE,
      "Blocked=True",
      "Progressing=False",
      "ApprovalRequired=False",
      "DatabaseReachable=Unknown",
    ],
    "Another resource names the same database realm (coordinationKey or realmRef) and not all of them declare that they share it.",
    "author",
    "Set spec.target.sharedRealm on every resource of the realm, or remove or suspend the other one.",
  ),
  r(
    "RealmNotAuthorized",
    [
      "Ready=False",
      "Stalled=True",
      "Applying=False",
      ...STALE,
      "Blocked=True",
      "Progressing=False",
      "ApprovalRequired=False",
      "DatabaseReachable=Unknown",
    ],
    "The PtahRealm that spec.target.realmRef names does not admit this resource.",
    "operator administrator",
    "Ask the administrator of the realm to list this namespace, or name the realm by spec.target.coordinationKey.",
  ),
];

const READ_REASONS = [
  r("Observed", ["DatabaseReachable=True"], "The database was read.", "nobody", NOTHING),
  r("ScopedPlanPending", ["InSync=Unknown"], "The database was read; the plan that proves it is being computed."),
  r(
    "ScopedChanges",
    ["DriftDetected=True", "InSync=False"],
    "The managed scope differs from what is declared.",
    "nobody",
    PLAN,
  ),
  r("ScopedConverged", ["DriftDetected=False", "InSync=True"], "A fresh plan of the managed scope has no statement."),
  r(
    "InSync",
    ["InSync=True", "Ready=True"],
    "A fresh read proved that the database is as declared.",
    "nobody",
    NOTHING,
  ),
  r(
    "ConvergedAfterUnknownOutcome",
    ["InSync=True", "Ready=True"],
    "The last Apply's outcome was never established, and a fresh read found nothing left to change.",
    "nobody",
    "Nothing to do; kubectl ptah journal schema/NAME shows the Apply.",
  ),
  r("NoChanges", ["PlanReady=False"], "There is no plan because nothing is left to change.", "nobody", NOTHING),
  r(
    "StaleObservation",
    ["PlanReady=False", "ApprovalRequired=Unknown"],
    "The database has to be read again before planning.",
  ),
  r(
    "InputsChanged",
    ["Ready=False", "Progressing=True"],
    "A result was discarded because what it was computed from has moved.",
  ),
  r("DesiredStateChanged", ["InSync=False", "Ready=False"], "What is declared changed; the database is read again."),
  r(
    "ExecutionBindingChanged",
    [
      "Ready=False",
      "PlanReady=False",
      ...STALE,
      "ArtifactResolved=Unknown",
      "DatabaseReachable=Unknown",
      "ApprovalRequired=False",
      "Applying=False",
      "Progressing=True",
    ],
    "An execution component changed; everything is read again under the new one.",
  ),
  r(
    "LeaseContinuityLost",
    ["PlanReady=False", "InSync=Unknown", "Ready=False"],
    "The database realm's Lease was not held without a gap; the result was dropped.",
  ),
  r("OperationInProgress", ["Ready=False", "Reconciling=True", "Progressing=True"], "An operation is under way."),
  r(
    "OperationFailed",
    [
      "ReconciliationFailed=True",
      "Ready=False",
      "Reconciling=True",
      "DatabaseReachable=False",
      "Progressing=True",
      "Progressing=False",
      "DatabaseReachable=Unknown",
      ...STALE,
    ],
    "An operation failed; the message says which and why. It is tried again after spec.execution.failureRetryInterval.",
    "author",
    "Correct the file, or the cause, that the message names: it is looked at again by itself after spec.execution.failureRetryInterval; kubectl ptah explain CODE tells more of the code in it.",
  ),
  r(
    "ResultMissing",
    [
      "ReconciliationFailed=True",
      "Ready=False",
      "Reconciling=True",
      "Progressing=True",
      "DatabaseReachable=Unknown",
      ...STALE,
    ],
    "An operation's Pod ended without an account of what it did. A read is tried again; an Apply is taken for unknown.",
    "author",
    EVENTS,
  ),
  r("Succeeded", ["ReconciliationFailed=False"], "An operation succeeded after a failure.", "nobody", NOTHING),
  r(
    "ConfigurationError",
    ["ReconciliationFailed=True", "Ready=False", "Progressing=True", ...STALE],
    "An operation's Job could not be built from what is declared or configured; nothing ran.",
    "author",
    "Change what the message names; it is tried again by itself.",
  ),
  r(
    "PodCannotStart",
    ["Ready=False", "Reconciling=True", "Progressing=True", "DatabaseReachable=Unknown"],
    "The operation's Pod cannot start yet; the message says what it waits for. It starts by itself once that is there.",
    "author",
    "Create or correct what the message names: the Secret of spec.target.urlFrom, an image or its pull Secret, where spec.execution lets it run. Of an image that the manager was given (--scratch-image) tell the operator's administrator.",
  ),
  r(
    "PodAdmissionRefused",
    ["Ready=False", "Progressing=False", "DatabaseReachable=Unknown"],
    "The API server refuses the operation's Pod. The claim stands and the Job controller keeps trying.",
    "operator administrator",
    "kubectl events shows the refusal on the Job; mend the quota, policy or webhook it names.",
  ),
  r(
    "RunnerProtocolMismatch",
    ["ReconciliationFailed=True", "Ready=False", "Progressing=False"],
    "The runner image speaks another protocol than the manager; the executor was not started.",
    "operator administrator",
    "Set --runner-image to the image of this manager.",
  ),
];

const PLAN_REASONS = [
  r("Published", ["PlanReady=True", "Ready=True"], "The plan and all its chunks are stored.", "nobody", PLAN),
  r(
    "AwaitingApproval",
    ["Ready=False", "ApprovalRequired=True", "Progressing=False"],
    "A plan waits for a person's approval of exactly that plan.",
    "approver",
    APPROVE,
  ),
  r(
    "Waiting",
    ["ApprovalRequired=True"],
    "A plan waits for a person's approval of exactly that plan.",
    "approver",
    APPROVE,
  ),
  r("PlanReady", ["ApprovalRequired=True"], "An immutable plan is ready for approval.", "approver", APPROVE),
  r(
    "PrivilegeChanges",
    ["ApprovalRequired=True"],
    "The plan changes who may do what, so it waits for a person under every policy.",
    "approver",
    APPROVE,
  ),
  r(
    "UnprovenChanges",
    ["ApprovalRequired=True"],
    "Earlier Applies of this declaration were not followed by a read without changes, so the next plan waits for a person.",
    "approver",
    "kubectl ptah plan NAME shows what keeps coming back; approve it, or correct the declaration.",
  ),
  r("NotRequired", ["ApprovalRequired=False"], "Policy asks for no separate approval.", "nobody", NOTHING),
  r("Satisfied", ["ApprovalRequired=False"], "The approval passed its final check.", "nobody", NOTHING),
  r("ApplyPending", ["Ready=False", "Progressing=True"], "The plan is allowed and about to be applied."),
  r(
    "ApplyDisabled",
    ["ApprovalRequired=False", "Ready=False", "Progressing=False"],
    "spec.policy.apply is Never: plans are recorded and none is applied. A schema's phase is Blocked then and a migration's Planning; nothing is wrong, so Stalled is not set.",
    "author",
    "Set spec.policy.apply to OnApproval to let a plan run.",
  ),
  r(
    "DestructiveChangesDisabled",
    ["ApprovalRequired=False"],
    "The plan may lose data and spec.policy.allowDestructive is false.",
    "author",
    "kubectl ptah plan NAME marks the statements; change the declaration, or set spec.policy.allowDestructive.",
  ),
  r(
    "PolicyBlocked",
    ["Ready=False", "Stalled=True"],
    "Policy refuses the plan because it may lose data.",
    "author",
    "kubectl ptah plan NAME marks the statements; change the declaration, or set spec.policy.allowDestructive.",
  ),
  r(
    "ProtectedTable",
    ["PlanReady=False", "InSync=False", "DriftDetected=Unknown", "Ready=False", "Stalled=True"],
    "The change would touch a table of spec.policy.protectedTables. No plan is published.",
    "author",
    "Change the declaration so that the table stays as it is, or take it off spec.policy.protectedTables.",
  ),
  r(
    "PlanRefused",
    ["PlanReady=False", ...STALE, "Ready=False", "Stalled=True"],
    "The executor refuses to plan: the declaration or the database holds something it does not manage, or the change cannot be made.",
    "author",
    "Change the file, line or object the message names (spec.policy.exclude is for what the database holds and nobody declares); kubectl ptah explain CODE tells more of the code in it.",
  ),
  r(
    "PlanTooLarge",
    ["PlanReady=False", "InSync=False", "DriftDetected=Unknown", "Ready=False", "Stalled=True", "Blocked=True"],
    "The plan is larger than a plan may be: 8 MiB of statements, or 256 migrations.",
    "author",
    "Declare the change in smaller steps.",
    {
      who: "author",
      next: "Publish at most 256 versions above the applied ones at a time, or start the database from a checkpoint.",
    },
  ),
  r("Stale", ["PlanReady=False"], "The plan went stale before it ran; the database is read again."),
  r("StalePlan", ["Ready=False", "Progressing=True"], "The plan went stale before it ran; a new one follows."),
  r(
    "ApprovalRevoked",
    ["ApprovalRequired=True", "PlanReady=False", "Ready=False"],
    "The approval became invalid before anything was started.",
    "approver",
    APPROVE,
  ),
];

const APPLY_REASONS = [
  r("ApprovedPlan", ["Applying=True"], "The approved plan is being applied."),
  r("AutomaticPlan", ["Applying=True"], "A plan that policy allows without an approval is being applied."),
  r("JobCompleted", ["Applying=False"], "The Apply ended; a fresh read follows."),
  r(
    "VerifyingConvergence",
    ["InSync=Unknown", "Ready=False", "Reconciling=True"],
    "The Apply ended; a fresh read has to prove what it did.",
  ),
  r(
    "ApplyOutcomeUnknown",
    ["ReconciliationFailed=True", "Applying=False"],
    "The Apply ended without proof either way. It is never run again; a fresh read says what the database holds.",
    "author",
    `Correct the rows or the declaration that the message speaks of before the new plan is approved: ${APPROVE}`,
  ),
  r(
    "OutcomeUnknown",
    ["Applying=False", "Ready=False", "Blocked=True", "Stalled=True"],
    "Whether the Apply changed the database, or how far it got, is not known; no other starts before that is settled.",
    "nobody",
    WAIT,
    ACKNOWLEDGE,
  ),
  r("ProofInputsChanged", ["InSync=Unknown"], "The read that proves the Apply starts again."),
  r(
    "TargetIdentityChanged",
    ["Ready=False", "Stalled=True", ...STALE],
    "The read that should prove the last Apply reached another database than the Apply did.",
    "database administrator",
    `Point the Secret at the first database again, or end the wait with kubectl ptah settle NAME (${PATCHES}).`,
    {
      who: "database administrator",
      next: "Point the Secret at the first database again, or end the wait with kubectl ptah acknowledge NAME.",
    },
  ),
  r(
    "RecordRestored",
    ["Ready=False", "InSync=Unknown", "Blocked=True", "Stalled=True"],
    "The status was lost and the record of an unsettled Apply was put back from metadata.",
    "database administrator",
    `A fresh read settles it; where that cannot be, kubectl ptah settle NAME (${PATCHES}).`,
    ACKNOWLEDGE,
  ),
  r("Active", ["Suspended=False"], "The resource is active.", "nobody", NOTHING),
  r("Requested", ["Suspended=True"], "spec.suspend asks for it.", "author", RESUME),
  r(
    "Suspended",
    ["Ready=False", "Progressing=False"],
    "No new operation starts while spec.suspend is true.",
    "author",
    RESUME,
  ),
];

const APPROVAL_REASONS = [
  r("CurrentPlan", ["Accepted=True", "Stale=False"], "The approval is for the plan that stands.", "nobody", NOTHING),
  r(
    "PlanNoLongerCurrent",
    ["Accepted=False", "Stale=True"],
    "The approved plan no longer matches what is declared and what the database holds.",
    "approver",
    "If a new plan waits: kubectl ptah approve NAME.",
  ),
  r(
    "SupersededApproval",
    ["Accepted=False", "Stale=True"],
    "Another approval of the same plan was used.",
    "nobody",
    NOTHING,
  ),
  r("DispatchCommitted", ["Consumed=True"], "One dispatch spent the approval.", "nobody", LOOK),
];

const ALL = [
  ...SOURCE_REASONS,
  ...SUPPORT_REASONS,
  ...READ_REASONS,
  ...PLAN_REASONS,
  ...APPLY_REASONS,
  ...APPROVAL_REASONS,
  ...MIGRATION_REASONS,
];

/** A word of the closed table. */
export type ReasonName = (typeof ALL)[number]["reason"];

/** Every condition reason, sorted. */
export const REASONS: readonly Reason[] = ALL.sort((a, b) => a.reason.localeCompare(b.reason, "en"));

/** The entries a word names, whatever its case: a condition reason, an Event reason, or both. */
export function explainReason(word: string): { readonly reason?: Reason; readonly event?: EventReason } {
  const same = (entry: { readonly reason: string }) => entry.reason.toLowerCase() === word.toLowerCase();
  return { reason: REASONS.find(same), event: EVENT_REASONS.find(same) };
}
