/** How a migration ended, in words for a report, a row and a person. Pure. */
import type { ServerAnswer } from "./database.ts";
import type { Migration, Statement } from "./migration.ts";
import { OUTCOME_UNKNOWN } from "./revisions.ts";

/** A statement that reached the database and failed there. It carries no text. */
export interface StatementFailure {
  readonly version: number;
  /** Position in the file, from 1. */
  readonly statement: number;
  readonly sqlState?: string;
  readonly mysqlErrno?: number;
}

/**
 * How a migration ended. `failed`: nothing of it is kept. `partial`: some of its statements are, and it is known which.
 * `unknown`: whether something is kept cannot be said from here.
 */
export type FileEnd =
  | { readonly kind: "applied" }
  | {
      readonly kind: "failed" | "partial" | "unknown";
      readonly failure?: StatementFailure;
      readonly cause?: Cause;
      /** For people; no SQL text and no text of the server's. */
      readonly sentence: string;
    };

/** What the server refused of the executor's own: a row of the history, the commit, a setting that is put back. */
export interface Cause {
  readonly code: "revision_row_unwritten" | "commit_refused" | "session_not_restored";
  readonly sqlstate?: string;
}

export const causeOf = (code: Cause["code"], answer: ServerAnswer | undefined): { readonly cause?: Cause } =>
  answer?.sqlState === undefined ? {} : { cause: { code, sqlstate: answer.sqlState } };

/** What made a file end early: a statement, the bookkeeping around it, or a stop. */
export interface Trouble {
  /** The statement that had been sent, undefined where none was. */
  readonly statement: Statement | undefined;
  readonly answer: ServerAnswer | undefined;
  readonly stopped: boolean;
  /** Statements that are committed for certain. */
  readonly committed: number;
}

interface EndedRun {
  readonly migration: Migration;
  readonly statements: readonly Statement[];
  readonly committed: number;
}

/** For the row, in the reference's form but without the server's text, which may quote rows. */
export function errorText(trouble: Trouble, unknown: boolean): string {
  if (trouble.stopped) return "the migration was asked to stop";
  const head = unknown ? OUTCOME_UNKNOWN : "failed to execute migration SQL";
  if (trouble.answer?.forbidden !== undefined) return `${head}: it ${trouble.answer.forbidden}`;
  return `${head}:${codes(trouble.answer) || " no answer"}`;
}

export function codes(answer: ServerAnswer | undefined): string {
  if (answer === undefined) return "";
  const parts = [
    answer.sqlState === undefined ? "" : `SQLSTATE ${answer.sqlState}`,
    answer.mysqlErrno === undefined ? "" : `error ${answer.mysqlErrno}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

/** The migration's own SQL was not reached: its row could not be written or its transaction not begun. */
export function nothingSent(run: EndedRun, trouble: Trouble): FileEnd {
  const kind = run.committed === 0 ? "failed" : "partial";
  const sentence = `version ${run.migration.version} was not begun: its row could not be written${codes(trouble.answer)}`;
  return { kind, sentence, ...causeOf("revision_row_unwritten", trouble.answer) };
}

export const keptText = (committed: number): string =>
  committed === 0
    ? "nothing of it is kept"
    : committed === 1
      ? "its first statement is kept"
      : `its first ${committed} statements are kept`;

export function endOf(run: EndedRun, trouble: Trouble, unknown: boolean): FileEnd {
  const { version } = run.migration;
  const { statement, answer, committed } = trouble;
  const kind = unknown ? "unknown" : committed === 0 ? "failed" : "partial";
  const kept = unknown
    ? "whether something of it is kept is not recorded; look at the database before anything else"
    : keptText(committed);
  if (statement === undefined) {
    const why = trouble.stopped ? "was asked to stop" : `could not be recorded${codes(answer)}`;
    const cause = trouble.stopped ? {} : causeOf("revision_row_unwritten", answer);
    return { kind, sentence: `version ${version} ${why} between two statements; ${kept}`, ...cause };
  }
  const how = answer === undefined ? "was not answered" : (answer.forbidden ?? `failed${codes(answer)}`);
  return {
    kind,
    failure: {
      version,
      statement: statement.number,
      ...(answer?.sqlState === undefined ? {} : { sqlState: answer.sqlState }),
      ...(answer?.mysqlErrno === undefined ? {} : { mysqlErrno: answer.mysqlErrno }),
    },
    sentence: `version ${version}: statement ${statement.number} of ${run.statements.length} ${how}; ${kept}`,
  };
}
