/** Durable positions and obligations of the lifecycle, shared by both families. */
import * as v from "valibot";
import {
  ApprovalIdentity,
  ConfigMapKeySelector,
  Digest,
  DriftSeverity,
  Epoch,
  ImmutableObjectReference,
  Instant,
  SecretKeySelector,
} from "../common.ts";
import { duration } from "../duration.ts";
import { int, kube, opt, req, set, text } from "../meta.ts";
import {
  AdmissionSnapshot,
  ExecutionBinding,
  JobIdentity,
  LeaseHolding,
  ManagerRecord,
  Pods,
  SourceBinding,
  TargetBinding,
} from "./binding.ts";
import { AcceptedApproval, MigrationSequence, PlanReference } from "./plan.ts";

/** The policy a reading is made under, kept with a record so that its proof reads what the Apply was judged by. */
export const ObservationPolicy = v.object({
  exclude: opt("Objects outside the managed scope.", set(text(1, 256), 128)),
  protectedTables: opt("Tables a plan may not touch.", set(text(1, 256), 128)),
  severity: opt("Which drift is reported.", DriftSeverity),
  dev: opt("Secret key with the URL of the comparison database.", SecretKeySelector),
  caFrom: opt("ConfigMap key with the CA bundle of the connection.", ConfigMapKeySelector),
  connectTimeout: opt("How long a connection may take.", duration("1ms", "24h")),
  lockTimeout: opt("How long a lock may take.", duration("1ms", "24h")),
});
export type ObservationPolicy = v.InferOutput<typeof ObservationPolicy>;

/**
 * What a claim, a record and the mirror say alike about one attempt; the one predicate "may still write" reads nothing
 * else of them.
 */
export const attemptFields = {
  jobName: req("Deterministic name of the attempt's Job.", text(1, 253)),
  jobUID: opt("UID of the Job, once it was read back and compared.", text(1, 128)),
  pods: opt("Pods of the attempt that were seen, at most eight.", Pods),
  podCount: opt("How many Pods of the attempt were ever seen.", int(0)),
  executionNotAfter: opt("Instant after which the executor may not run.", Instant),
  terminationGracePeriodSeconds: opt("Seconds between the deadline's signal and the kill.", int(1, 300)),
} as const;

/** The operation under way: the serialisation point of one resource. Both families; fields of an Apply are absent for a read. */
export const Claim = v.object({
  type: req("Which operation.", v.picklist(["Resolve", "Verify", "Observe", "Plan", "History", "Apply"])),
  id: req("Operation id: digest of the inputs and a random nonce.", Digest),
  inputFingerprint: req("Fingerprint of the inputs the operation was decided from.", Digest),
  startedAt: req("When the claim was written.", Instant),
  attempt: req("Which attempt of this claim.", int(1)),
  generation: req("Generation of the resource the claim was decided from.", int(0)),
  executionBindingID: req("Epoch of the execution binding the claim runs under.", Epoch),
  ...attemptFields,
  source: opt("Source content the operation reads.", SourceBinding),
  target: opt("Database the operation reads or changes.", TargetBinding),
  coordinationDigest: opt("Digest of the database realm.", Digest),
  targetIdentityDigest: opt("Database the plan was computed against; a Plan holds what its Observe read.", Digest),
  serverMajor: opt("Major version the claim counts on; an Observe without one only learns the version.", int(1)),
  observation: opt("Policy the reading is made under.", ObservationPolicy),
  transactionMode: opt("How an Apply groups its statements.", text(1, 16)),
  policyFingerprint: opt("Fingerprint of the policy the operation is judged by.", Digest),
  plan: opt("Plan an Apply carries out.", PlanReference),
  planContentDigest: opt("Digest of what that plan runs; for a migration its sequence digest.", Digest),
  historyFingerprint: opt("Migration: the history that the sequence of an Apply continues.", Digest),
  expectedSequence: opt("Migration: the versions an Apply runs, in order, and nothing else.", MigrationSequence),
  approval: opt("Approval an Apply spends.", AcceptedApproval),
  planSerial: opt("Number reserved for what a reading may publish.", int(1)),
  proves: opt("Operation id of the record this reading serves.", Digest),
  leaseEpoch: opt("Epoch of the Lease the claim holds.", Epoch),
  leaseDurationSeconds: opt("Duration the Lease is renewed at.", int(5, 86_460)),
  leaseHolder: opt("Holder identity in the Lease; a record's reading uses the record's.", text(1, 128)),
  leaseContinuityLost: opt("True once the Lease was not held without a gap; such a result is never used.", v.boolean()),
  dispatchNotAfter: opt("Instant after which an Apply's Pod may not be started.", Instant),
  admissionSnapshot: opt("What the Pod is admitted under.", AdmissionSnapshot),
  admissionSnapshotRefreshed: opt("True once the snapshot was resolved a second time.", v.boolean()),
  dispatchStarted: opt("True once the one create may have been sent; never cleared for an Apply.", v.boolean()),
  dispatchedAt: opt("When the create of this attempt's Job was sent.", Instant),
  activeDeadlineSeconds: opt("Deadline the Job was claimed with.", int(1)),
});
export type Claim = v.InferOutput<typeof Claim>;

/**
 * A dispatched Apply nobody has accounted for by a reading: `pendingObservation` of a schema, `unresolvedRun` of a
 * migration. Written in the patch that clears the claim, cleared only by a reading or a named person.
 */
