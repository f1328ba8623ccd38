/** Runs the statements of one migration and says what became of them. */
import type { MigrationDatabase, ServerAnswer } from "./database.ts";
import { causeOf, codes, endOf, errorText, type FileEnd, keptText, nothingSent, type Trouble } from "./file-end.ts";
import type { Migration, Statement, TransactionMode } from "./migration.ts";
import { INTERRUPTED, OUTCOME_UNKNOWN, partialChecksum, type RevisionEntry } from "./revisions.ts";
import { insertRow, readProgress, updateRow } from "./store.ts";

export interface FileRun {
  readonly database: MigrationDatabase;
  readonly migration: Migration;
  readonly statements: readonly Statement[];
  /** Whether a stop was asked for; looked at before each statement. */
  readonly stopped: () => boolean;
  /** Statements already committed by an earlier run, whose row exists; 0 for a migration that is begun. */
  readonly committed: number;
}

/** Where a run of a file stands, for the rows it writes. */
interface Progress {
  readonly run: FileRun;
  readonly startedMs: number;
  /** Where its rows go: into the transaction that they are about, or through a session that the file does not change. */
  readonly rows: MigrationDatabase;
}

/** Runs one migration in its mode, with its row before, during and after. */
export function applyFile(run: FileRun, mode: TransactionMode): Promise<FileEnd> {
  const { database } = run;
  const startedMs = performance.now();
  if (mode === "file") return inTransaction({ run, startedMs, rows: database });
  return oneByOne({ run, startedMs, rows: { ...database, ...database.apart } });
}

function entryOf({ run, startedMs }: Progress, over: Partial<RevisionEntry>): RevisionEntry {
  const { migration, statements } = run;
  return {
    version: migration.version,
    description: migration.description,
    state: "pending",
    applied: 0,
    total: statements.length,
    error: null,
    errorStatement: null,
    executionMs: performance.now() - startedMs,
    checksum: migration.checksum,
    ...over,
  };
}

const appliedEntry = (progress: Progress): RevisionEntry =>
  entryOf(progress, { state: "applied", applied: progress.run.statements.length });

function dirtyEntry(
  progress: Progress,
  state: "pending" | "failed",
  committed: number,
  error: string,
  failing?: Statement,
): RevisionEntry {
  const { statements, migration } = progress.run;
  return entryOf(progress, {
    state,
    applied: committed,
    error,
    errorStatement: (failing ?? statements[committed])?.text ?? null,
    checksum: committed === 0 ? migration.checksum : partialChecksum(statements, committed),
  });
}

const troubleOf = (database: MigrationDatabase, error: unknown, committed: number, statement?: Statement): Trouble => ({
  statement,
  answer: database.answerOf(error),
  stopped: false,
  committed,
});

const stoppedAfter = (committed: number): Trouble => ({
  statement: undefined,
  answer: undefined,
  stopped: true,
  committed,
});

/** One transaction around all statements and the row's last update; the row itself stands before it. */
async function inTransaction(progress: Progress): Promise<FileEnd> {
  const { database, migration, statements } = progress.run;
  const open = entryOf(progress, { error: INTERRUPTED, errorStatement: statements[0]?.text ?? null });
  try {
    await database.setTimeouts(migration.directives);
    await writeRow(database, open);
    await database.begin();
  } catch (error) {
    return nothingSent(progress.run, troubleOf(database, error, 0));
  }
  const trouble = await sendAll(progress);
  if (trouble !== undefined) return rollBack(progress, trouble);
  try {
    if (await database.commit()) return { kind: "applied" };
  } catch (error) {
    return commitRefused(progress, database.answerOf(error));
  }
  return commitRefused(progress, { sqlState: undefined, mysqlErrno: undefined, definite: true });
}

/** A row that is there is taken over: of an earlier try that committed nothing, or of this one. */
async function writeRow(database: MigrationDatabase, entry: RevisionEntry): Promise<void> {
  const there = await readProgress(database, entry.version);
  await (there === undefined ? insertRow(database, entry) : updateRow(database, entry));
}

async function sendAll(progress: Progress): Promise<Trouble | undefined> {
  const { run } = progress;
  const { database, statements } = run;
  let committed = 0;
  let sent: Statement | undefined;
  try {
    for (const [at, statement] of statements.entries()) {
      if (run.stopped()) return stoppedAfter(committed);
      // Written into the open transaction: a statement that commits by itself keeps it, a rollback takes it back.
      if (database.implicitCommits) await updateRow(database, dirtyEntry(progress, "pending", at, OUTCOME_UNKNOWN));
      sent = statement;
      const done = await database.execute(statement.text);
      sent = undefined;
      if (done.committed) committed = at + 1;
    }
    await database.regainUser();
    await updateRow(database, appliedEntry(progress));
    return undefined;
  } catch (error) {
    return troubleOf(database, error, committed, sent);
  }
}

