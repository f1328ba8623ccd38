import * as v from "valibot";
import { REVISIONS_MAX } from "../crds/status/migration.ts";
import { MIGRATION_DESCRIPTION_MAX } from "../crds/status/plan.ts";
import { MIGRATION_KEY_LENGTH_MAX, MIGRATIONS_MAX } from "./limits.ts";

/**
 * What a migration operation states in its frame: the history it read, or the run it made (reference, runner contract 6.5;
 * revisions and the failed statement are ours). Both are refused whole when they contradict themselves.
 */

const Version = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Key = v.pipe(v.string(), v.minLength(1), v.maxLength(MIGRATION_KEY_LENGTH_MAX));
const Description = v.pipe(v.string(), v.maxLength(MIGRATION_DESCRIPTION_MAX));
const Versions = v.pipe(v.array(Version), v.maxLength(MIGRATIONS_MAX));

/** RFC 3339, UTC. */
export const UTC_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/;

/** What a version of the directory is to the database. */
export const MIGRATION_STATES = [
  "applied",
  "modified",
  "dirty",
  "pending",
  "out-of-order",
  "checkpoint-covered",
] as const;
export type MigrationState = (typeof MIGRATION_STATES)[number];

const MigrationRecord = v.strictObject({
  version: Version,
  versionKey: v.optional(Key),
  description: v.optional(Description),
  /** Of the directory's file. */
  checksum: v.optional(Key),
  /** Of the row the database holds. */
  appliedChecksum: v.optional(Key),
  checkpoint: v.optional(v.boolean()),
  transactionMode: v.optional(v.picklist(["file", "none"])),
  state: v.picklist(MIGRATION_STATES),
});
export type MigrationRecord = Readonly<v.InferOutput<typeof MigrationRecord>>;

/** One row of the revision table, as it stands there. */
const MigrationRevision = v.strictObject({
  version: Version,
  description: v.optional(Description),
  /** The row's own word: `applied`, `pending`, `failed`, or one of those with `:down`. */
  state: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  appliedAt: v.optional(v.pipe(v.string(), v.regex(UTC_INSTANT))),
  /** Statements that took effect, and how many the file has. */
  applied: Count,
  total: Count,
  checksum: v.optional(Key),
  executionMillis: v.optional(Count),
});
export type MigrationRevision = Readonly<v.InferOutput<typeof MigrationRevision>>;

export const MigrationHistory = v.strictObject({
  contractVersion: v.literal(1),
  /** Highest applied version; 0 where nothing is. */
  currentVersion: Count,
  /** The checkpoint the database was bootstrapped from, also long after. */
  checkpointVersion: v.optional(Version),
  /** Versions of the directory. */
  totalMigrations: v.pipe(Count, v.maxValue(MIGRATIONS_MAX)),
  hasPendingChanges: v.boolean(),
  /** The executor's own selection in its own order. */
  pendingMigrations: Versions,
  migrations: v.pipe(v.array(MigrationRecord), v.maxLength(MIGRATIONS_MAX)),
  dirtyRevision: v.optional(v.strictObject({ version: Version, applied: Count, total: Count })),
  /** Recorded versions that the directory does not hold, as far as they are named: the database is ahead of it. */
  unknownVersions: v.optional(v.pipe(v.array(Version), v.minLength(1), v.maxLength(REVISIONS_MAX))),
  /** The newest rows of the revision table, the newest first. */
  revisions: v.optional(v.pipe(v.array(MigrationRevision), v.maxLength(REVISIONS_MAX))),
});
export type MigrationHistory = Readonly<v.InferOutput<typeof MigrationHistory>>;

export const RUN_OUTCOMES = ["up-to-date", "applied", "dry-run", "failed", "partial", "unknown"] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

export const MigrationRun = v.strictObject({
  contractVersion: v.literal(1),
  outcome: v.picklist(RUN_OUTCOMES),
  /** What the run selected, in its order; empty where it stopped before it selected anything. */
  planned: Versions,
  /** Those of `planned` that are committed. */
  applied: Versions,
  /** Where a statement reached the database and failed there. */
  failure: v.optional(
    v.strictObject({
      version: Version,
      /** Its position in the file, from 1. */
      statement: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
      sqlState: v.optional(v.pipe(v.string(), v.regex(/^[0-9A-Z]{5}$/))),
      mysqlErrno: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535))),
    }),
  ),
});
export type MigrationRun = Readonly<v.InferOutput<typeof MigrationRun>>;

/** Whether a run of this outcome may have changed the database. */
export const outcomeMutates = (outcome: RunOutcome): boolean => outcome !== "up-to-date" && outcome !== "dry-run";

/** Whether a run of this outcome leaves open what it changed. */
export const outcomeIsUncertain = (outcome: RunOutcome): boolean => outcome === "partial" || outcome === "unknown";

/** What is wrong between the fields of a history (a sentence), or undefined. */
export function historyProblem(history: MigrationHistory): string | undefined {
  const known = new Map(history.migrations.map((record) => [record.version, record.state]));
  if (known.size !== history.migrations.length) return "a history that records a version twice";
  if (history.migrations.length > history.totalMigrations) return "a history with more records than migrations";
  const pending = new Set(history.pendingMigrations);
  if (pending.size !== history.pendingMigrations.length) return "a history in which a version is pending twice";
  if (pending.size > history.totalMigrations) return "a history with more pending versions than migrations";
  for (const version of pending) {
    if (!["pending", "out-of-order", "dirty"].includes(known.get(version) ?? "")) {
      return "a history in which a version is pending and is not recorded so";
    }
  }
  if (history.hasPendingChanges !== pending.size > 0) return "a history that contradicts its pending versions";
  if ((history.unknownVersions ?? []).some((version) => known.has(version))) {
    return "a history that holds a version and calls it unknown";
  }
  const revisions = new Set((history.revisions ?? []).map((revision) => revision.version));
  if (revisions.size !== (history.revisions ?? []).length) return "a history that lists a revision twice";
  return undefined;
}

/** What is wrong between the fields of a run (a sentence), or undefined. */
export function runProblem(run: MigrationRun): string | undefined {
  const planned = new Set(run.planned);
  const applied = new Set(run.applied);
  if (planned.size !== run.planned.length || applied.size !== run.applied.length)
    return "a run that names a version twice";
  if (run.applied.some((version) => !planned.has(version))) return "a run that applied what it had not planned";
  if (!outcomeMutates(run.outcome) && applied.size > 0) return "a run that changed nothing and applied a version";
  if (run.outcome === "up-to-date" && planned.size > 0) return "a run with nothing to do that planned a version";
  if (run.outcome === "applied" && (planned.size === 0 || applied.size !== planned.size)) {
    return "an applied run that did not apply what it planned";
  }
  if (run.failure !== undefined && (run.outcome === "applied" || !outcomeMutates(run.outcome))) {
    return "a run that names a failed statement and did not fail";
  }
  if (run.failure !== undefined && !planned.has(run.failure.version)) {
    return "a run that failed in a version it had not planned";
  }
  return undefined;
}
