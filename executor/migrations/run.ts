/** `migrations up`: what is pending is applied in order, under the lock, on one session. */
import type { Stop } from "../cancel.ts";
import { Refused } from "../contract.ts";
import { applyAll } from "./apply-all.ts";
import { applyFile } from "./apply-file.ts";
import type { MigrationDatabase } from "./database.ts";
import type { Cause, FileEnd, StatementFailure } from "./file-end.ts";
import type { Migration, MigrationDirectory, Statement, TransactionMode } from "./migration.ts";
import { refusedBy } from "./refuse.ts";
import { blocker, select } from "./select.ts";
import { type ExpectedSequence, sequenceDifference } from "./sequence.ts";
import { statementsOf } from "./statements.ts";
import { ensureTable, readTable } from "./store.ts";

export type RunMode = TransactionMode | "all";
export type RunOutcome = "up-to-date" | "applied" | "dry-run" | "failed" | "partial" | "unknown";

export interface UpInput {
  readonly database: MigrationDatabase;
  readonly directory: MigrationDirectory;
  readonly mode: RunMode;
  readonly expected: ExpectedSequence | undefined;
  readonly dryRun: boolean;
  readonly lockTimeoutMs: number;
  readonly stop: Stop;
}

/** A run as its report tells it. */
export interface RunResult {
  readonly outcome: RunOutcome;
  readonly planned: readonly number[];
  readonly applied: readonly number[];
  readonly error?: string;
  readonly failure?: StatementFailure;
  readonly cause?: Cause;
  /** Of `planned`, the versions whose file holds no statement: allowed, and worth a look. */
  readonly without_statements?: readonly number[];
}

/** One migration with its statements, checked for the mode it runs in. */
export interface Prepared {
  readonly migration: Migration;
  readonly statements: readonly Statement[];
  readonly mode: TransactionMode;
}

/**
 * Takes the lock, selects, compares with the approved sequence, prepares every file, and only then changes anything.
 * @throws Refused, Failure or Canceled while nothing was changed
 */
export async function up(input: UpInput): Promise<RunResult> {
  const { database, stop } = input;
  await database.lock(input.lockTimeoutMs);
  try {
    const table = await readTable(database);
    const selection = select(input.directory.migrations, table.rows);
    const blocked = blocker(selection);
    if (blocked !== undefined)
      throw new Refused(blocked.code, blocked.message, { objects: blocked.versions.map(String) });
    const planned = selection.pending.map((m) => m.version);
    const difference = input.expected === undefined ? undefined : sequenceDifference(input.expected, selection.pending);
    if (difference !== undefined) throw new Refused("sequence_mismatch", difference);
    if (planned.length === 0) return { outcome: "up-to-date", planned, applied: [] };
    const prepared = await Promise.all(selection.pending.map((m) => prepare(m, input)));
    stop.check();
    const empty = prepared
      .filter(({ statements }) => statements.length === 0)
      .map(({ migration }) => migration.version);
    const word = empty.length === 0 ? {} : { without_statements: empty };
    if (input.dryRun) return { outcome: "dry-run", planned, applied: [], ...word };
    await ensureTable(database, table);
    stop.check();
    const result =
      input.mode === "all" ? await applyAll(database, prepared, stop) : await inOrder(input, prepared, planned);
    return { ...result, ...word };
  } finally {
    await database.unlock();
  }
}

/** @throws Refused for a file that cannot be run in this mode */
export async function prepare(
  migration: Migration,
  { database, mode }: { readonly database: MigrationDatabase; readonly mode: RunMode },
): Promise<Prepared> {
  if (mode === "all" && migration.transactionMode === "none") {
    throw new Refused(
      "transaction_mode_conflict",
      `${migration.up.path} asks to run outside a transaction, which mode all cannot give; use mode file`,
    );
  }
  if (database.engine === "mysql" && migration.directives.statementTimeoutMs !== undefined) {
    throw new Refused(
      "migration_directive_unsupported",
      `${migration.up.path} has statement_timeout, which MySQL has for queries alone; remove it`,
    );
  }
  const own = mode === "none" ? "none" : migration.transactionMode;
  const result = await statementsOf(migration, { engine: database.engine, mode: own, sqlMode: database.sqlMode });
  if ("refusal" in result) throw refusedBy(result.refusal);
  return { migration, mode: own, statements: result.statements };
}

async function inOrder(
  { database, stop }: UpInput,
  prepared: readonly Prepared[],
  planned: readonly number[],
): Promise<RunResult> {
  const applied: number[] = [];
  for (const { migration, statements, mode } of prepared) {
    const halted = await mayGoOn(database, stop, applied);
    if (halted !== undefined) return { outcome: "failed", planned, applied, ...halted };
    const stopped = (): boolean => stop.signal.aborted;
    const end = await guarded(migration, () =>
      applyFile({ database, migration, statements, stopped, committed: 0 }, mode),
    );
    if (end.kind !== "applied") {
      return {
        outcome: end.kind,
        planned,
        applied,
        error: end.sentence,
        ...(end.failure === undefined ? {} : { failure: end.failure }),
        ...(end.cause === undefined ? {} : { cause: end.cause }),
      };
    }
    applied.push(migration.version);
  }
  return { outcome: "applied", planned, applied };
}

/** Before each migration: the session is as it was opened and still holds the lock. @returns why the run ends here */
async function mayGoOn(
  database: MigrationDatabase,
  stop: Stop,
  applied: readonly number[],
): Promise<Pick<RunResult, "error" | "cause"> | undefined> {
  const halt = (why: string): { readonly error: string } => ({ error: `${why}; what is left stays pending` });
  const before = applied.length === 0 ? "before anything was applied" : `after version ${applied.at(-1)}`;
  if (stop.signal.aborted) return halt(`the run was asked to stop ${before}`);
  try {
    await database.reset();
    if (await database.holdsLock()) return undefined;
    const why =
      applied.length === 0 ? "the URL may lead through a pooler; name the server itself" : "a file released it";
    return halt(`the session no longer held the migration lock ${before}; ${why}`);
  } catch (error) {
    if (error instanceof Refused) {
      return { ...halt(`${before}: ${error.message}`), cause: { code: "session_not_restored" } };
    }
    return halt(`the database session was lost ${before}`);
  }
}

/** What nobody foresaw, once a migration was begun, is never told as a failure that kept nothing. */
export async function guarded(migration: Migration, apply: () => Promise<FileEnd>): Promise<FileEnd> {
  try {
    return await apply();
  } catch {
    const sentence = `version ${migration.version} ended unexpectedly; look at the database before anything else`;
    return { kind: "unknown", sentence };
  }
}
