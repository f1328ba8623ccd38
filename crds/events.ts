/** The closed table of Event reasons. Events may be lost; conditions and status.journal are the record. */
import { ACKNOWLEDGE, APPROVE, EDIT, LOOK, REFRESH, WAIT } from "./reason.ts";

const MIGRATION_LOOK = "kubectl ptah migration NAME";

export type EventObject = "PtahSchema" | "PtahMigration" | "PtahSchemaApproval" | "PtahMigrationApproval";

const BOTH = ["PtahSchema", "PtahMigration"] as const;
const SCHEMA = ["PtahSchema"] as const;
const MIGRATION = ["PtahMigration"] as const;

export interface EventReason {
  readonly reason: string;
  /** An Event of both types is Normal where the run succeeded. */
  readonly type: "Normal" | "Warning" | "Normal or Warning";
  readonly on: readonly EventObject[];
  readonly when: string;
  readonly next: string;
}

const e = <const Word extends string>(
  reason: Word,
  type: EventReason["type"],
  when: string,
  next: string = WAIT,
  on: EventReason["on"] = BOTH,
): EventReason & { readonly reason: Word } => ({ reason, type, on, when, next });

const ALL_EVENTS = [
  e("AdmissionSnapshotRefreshed", "Normal", "A claim that started nothing yet took up a new Pod envelope."),
  e(
    "ApplyOutcomeUnknown",
    "Warning",
    "An Apply ended without proof of what it did; a fresh read follows.",
    WAIT,
    SCHEMA,
  ),
  e("ApprovalAccepted", "Normal", "An approval was accepted.", LOOK),
  e("ApprovalRequired", "Normal", "A plan waits for a person.", APPROVE),
  e("ApprovalRevoked", "Warning", "An approval became invalid before anything was started.", APPROVE),
  e("ApprovalStale", "Warning", "An approval no longer matches the plan that stands.", APPROVE, [
    "PtahSchemaApproval",
    "PtahMigrationApproval",
  ]),
  e("ArtifactVerificationRefused", "Warning", "The verification policy refused the artifact.", EDIT),
  e("ExecutionBindingChanged", "Warning", "An execution component changed; plans of the old one are retired."),
  e("LeaseContinuityLost", "Warning", "The realm's Lease was not held without a gap; a result was dropped."),
  e("MigrationRunFinished", "Normal or Warning", "A run ended; the note says how.", MIGRATION_LOOK, MIGRATION),
  e("MigrationRunUncertain", "Warning", "What a run did is not known.", ACKNOWLEDGE.next, MIGRATION),
  e("OperationCompleted", "Normal", "An operation's result was accepted.", LOOK),
  e("OperationFailed", "Warning", "An operation failed.", LOOK),
  e("OperationRetried", "Warning", "A read is tried again; the note says which attempt.", MIGRATION_LOOK, MIGRATION),
  e("OperationStarted", "Normal", "An operation's Job was created."),
  e("PlanStale", "Warning", "A plan went stale before it ran."),
  e(
    "PodAdmissionRefused",
    "Warning",
    "The API server refuses an operation's Pod.",
    "kubectl events shows the refusal on the Job.",
  ),
  e("ProtectedTableRefused", "Warning", "The change would touch a protected table.", EDIT, SCHEMA),
  e("ReadRequested", "Normal", "A requested read is due now."),
  e("ReadRequestInvalid", "Warning", "The annotation read-requested-at holds no RFC 3339 instant.", REFRESH),
  e("ReadRestarted", "Normal", "A failed read gave way to reading the source again."),
  e("RecordRestored", "Warning", "The record of an unsettled Apply was put back from metadata.", LOOK, SCHEMA),
  e("ResultReadFailed", "Warning", "An operation's log could not be read; it is read again."),
  e("ResultReadTimedOut", "Warning", "Reading an operation's log took too long; it is read again."),
  e(
    "RunnerProtocolMismatch",
    "Warning",
    "The runner image speaks another protocol.",
    "Set --runner-image to the image of this manager.",
  ),
  e("Settled", "Normal", "A person settled the record of an Apply.", LOOK),
  e("TargetLockReleaseOwed", "Warning", "A Lease could not be given back; it is tried again."),
  e(
    "UnresolvedRunAcknowledged",
    "Normal",
    "A person's acknowledgment ended the hold of a run.",
    MIGRATION_LOOK,
    MIGRATION,
  ),
  e(
    "UnresolvedRunRestored",
    "Warning",
    "The record of an unsettled run was put back from metadata.",
    ACKNOWLEDGE.next,
    MIGRATION,
  ),
  e("VerificationPolicyInvalidated", "Warning", "The verification policy stopped matching."),
];

/** An Event's word of the closed table. */
export type EventReasonName = (typeof ALL_EVENTS)[number]["reason"];

/** Every Event reason, sorted. Events may be lost; conditions and status.journal are the record. */
export const EVENT_REASONS: readonly EventReason[] = ALL_EVENTS;
