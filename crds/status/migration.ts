/** Status of a PtahMigration. */
import * as v from "valibot";
import { Condition, Digest, Instant } from "../common.ts";
import { atomic, int, keyed, kube, opt, pattern, req, text } from "../meta.ts";
import { ExecutionBinding, JobIdentity, ManagerRecord, SourceBinding, TargetBinding } from "./binding.ts";
import { familyStatusFields, ResolvedSource } from "./family.ts";
import { ApplyRecord } from "./lifecycle.ts";
import {
  AcceptedApproval,
  CurrentMigrationPlan,
  MIGRATION_DESCRIPTION_MAX,
  PlanReference,
  SEQUENCE_MAX,
} from "./plan.ts";

export const MIGRATION_PHASES = [
  "Pending",
  "Resolving",
  "Verifying",
  "Reading",
  "Planning",
  "AwaitingApproval",
  "Blocked",
  "Applying",
  "VerifyingHistory",
  "InSync",
  "Suspended",
  "Failed",
] as const;
export type MigrationPhase = (typeof MIGRATION_PHASES)[number];

/** How many of the newest revision rows status keeps. */
export const REVISIONS_MAX = 32;
/** How many versions of one kind of trouble status names; the history fingerprint covers all of them. */
export const NAMED_VERSIONS_MAX = 64;

const versions = (maxItems: number) =>
  v.pipe(v.array(int(1)), v.maxLength(maxItems), kube<number[]>({ listType: "set" }));

/** One row of the database's revision table. Never its error text or statement: they hold SQL. */
export const MigrationRevision = v.object({
  version: req("Version of the migration.", int(1)),
  description: opt("Description, as the row holds it.", v.pipe(v.string(), v.maxLength(MIGRATION_DESCRIPTION_MAX))),
  state: req("State, as the row holds it: applied, pending or failed.", v.pipe(v.string(), v.maxLength(64))),
  applied: opt("How many of its statements are recorded as done.", int(0)),
  total: opt("How many statements it has.", int(0)),
  checksum: opt("Checksum, as the row holds it.", v.pipe(v.string(), v.maxLength(128))),
  appliedAt: opt("When, by the database's clock.", Instant),
  executionMillis: opt("How long it ran, in milliseconds; absent where the table does not say.", int(0)),
});
export type MigrationRevision = v.InferOutput<typeof MigrationRevision>;

/** The history as last read, and everything its verdict is made of. */
export const MigrationHistory = v.object({
  observedAt: req("When it was read.", Instant),
  contractVersion: req("Contract of the executor's report.", int(1)),
  currentVersion: req("Highest version the database has recorded as applied; 0 before the first.", int(0)),
  checkpointVersion: opt("Checkpoint the database was started from.", int(0)),
  sourceVersion: opt("Highest version the source holds; below currentVersion the database is ahead of it.", int(0)),
  totalCount: opt("How many versions the source holds.", int(0)),
  appliedCount: req("How many versions the database has recorded as applied.", int(0)),
  pendingCount: req("How many versions are pending, as the executor selects them.", int(0)),
  fingerprint: req("Fingerprint of the history; a plan is bound to it.", Digest),
  coordinationDigest: opt("Digest of the database realm it was read under.", Digest),
  targetIdentityDigest: req("Database that was read, as the runner computed it.", Digest),
  dirty: opt("True when a failed or interrupted migration left its row behind.", v.boolean()),
  dirtyRevision: opt(
    "That row.",
    v.object({
      version: req("Version of the migration.", int(1)),
      applied: req("How many of its statements are recorded as done.", int(0)),
      total: req("How many statements it has.", int(0)),
    }),
  ),
  modifiedVersions: opt("Applied versions whose file is another one now.", versions(NAMED_VERSIONS_MAX)),
  outOfOrderVersions: opt("Pending versions below one that is applied.", versions(NAMED_VERSIONS_MAX)),
  aheadVersions: opt("Recorded versions that the source does not hold.", versions(NAMED_VERSIONS_MAX)),
  revisions: opt(
    "The newest rows of the revision table, newest first.",
    keyed(MigrationRevision, "version", REVISIONS_MAX),
  ),
});
export type MigrationHistory = v.InferOutput<typeof MigrationHistory>;