/** After a failure inside the transaction: the rollback takes back what no statement committed by itself. */
async function rollBack(progress: Progress, trouble: Trouble): Promise<FileEnd> {
  const { database, migration } = progress.run;
  const { statement } = trouble;
  const implicit = statement !== undefined && database.commitsImplicitly(statement.text);
  let unknown = implicit && (await mayBeKept(database, trouble));
  let settled = trouble;
  try {
    if (!(await database.rollback())) unknown = true;
    await database.regainUser();
    const row = await readProgress(database, migration.version);
    if (row === undefined) unknown = true;
    else if (row.applied > trouble.committed) {
      // A statement that commits by itself may do so before it is refused; any other commit nobody here foresaw.
      if (implicit && row.applied === statement.number - 1) settled = { ...trouble, committed: row.applied };
      else unknown = true;
    } else if (row.applied < trouble.committed - 1) {
      // A transaction that ended without carrying the row was rolled back, whatever it looked like.
      settled = { ...trouble, committed: row.applied };
    }
    await recordFailure(progress, settled, unknown);
  } catch {
    // The session is gone, or the row could not be written and stays dirty as it was. No commit was asked for: the server rolls
    // back what was open, as far as its tables can. Where the session is there and its row is not, what was committed may be all.
    if (!database.rollsBackAll() || (trouble.committed > 0 && !database.lost())) unknown = true;
  }
  return endOf(progress.run, settled, unknown);
}

/** The commit was refused, or its answer never came. */
async function commitRefused(progress: Progress, answer: ServerAnswer | undefined): Promise<FileEnd> {
  const { database, migration } = progress.run;
  const what = `version ${migration.version}: all statements ran, but the commit`;
  const lost: FileEnd = {
    kind: "unknown",
    sentence: `${what} was not answered; read the history before anything else`,
  };
  if (answer === undefined || !answer.definite || database.lost()) return lost;
  try {
    await database.rollback();
    const kept = await readProgress(database, migration.version);
    if (kept === undefined || kept.state === "applied") return lost;
    const trouble = { statement: undefined, answer, stopped: false, committed: kept.applied };
    await recordFailure(progress, trouble, false);
    const kind = kept.applied === 0 ? "failed" : "partial";
    const sentence = `${what} was refused${codes(answer)}; ${keptText(kept.applied)}`;
    return { kind, sentence, ...causeOf("commit_refused", answer) };
  } catch {
    return lost;
  }
}

/** Each statement on its own; the row says before each that its outcome is unknown. */
async function oneByOne(progress: Progress): Promise<FileEnd> {
  const { run, rows } = progress;
  const { database, statements, migration } = run;
  let committed = run.committed;
  let sent: Statement | undefined;
  const atStatement = (): RevisionEntry => dirtyEntry(progress, "pending", committed, OUTCOME_UNKNOWN);
  try {
    await database.setTimeouts(migration.directives);
    await writeRow(rows, atStatement());
  } catch (error) {
    return nothingSent(progress.run, troubleOf(database, error, committed));
  }
  try {
    for (const statement of statements.slice(run.committed)) {
      if (run.stopped()) return await breakOff(progress, stoppedAfter(committed));
      if (committed > run.committed) await updateRow(rows, atStatement());
      sent = statement;
      await database.execute(statement.text);
      sent = undefined;
      committed++;
    }
    await database.regainUser();
    await updateRow(rows, appliedEntry(progress));
    return { kind: "applied" };
  } catch (error) {
    return breakOff(progress, troubleOf(database, error, committed, sent));
  }
}

async function breakOff(progress: Progress, trouble: Trouble): Promise<FileEnd> {
  const { database } = progress.run;
  const ofTheRow = trouble.statement === undefined && !trouble.stopped;
  // No answer to a write of the row: it may be gone, and then nothing says that this version was begun.
  const unknown = ofTheRow ? trouble.answer === undefined : await mayBeKept(database, trouble);
  let recorded = false;
  if (!database.lost()) {
    // Where this fails too, the row stays as it was written before the statement: dirty.
    await database.regainUser().catch(() => undefined);
    recorded = await recordFailure(progress, trouble, unknown).then(
      () => true,
      () => false,
    );
  }
  // A row that can neither be written nor put back may be gone with its table.
  return endOf(progress.run, trouble, unknown || (ofTheRow && !recorded));
}

/** Whether the statement that was sent may have taken effect although no success was answered. */
async function mayBeKept(database: MigrationDatabase, { statement, answer }: Trouble): Promise<boolean> {
  if (statement === undefined) return false;
  if (answer?.definite !== true) return true;
  // Where even that cannot be asked any more, nothing is claimed.
  return database.mayBeKept(statement.text, answer).catch(() => true);
}

async function recordFailure(progress: Progress, trouble: Trouble, unknown: boolean): Promise<void> {
  const state = unknown ? "pending" : "failed";
  const { statement, committed } = trouble;
  const entry = dirtyEntry(progress, state, committed, errorText(trouble, unknown), statement);
  // The file may have taken its own row away; without one the version would be run a second time.
  await writeRow(progress.rows, entry);
}
