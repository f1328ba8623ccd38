import * as v from "valibot";
import {
  historyProblem,
  MIGRATION_STATES,
  MigrationHistory,
  MigrationRun,
  RUN_OUTCOMES,
  runProblem,
  UTC_INSTANT,
} from "../workload/migration.ts";
import { CONTRACT_VERSION, commonReport, readReport } from "./reports.ts";

/**
 * Reports of `migrations status` and `migrations up` (reference 6.5), turned into the documents of the frame. A document
 * that contradicts itself is none: it is judged here by the rules its reader holds it to.
 */

const integer = v.pipe(v.number(), v.safeInteger());
const text = v.optional(v.nullable(v.string()));
const versions = v.optional(v.nullable(v.array(integer)));

const Ending = v.object({
  ...commonReport,
  contract_version: v.literal(CONTRACT_VERSION),
  outcome: v.picklist(["refused", "failed", "canceled"]),
});
/** Why a reading gave no history. */
export type ReadingEnding = v.InferOutput<typeof Ending>;

const Status = v.object({
  ...commonReport,
  contract_version: v.literal(CONTRACT_VERSION),
  engine: v.optional(v.nullable(v.picklist(["postgresql", "mysql", "mariadb"]))),
  current_version: integer,
  checkpoint_version: v.optional(v.nullable(integer)),
  total_migrations: integer,
  has_pending_changes: v.boolean(),
  pending_migrations: versions,
  migrations: v.optional(
    v.nullable(
      v.array(
        v.object({
          version: integer,
          version_key: text,
          description: text,
          checksum: text,
          applied_checksum: text,
          checkpoint: v.optional(v.nullable(v.boolean())),
          transaction_mode: v.optional(v.nullable(v.picklist(["", "file", "none"]))),
          state: v.picklist(MIGRATION_STATES),
        }),
      ),
    ),
  ),
  dirty_revision: v.optional(v.nullable(v.object({ version: integer, applied: integer, total: integer }))),
  unknown_versions: versions,
  revisions: v.optional(
    v.nullable(
      v.array(
        v.object({
          version: integer,
          description: text,
          state: v.string(),
          applied: integer,
          total: integer,
          checksum: text,
          applied_at: text,
          execution_millis: v.optional(v.nullable(integer)),
        }),
      ),
    ),
  ),
});
type Status = v.InferOutput<typeof Status>;

const Up = v.object({
  ...commonReport,
  contract_version: v.literal(CONTRACT_VERSION),
  direction: v.literal("up"),
  outcome: v.picklist(RUN_OUTCOMES),
  planned: versions,
  applied: versions,
  /** Where a statement failed in the database. */
  failure: v.optional(
    v.nullable(
      v.object({ version: integer, statement: integer, sqlState: text, mysqlErrno: v.optional(v.nullable(integer)) }),
    ),
  ),
  /** Why nothing was begun, where that may pass by itself. */
  cause: commonReport.failure,
});
export type UpReport = v.InferOutput<typeof Up>;

/** A reading that ended in a history, or said why not. */
export type StatusReport =
  | { readonly kind: "history"; readonly status: Status; readonly history: MigrationHistory }
  | { readonly kind: "ended"; readonly ending: ReadingEnding };

/** The report of a reading; undefined where the output is none, or its history contradicts itself. */
export function readStatusReport(stdout: Buffer): StatusReport | undefined {
  const ending = readReport(Ending, stdout);
  if (ending !== undefined) return { kind: "ended", ending };
  const status = readReport(Status, stdout);
  if (status === undefined) return undefined;
  const history = v.safeParse(MigrationHistory, historyOf(status));
  if (!history.success || historyProblem(history.output) !== undefined) return undefined;
  return { kind: "history", status, history: history.output };
}

/** The report of a run with its document; undefined where the output is none, or contradicts itself. */
export function readUpReport(stdout: Buffer): { readonly report: UpReport; readonly run: MigrationRun } | undefined {
  const report = readReport(Up, stdout);
  if (report === undefined) return undefined;
  const run = v.safeParse(MigrationRun, runOf(report));
  if (!run.success || runProblem(run.output) !== undefined) return undefined;
  return { report, run: run.output };
}

/** A member that says something: neither null nor the empty text that other implementations write for nothing. */
function given<K extends string, T>(key: K, value: T | null | undefined): { [P in K]?: T } {
  return (value === null || value === undefined || value === "" ? {} : { [key]: value }) as { [P in K]?: T };
}

function historyOf(status: Status): unknown {
  const unknownVersions = status.unknown_versions ?? [];
  return {
    contractVersion: status.contract_version,
    currentVersion: status.current_version,
    ...(status.checkpoint_version === 0 ? {} : given("checkpointVersion", status.checkpoint_version)),
    totalMigrations: status.total_migrations,
    hasPendingChanges: status.has_pending_changes,
    pendingMigrations: status.pending_migrations ?? [],
    migrations: (status.migrations ?? []).map((record) => ({
      version: record.version,
      ...given("versionKey", record.version_key),
      ...given("description", record.description),
      ...given("checksum", record.checksum),
      ...given("appliedChecksum", record.applied_checksum),
      ...(record.checkpoint === true ? { checkpoint: true } : {}),
      ...given("transactionMode", record.transaction_mode),
      state: record.state,
    })),
    ...given("dirtyRevision", status.dirty_revision),
    ...(unknownVersions.length === 0 ? {} : { unknownVersions }),
    ...given("revisions", status.revisions?.map(revisionOf)),
  };
}

/** A row is anybody's to edit: what only tells a person more is left out where it is nothing a person could read. */
const revisionOf = (row: NonNullable<Status["revisions"]>[number]): object => ({
  version: row.version,
  ...given("description", row.description),
  state: row.state,
  ...(UTC_INSTANT.test(row.applied_at ?? "") ? { appliedAt: row.applied_at } : {}),
  applied: row.applied,
  total: row.total,
  ...given("checksum", row.checksum),
  ...((row.execution_millis ?? -1) < 0 ? {} : { executionMillis: row.execution_millis }),
});

const runOf = (report: UpReport): unknown => ({
  contractVersion: report.contract_version,
  outcome: report.outcome,
  planned: report.planned ?? [],
  applied: report.applied ?? [],
  ...(report.failure === null || report.failure === undefined
    ? {}
    : {
        failure: {
          version: report.failure.version,
          statement: report.failure.statement,
          ...given("sqlState", report.failure.sqlState),
          ...given("mysqlErrno", report.failure.mysqlErrno),
        },
      }),
});