export const RUN_OUTCOMES = ["UpToDate", "Applied", "Failed", "Partial", "Unknown"] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** Where a run stopped, when a statement reached the database and failed there. No text: it would hold SQL or rows. */
export const RunFailure = v.object({
  version: req("Version of the migration that stopped.", int(1)),
  statement: req("Position of the statement in its file, from 1.", int(1)),
  sqlState: opt("SQLSTATE the database answered with.", pattern(/^[0-9A-Z]{5}$/, 5)),
  mysqlErrno: opt("MySQL error number the database answered with.", int(1)),
});
export type RunFailure = v.InferOutput<typeof RunFailure>;

/** The first reading, after a run, of the database that the run named. */
export const RunVerification = v.object({
  outcome: req("What it found.", v.picklist(["InSync", "Pending", "Blocked"])),
  reason: opt("Condition reason of its verdict.", text(1, 128)),
  historyFingerprint: req("Fingerprint of the history it read.", Digest),
  observedAt: req("When it was read.", Instant),
});
export type RunVerification = v.InferOutput<typeof RunVerification>;

/** The last Apply that ended, copied from its claim: Job, plan and approval need not exist any more for it to be true. */
export const MigrationRun = v.object({
  outcome: req("How it ended.", v.picklist(RUN_OUTCOMES)),
  operationID: req("Operation id of the Apply.", Digest),
  plan: opt("The plan it carried out.", PlanReference),
  approval: opt("The approval it spent, and who gave it.", AcceptedApproval),
  authorization: opt("Whether a person's approval or the policy let it run.", v.picklist(["Approval", "Policy"])),
  job: opt("Its Job.", JobIdentity),
  source: opt("Source content it ran.", SourceBinding),
  target: opt("Connection it was bound to.", TargetBinding),
  targetIdentityDigest: opt("Database that the run's own result named; absent where it left none.", Digest),
  binding: opt("Execution binding it ran under.", ExecutionBinding),
  dispatchedBy: opt("Manager that dispatched it; a record for audit.", ManagerRecord),
  startedAt: req("When its Job was started.", Instant),
  finishedAt: opt("When it ended.", Instant),
  appliedVersions: opt("Versions it applied, in order.", atomic(int(1), SEQUENCE_MAX)),
  failure: opt("Where it stopped, when a statement failed in the database.", RunFailure),
  message: opt("How it ended, without SQL and without the database's text.", v.pipe(v.string(), v.maxLength(1024))),
  verification: opt("The first reading after it of the database it named.", RunVerification),
});
export type MigrationRun = v.InferOutput<typeof MigrationRun>;

export const MigrationStatus = v.object({
  phase: opt("Where the resource is, for people; no decision reads it.", v.picklist(MIGRATION_PHASES)),
  ...familyStatusFields,
  artifact: opt("The source as last resolved.", ResolvedSource),
  history: opt("The history as last read.", MigrationHistory),
  plan: opt("The plan that stands.", CurrentMigrationPlan),
  lastRun: opt("The last run that ended.", MigrationRun),
  unresolvedRun: opt("A dispatched Apply that ended partly or unknown and that nothing has settled yet.", ApplyRecord),
});
export type MigrationStatus = v.InferOutput<typeof MigrationStatus>;

/** Status of an acknowledgment. */
export const AcknowledgmentStatus = v.object({
  observedGeneration: opt("Generation of the acknowledgment this status was written for.", int(0)),
  conditions: opt("Consumed and Stale.", keyed(Condition, "type", 16)),
});
export type AcknowledgmentStatus = v.InferOutput<typeof AcknowledgmentStatus>;
