/** What a plan binds, the plan a resource's status names, and a plan object's own status. */
import * as v from "valibot";
import {
  ApprovalIdentity,
  Condition,
  Digest,
  Epoch,
  ImmutableObjectReference,
  Instant,
  PinnedImage,
  PrivilegeChange,
  Revision,
} from "../common.ts";
import { atomic, int, keyed, opt, req, set, text } from "../meta.ts";
import { SourceBinding } from "./binding.ts";

/** What the plans of both families bind; `status.plan` repeats it, the plan's fingerprint is computed over it. */
export const planBindings = {
  serial: req("Number of this publication; a retired or dispatched plan never returns under it.", int(1)),
  fingerprint: req("Fingerprint over everything the plan binds; an approval names it.", Digest),
  contentDigest: req(
    "Digest of what the plan runs: a schema plan's document bytes, a migration plan's sequence of versions.",
    Digest,
  ),
  source: req("Source content the plan was computed from.", SourceBinding),
  coordinationDigest: req("Digest of the database realm.", Digest),
  targetIdentityDigest: req("Digest of the connection's identity, as the runner computed it.", Digest),
  policyFingerprint: req("Fingerprint of the policy the plan was computed under.", Digest),
  executionBindingID: req("Epoch of the execution binding the plan was computed under.", Epoch),
  controllerImage: req("Image of the manager that published the plan; recorded, not bound.", PinnedImage),
  controllerRevision: req("Build revision of that manager; recorded, not bound.", Revision),
  controllerStateVersion: req("Version of the stored-state contract.", int(1)),
  ptahVersion: req("Version of the executor.", text(1, 128)),
  executorImage: req("Image of the executor.", text(1, 512)),
  runnerImage: req("Image the runner was taken from; recorded, not bound.", PinnedImage),
  runnerProtocolVersion: req("Version of the protocol between manager and runner.", int(1)),
} as const;

/** What a schema plan binds besides. */
export const schemaPlanBindings = {
  ...planBindings,
  serverMajor: req("Major version of the server the plan was computed against.", int(1)),
  actualStateFingerprint: req("Fingerprint of the database state the plan starts from.", Digest),
  desiredStateFingerprint: req("Fingerprint of the desired state the plan leads to.", Digest),
  destructive: req("Whether any statement may lose data.", v.boolean()),
  privilegeChanges: opt("Kinds of change to who may do what.", set(PrivilegeChange, 16)),
  statementCount: req("Number of statements.", int(1)),
} as const;

/** Most versions one migration plan, and one run, may hold. */
export const SEQUENCE_MAX = 256;

/** What a migration plan binds besides. Its contentDigest is the sequence digest. */
export const migrationPlanBindings = {
  ...planBindings,
  historyFingerprint: req("Fingerprint of the history the sequence continues.", Digest),
  currentVersion: req("Version the database is at; 0 before the first migration.", int(0)),
  stepCount: req("How many versions the sequence holds.", int(1, SEQUENCE_MAX)),
} as const;

/** Longest description of a migration; the executor reports none that is longer. */
export const MIGRATION_DESCRIPTION_MAX = 1024;

/** One version of an approved sequence: what its digest covers. Versions and checksums only, never SQL. */
export const SequenceStep = v.object({
  version: req("Version of the migration.", int(1)),
  versionKey: opt("Version as the file's name spells it, where that differs.", text(1, 128)),
  checksum: req("Checksum of the migration's file.", text(1, 128)),
  checkpoint: opt("True for a checkpoint, which stands for every version below it.", v.boolean()),
  transactionMode: opt("Transaction mode that the file itself asks for.", v.picklist(["file", "none"])),
});
export type SequenceStep = v.InferOutput<typeof SequenceStep>;

/** A sequence in the order it runs, as an Apply's claim and Job carry it; the order is content. */
export const MigrationSequence = v.pipe(atomic(SequenceStep, SEQUENCE_MAX), v.minLength(1));
export type MigrationSequence = v.InferOutput<typeof MigrationSequence>;

/** One version as the plan shows it to a person. */
export const MigrationStep = v.object({
  ...SequenceStep.entries,
  description: opt("Description, from the file's name.", v.pipe(v.string(), v.maxLength(MIGRATION_DESCRIPTION_MAX))),
});
export type MigrationStep = v.InferOutput<typeof MigrationStep>;

/** What an approval binding leaves on the plan it was accepted for. */
export const AcceptedApproval = v.object({
  name: req("Name of the approval.", text(1, 253)),
  uid: req("UID of the approval.", text(1, 128)),
  approver: req("Who approved, as admission stamped it.", ApprovalIdentity),
  approvedAt: req("When, as admission stamped it.", Instant),
});
export type AcceptedApproval = v.InferOutput<typeof AcceptedApproval>;

/** What status keeps about the plan it names, whatever the family. */
const standing = {
  createdAt: req("Creation time of the plan object.", Instant),
  approvalRequired: opt("Whether the plan asked for a person's approval when it was published.", v.boolean()),
  approval: opt("The approval an Apply of this plan spent.", AcceptedApproval),
  dispatched: opt("True once an Apply of this plan may have been started.", v.boolean()),
} as const;
const identity = {
  name: req("Name of the plan object.", text(1, 253)),
  uid: req("UID of the plan object.", text(1, 128)),
} as const;

/** The plan a PtahSchema's status names. */
export const CurrentSchemaPlan = v.object({ ...identity, ...schemaPlanBindings, ...standing });
export type CurrentSchemaPlan = v.InferOutput<typeof CurrentSchemaPlan>;

/** The plan a PtahMigration's status names. */
export const CurrentMigrationPlan = v.object({ ...identity, ...migrationPlanBindings, ...standing });
export type CurrentMigrationPlan = v.InferOutput<typeof CurrentMigrationPlan>;

/** What the two have in common; enough for every rule that does not ask what a plan is made of. */
const CurrentPlan = v.object({ ...identity, ...planBindings, ...standing });
export type CurrentPlan = v.InferOutput<typeof CurrentPlan>;

/** A plan by name, UID and fingerprint. */
export const PlanReference = v.object({
  ...ImmutableObjectReference.entries,
  fingerprint: req("Fingerprint of the plan.", Digest),
});
export type PlanReference = v.InferOutput<typeof PlanReference>;

/** Status of a PtahSchemaPlan. */
export const SchemaPlanStatus = v.object({
  observedGeneration: opt("Generation of the plan this status was written for.", int(0)),
  publishedChunks: opt(
    "The chunks that were read back, by UID.",
    keyed(
      v.object({
        name: req("Name of the chunk.", text(1, 253)),
        uid: req("UID of the chunk.", text(1, 128)),
        index: req("Position of the chunk.", int(0, 15)),
      }),
      "index",
      16,
    ),
  ),
  conditions: opt("Ready is True once every chunk was read back.", keyed(Condition, "type", 8)),
});
export type SchemaPlanStatus = v.InferOutput<typeof SchemaPlanStatus>;

/** Status of a PtahMigrationPlan. */
export const MigrationPlanStatus = v.object({
  observedGeneration: opt("Generation of the plan this status was written for.", int(0)),
  conditions: opt("Ready is True once the plan was read back.", keyed(Condition, "type", 16)),
});
export type MigrationPlanStatus = v.InferOutput<typeof MigrationPlanStatus>;
