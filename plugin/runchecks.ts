/** What is known of a run that nobody can account for, what is not, and where in the database to look. */
import { commandFor } from "../crds/commands.ts";
import { normalizeEngine } from "../crds/engine.ts";
import { PATCHES } from "../crds/reason.ts";
import type { MigrationRun } from "../crds/status/index.ts";
import type { Migration, Schema, UnsettledRecord } from "./families.ts";
import { appliedOf, dirtyOf, mayWriteUntil, stoppedAt } from "./runview.ts";
import { field, instant, visible, visibleLine } from "./text.ts";

/** The run's own account, where status still has it: a later run takes its place, a restore may lose it. */
function accountOf({ status }: Migration, record: UnsettledRecord): MigrationRun | undefined {
  return status?.lastRun?.operationID === record.operationID ? status.lastRun : undefined;
}

/** A schema's record, field by field. */
export function applyLines({ metadata }: Schema, record: UnsettledRecord, nowMs: number): string[] {
  return [
    ...field("Schema", `${metadata.namespace ?? ""}/${metadata.name}`),
    ...field("Operation", record.operationID),
    ...field("Outcome", record.outcome),
    ...field("Job", record.job.name),
    ...field("Plan", record.plan?.name),
    ...field("Database", record.targetIdentityDigest),
    ...field("Recorded", instant(record.recordedAt)),
    ...field("May write until", mayWriteUntil(record, nowMs)),
  ];
}

/** A migration's run as whoever ends its hold reads it, by `acknowledge` or by `settle`. */
export function runText(migration: Migration, record: UnsettledRecord, nowMs: number): string {
  const parts = [
    unresolvedLines(migration, record, nowMs),
    knownLines(migration, record, nowMs),
    checkLines(migration, record),
  ];
  return parts.map((lines) => lines.join("\n")).join("\n\n");
}

/** The run field by field. */
function unresolvedLines(migration: Migration, record: UnsettledRecord, nowMs: number): string[] {
  const run = accountOf(migration, record);
  const { metadata, spec } = migration;
  return [
    ...field("Migration", `${metadata.namespace ?? ""}/${metadata.name}`),
    ...field("Operation", record.operationID),
    ...field("Outcome", record.outcome),
    ...field("Plan", record.plan?.name),
    ...field("Approved by", record.approval && visible(record.approval.approver.username)),
    ...field("Job", record.job.name),
    ...field("Engine", spec.target.engine),
    ...field("Database", run?.targetIdentityDigest ?? record.targetIdentityDigest),
    ...field("Started", instant(run?.startedAt)),
    ...field("Recorded", instant(record.recordedAt)),
    ...field("May write until", mayWriteUntil(record, nowMs)),
    ...field("Message", run?.message === undefined ? undefined : visibleLine(run.message)),
  ];
}

function knownLines(migration: Migration, record: UnsettledRecord, nowMs: number): string[] {
  const open = unknown(migration, record, nowMs);
  return [
    "Known:",
    ...known(migration, record).map((line) => `  - ${line}`),
    ...(open.length === 0 ? [] : ["Not known:", ...open.map((line) => `  - ${line}`)]),
  ];
}

function known(migration: Migration, record: UnsettledRecord): string[] {
  const run = accountOf(migration, record);
  const { history } = migration.status ?? {};
  const dirty = dirtyOf(history);
  const after = history !== undefined && Date.parse(history.observedAt) >= Date.parse(record.recordedAt);
  return [
    ...(run?.appliedVersions === undefined ? [] : [`the run reported as applied: ${appliedOf(run)}`]),
    ...(run?.failure === undefined ? [] : [`it stopped at ${stoppedAt(run.failure)}`]),
    ...(after
      ? [
          `a read after it (${instant(history.observedAt)}) found version ${history.currentVersion} as the highest applied, ${history.pendingCount} pending${dirty === undefined ? "" : `, and dirty: ${dirty}`}`,
        ]
      : []),
    ...(record.job.terminal === true
      ? [record.job.uid === undefined ? "no Job of it is left" : "its Job has ended"]
      : []),
    ...(record.restored === true
      ? ["only identities: the record was put back from metadata after its status was lost"]
      : []),
    "it is never run again, whatever is decided here",
  ];
}

function unknown(migration: Migration, record: UnsettledRecord, nowMs: number): string[] {
  const run = accountOf(migration, record);
  const { history } = migration.status ?? {};
  const until = mayWriteUntil(record, nowMs);
  return [
    ...(run?.appliedVersions === undefined ? ["which versions it applied: it left no account of itself"] : []),
    ...unknownEffect(run),
    ...(history === undefined || Date.parse(history.observedAt) < Date.parse(record.recordedAt)
      ? ["what the revision table says: no read of it followed the run yet"]
      : []),
    ...(until === undefined
      ? []
      : [`whether its Pod still writes: it may until ${until}; the hold does not end before`]),
    ...(run?.targetIdentityDigest === undefined
      ? ["which database it opened: the one above is the planned one, somewhere to start looking"]
      : []),
  ];
}

/** Of a Partial run it is known which statements are kept: those before the one that the database refused. */
function unknownEffect(run: MigrationRun | undefined): string[] {
  if (run?.failure === undefined) return ["at which statement it stopped"];
  if (run.outcome === "Partial") return [];
  return [`whether statement ${run.failure.statement} of version ${run.failure.version} took effect`];
}

const TABLE = "SELECT version, state, applied, total, error, error_stmt FROM schema_migrations ORDER BY version;";

/** Where to look, by engine. Statements for a person to run; the plugin opens no database. */
function checkLines(migration: Migration, record: UnsettledRecord): string[] {
  const run = accountOf(migration, record);
  const where =
    run?.failure === undefined ? "the version behind the last applied one" : `version ${run.failure.version}`;
  const steps = normalizeEngine(migration.spec.target.engine) === "mysql" ? mysqlChecks(where) : postgresChecks(where);
  const byHand = "complete or undo by hand what is half done";
  // Of what is being deleted nothing is read on request any more, and nobody goes on with its history.
  const deleting = migration.metadata.deletionTimestamp !== undefined;
  const mend = [
    `${byHand}; then clear the row with ptah migrations repair or set (worked example: docs/migration-runs.md)`,
    `${commandFor("refresh", "migration", migration.metadata)} --wait (${PATCHES}) then settles the run by itself where nothing is left pending`,
  ];
  const lines = [...steps, ...(deleting ? [byHand] : mend)];
  return ["Look in the database before you answer:", ...lines.map((line, index) => `  ${index + 1}. ${line}`)];
}

const mysqlChecks = (where: string): string[] => [
  "SHOW FULL PROCESSLIST;  no session of the run may be at work any more",
  `${TABLE}  a row that is not 'applied' is of the version that stopped, and says where`,
  `compare the file of ${where} with SHOW CREATE TABLE and the data, statement by statement: MySQL and MariaDB commit each ` +
    "DDL statement at once, so one that failed, or whose answer was lost, may have taken effect, also in transaction mode file",
];

const postgresChecks = (where: string): string[] => [
  "SELECT pid, state, xact_start, left(query, 60) FROM pg_stat_activity WHERE datname = current_database();  no session of the run may be at work any more",
  `${TABLE}  a row that is not 'applied' is of the version that stopped, and says where`,
  `compare the file of ${where} with the database: in transaction mode file it is there with its row or not at all; in mode ` +
    "none every statement before the one it stopped at is committed, and that one may be",
];
