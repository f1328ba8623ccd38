/** All pending migrations in one transaction: it keeps all of them or nothing. */
import type { Stop } from "../cancel.ts";
import type { MigrationDatabase } from "./database.ts";
import { causeOf, codes } from "./file-end.ts";
import type { Statement } from "./migration.ts";
import { appliedEntry } from "./revisions.ts";
import type { Prepared, RunResult } from "./run.ts";
import { insertRow } from "./store.ts";

/** @returns how it ended; a failure leaves no row, because the database is as it was */
export async function applyAll(
  database: MigrationDatabase,
  prepared: readonly Prepared[],
  stop: Stop,
): Promise<RunResult> {
  const planned = prepared.map((p) => p.migration.version);
  const failed = (error: string, detail: Pick<RunResult, "failure" | "cause"> = {}): RunResult => ({
    outcome: "failed",
    planned,
    applied: [],
    error: `${error}; nothing is kept`,
    ...detail,
  });
  const open = "what is kept is not known; look at the database before anything else";
  let begun = false;
  let at: { readonly version: number; readonly statement: Statement } | undefined;
  try {
    await database.reset();
    await database.begin();
    begun = true;
    for (const one of prepared) {
      await database.setTimeouts(one.migration.directives);
      const startedMs = performance.now();
      for (const statement of one.statements) {
        if (stop.signal.aborted) {
          await database.rollback();
          return failed("the run was asked to stop");
        }
        at = { version: one.migration.version, statement };
        await database.execute(statement.text);
        at = undefined;
      }
      await database.reset();
      await insertRow(database, appliedEntry(one, performance.now() - startedMs));
    }
  } catch (error) {
    // Where the session is gone, the server rolls back what was open.
    const undone = (await database.rollback().catch(() => true)) || !begun;
    const answer = database.answerOf(error);
    const ended = (sentence: string, detail: Pick<RunResult, "failure" | "cause">): RunResult =>
      undone
        ? failed(sentence, detail)
        : { outcome: "unknown", planned, applied: [], error: `${sentence}; ${open}`, ...detail };
    if (at === undefined) {
      const sentence = `a row of the revision table could not be written${codes(answer)}`;
      return ended(sentence, causeOf("revision_row_unwritten", answer));
    }
    const { version, statement } = at;
    const how = answer?.forbidden ?? `failed (SQLSTATE ${answer?.sqlState ?? "unknown"})`;
    const sentence = `version ${version}: statement ${statement.number} ${answer === undefined ? "was not answered" : how}`;
    const state = answer?.sqlState === undefined ? {} : { sqlState: answer.sqlState };
    return ended(sentence, { failure: { version, statement: statement.number, ...state } });
  }
  return commit(database, planned, failed);
}

async function commit(
  database: MigrationDatabase,
  planned: readonly number[],
  failed: (error: string, detail?: Pick<RunResult, "cause">) => RunResult,
): Promise<RunResult> {
  try {
    if (await database.commit()) return { outcome: "applied", planned, applied: planned };
    return failed("the server rolled the transaction back");
  } catch (error) {
    const answer = database.answerOf(error);
    if (answer?.definite === true) {
      return failed(`the commit was refused${codes(answer)}`, causeOf("commit_refused", answer));
    }
    const unanswered = "all statements ran, but the commit was not answered; read the history before anything else";
    return { outcome: "unknown", planned, applied: [], error: unanswered };
  }
}