export const ApplyRecord = v.object({
  outcome: req(
    "What the attempt's own account came to.",
    v.picklist(["ApplySucceeded", "OutcomeUnknown", "Partial", "Unknown"]),
  ),
  operationID: req("Operation id of the Apply.", Digest),
  generation: req("Generation of the resource the Apply was claimed from.", int(0)),
  job: req("The Apply's Job.", JobIdentity),
  pods: opt("Pods of the attempt that were seen, at most eight.", Pods),
  podCount: opt("How many Pods of the attempt were ever seen.", int(0)),
  plan: opt("The plan it carried out.", PlanReference),
  planBindings: opt(
    "What that plan bound.",
    v.object({
      serial: req("Number of the plan.", int(1)),
      contentDigest: req("Digest of what the plan runs.", Digest),
      desiredStateFingerprint: opt("Schema: desired state the plan leads to.", Digest),
      historyFingerprint: opt("Migration: the history the plan continues.", Digest),
      policyFingerprint: req("Policy the plan was computed under.", Digest),
    }),
  ),
  approval: opt("The approval it spent.", AcceptedApproval),
  source: opt("Source content the plan was computed from; absent when put back from metadata.", SourceBinding),
  target: opt("Database the Apply was bound to; absent when put back from metadata.", TargetBinding),
  coordinationDigest: req("Digest of the database realm.", Digest),
  targetIdentityDigest: opt("Database the plan was computed against; absent where nobody established it.", Digest),
  observation: opt("Policy the proof reads under.", ObservationPolicy),
  binding: opt("Execution binding the Apply ran under.", ExecutionBinding),
  dispatchedBy: opt("Manager that dispatched it.", ManagerRecord),
  admissionSnapshot: opt("What the Apply's Pod was admitted under.", AdmissionSnapshot),
  lease: opt("Lease held until the proof is settled; absent once it changed hands.", LeaseHolding),
  leaseDurationSeconds: req("Whole duration of the Apply's Lease.", int(5, 86_460)),
  executionNotAfter: opt("Instant after which the executor may not run.", Instant),
  terminationGracePeriodSeconds: opt("Seconds between the deadline's signal and the kill.", int(1, 300)),
  identityUncertain: opt("True where create, Job or Pod identity is uncertain.", v.boolean()),
  next: opt(
    "The reading this record waits for; its instant is retryNotBefore.",
    v.picklist(["Observe", "Plan", "History"]),
  ),
  recordedAt: req("When the record was written.", Instant),
  observeAfter: req("recordedAt and one whole Lease duration; nothing trusts an unseen Pod's end before it.", Instant),
  restored: opt("True when the record was put back from metadata: a hold, not a binding.", v.boolean()),
});
export type ApplyRecord = v.InferOutput<typeof ApplyRecord>;

/** A Lease that is owed back; kept until an idempotent release succeeded. */
export const LockRelease = v.object({
  coordinationDigest: req("Digest of the database realm.", Digest),
  operationID: req("Operation that held the Lease.", text(1, 256)),
  holder: req("Holder identity to clear; another holder counts as released.", text(1, 128)),
  leaseEpoch: req("Epoch to clear; another epoch counts as released.", Epoch),
  leaseDurationSeconds: req("Duration the Lease was held at.", int(5, 86_460)),
});
export type LockRelease = v.InferOutput<typeof LockRelease>;

/** An execution binding that was retired and whose plan's approvals are not marked stale yet. */
export const BindingRetirement = v.object({
  retiredEpoch: req("Epoch of the retired binding.", Epoch),
  plan: opt("Plan that stood under it.", PlanReference),
});
export type BindingRetirement = v.InferOutput<typeof BindingRetirement>;

/** Where the readings of this resource stand. Kept at rest without `next`. */
export const Cycle = v.object({
  startedAt: req("When the cycle began.", Instant),
  generation: req("Generation the cycle began from.", int(0)),
  endedAt: opt("When it ended; the interval counts from here.", Instant),
  next: opt(
    "Reading that follows, where no claim has taken it yet.",
    v.picklist(["Resolve", "Verify", "Observe", "Plan", "History"]),
  ),
});
export type Cycle = v.InferOutput<typeof Cycle>;

/** How a record ended. */
export const ResolvedRun = v.pipe(
  v.object({
    operationID: req("Operation id of the Apply.", Digest),
    outcome: req("Outcome the record held.", text(1, 63)),
    resolution: req("What settled it.", v.picklist(["Reading", "Superseded", "Acknowledged", "Settled"])),
    by: opt("Person who settled it, as admission stamped it; required for Acknowledged and Settled.", ApprovalIdentity),
    acknowledgment: opt("The acknowledgment that settled it.", ImmutableObjectReference),
    resolvedAt: req("When.", Instant),
  }),
  kube({
    rules: [
      {
        rule: "(self.resolution in ['Acknowledged', 'Settled']) == has(self.by)",
        message: "by is required for what a person resolved and only allowed there",
      },
      {
        rule: "(self.resolution == 'Acknowledged') == has(self.acknowledgment)",
        message: "acknowledgment is required with Acknowledged and only allowed there",
      },
    ],
  }),
);
export type ResolvedRun = v.InferOutput<typeof ResolvedRun>;

/** Applies since the last reading without changes; holds back a loop of DDL under apply: Always. */
export const Unproven = v.object({
  applies: req("Applies since the last reading that found no changes.", int(1)),
  contentDigest: opt("What the plan of the last of them ran.", Digest),
  desiredStateFingerprint: opt("Desired state they led to.", Digest),
});
export type Unproven = v.InferOutput<typeof Unproven>;
