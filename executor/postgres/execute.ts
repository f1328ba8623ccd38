import type { RowGuard } from "./row-guard.ts";
import { describeServerError, type Session, sqlstateOf } from "./session.ts";

export type TransactionMode = "file" | "all" | "none";

/** What is executed: a plan's statement, or a step before it became one. */
export interface Executable {
  readonly sql: string;
  readonly transaction: "joined" | "alone";
  readonly commitAfter: boolean;
}

export interface ExecuteOptions {
  readonly mode: TransactionMode;
  readonly lockTimeoutMs: number;
  /** The backend that holds the lock: another one behind the same connection means a pooler, and nothing is sent. */
  readonly backendPid?: number;
  /** Begins to watch each transaction for rows that its statements do not speak of; one that lost some is rolled back. */
  readonly watchRows?: (session: Session, statements: readonly string[]) => Promise<RowGuard>;
  /** The database holds nobody's rows (a clone): the server's words are told as they are. */
  readonly withoutRows?: true;
  /** Asked before each transaction; throws to stop between two of them. */
  readonly beforeTransaction?: () => void;
}

/**
 * How an execution ended. `nothingKept` is claimed only when it is certain: the server answered, everything sent was in one
 * transaction that it rolled back, and nothing was committed before.
 */
export type Execution =
  | { readonly done: true }
  | {
      readonly done: false;
      readonly position: number;
      readonly sqlstate: string | undefined;
      readonly reason: string;
      readonly nothingKept: boolean;
      /** Whether any statement of the plan had been sent. */
      readonly sent: boolean;
    };

interface Segment {
  readonly statements: readonly Executable[];
  /** Index of the first statement in the whole. */
  readonly first: number;
  readonly inTransaction: boolean;
}

/** Groups statements as planned: one transaction up to each commit boundary, statements that stand alone outside of any. */
export function segmentsOf(statements: readonly Executable[], mode: TransactionMode): readonly Segment[] {
  const segments: Segment[] = [];
  let open: Executable[] = [];
  const close = (end: number): void => {
    if (open.length > 0) segments.push({ statements: open, first: end - open.length, inTransaction: true });
    open = [];
  };
  for (const [at, statement] of statements.entries()) {
    if (mode === "none" || statement.transaction === "alone") {
      close(at);
      segments.push({ statements: [statement], first: at, inTransaction: statement.transaction === "joined" });
      continue;
    }
    open.push(statement);
    if (statement.commitAfter) close(at + 1);
  }
  close(statements.length);
  return segments;
}

/**
 * Settings each statement runs under: those the schema was loaded with on the scratch server. The statements write names in full,
 * but routine bodies that a statement runs (a generated column, an index) need not.
 */
function settings(lockTimeoutMs: number, local: boolean): string {
  const set = local ? "SET LOCAL" : "SET";
  return [
    `${set} search_path = public`,
    `${set} check_function_bodies = off`,
    `${set} standard_conforming_strings = on`,
    `${set} lock_timeout = ${Math.max(0, Math.floor(lockTimeoutMs))}`,
  ].join("; ");
}

/** Executes the statements in order on this one session and says what became of them. */
export async function execute(
  session: Session,
  statements: readonly Executable[],
  options: ExecuteOptions,
): Promise<Execution> {
  let committed = 0;
  for (const segment of segmentsOf(statements, options.mode)) {
    options.beforeTransaction?.();
    const failure = await runSegment(session, segment, options);
    if (failure !== undefined) {
      return {
        ...failure,
        done: false,
        nothingKept: failure.nothingKept && committed === 0,
        sent: failure.sent || committed > 0,
      };
    }
    committed += segment.statements.length;
  }
  return { done: true };
}

type SegmentFailure = Omit<Extract<Execution, { done: false }>, "done">;

async function runSegment(
  session: Session,
  segment: Segment,
  options: ExecuteOptions,
): Promise<SegmentFailure | undefined> {
  let at = segment.first;
  let sent = false;
  let ended = false;
  let guard: RowGuard | undefined;
  try {
    if (segment.inTransaction) {
      const texts = segment.statements.map((statement) => statement.sql);
      guard = await options.watchRows?.(session, texts);
    }
    if (segment.inTransaction) await session.query("BEGIN");
    await session.query(settings(options.lockTimeoutMs, segment.inTransaction));
    await samePid(session, options.backendPid);
    for (const statement of segment.statements) {
      sent = true;
      allow(await guard?.before(statement.sql));
      ended = TRANSACTION_COMMANDS.includes(await session.runOne(statement.sql));
      if (ended) throw new Forbidden(TRANSACTION_ENDED);
      if (session.reported("standard_conforming_strings") === "off") throw new Forbidden(TEXT_READ_OTHERWISE);
      allow(await guard?.after(statement.sql));
      at++;
    }
    at = segment.first + segment.statements.length - 1;
    allow(await guard?.end());
    if (segment.inTransaction) await session.query("COMMIT");
    else await session.query("RESET ALL");
    return undefined;
  } catch (error) {
    const answered = (sqlstateOf(error) !== undefined || error instanceof Forbidden) && !session.lost();
    const rolledBack = answered && segment.inTransaction && !ended && (await rollBack(session, guard));
    return {
      position: at + 1,
      sqlstate: sqlstateOf(error),
      reason: session.lost()
        ? "the database session was lost"
        : describeServerError(error, sentAt(segment, at, options)),
      nothingKept: !sent || rolledBack,
      sent,
    };
  }
}

const sentAt = (segment: Segment, at: number, options: ExecuteOptions): string | undefined =>
  options.withoutRows === true ? undefined : (segment.statements[at - segment.first]?.sql ?? "");

/** What the server did, and no plan that was approved may do. */
class Forbidden extends Error {}

const TEXT_READ_OTHERWISE =
  "a function that it runs turned standard_conforming_strings off, which changes what the text after it means; take that out of the function";

/** Command tags, by their first word, of what ends or begins a transaction: how a plan's are drawn is not its statements' to say. */
const TRANSACTION_COMMANDS: readonly string[] = ["BEGIN", "START", "COMMIT", "ROLLBACK", "PREPARE"];

const TRANSACTION_ENDED = "it begins or ends a transaction, which no statement of a plan may do";

/** @throws Forbidden for what the guard found */
function allow(wrong: string | undefined): void {
  if (wrong !== undefined) throw new Forbidden(wrong);
}

/** A connection that answers from another backend than the one holding the lock is shared with others. */
async function samePid(session: Session, expected: number | undefined): Promise<void> {
  if (expected === undefined) return;
  const [row] = await session.query("SELECT pg_catalog.pg_backend_pid() AS pid");
  if (Number(row?.["pid"]) !== expected)
    throw new Error("the connection answered from another database session than the one holding the lock");
}

async function rollBack(session: Session, guard: RowGuard | undefined): Promise<boolean> {
  try {
    await session.query("ROLLBACK");
    await guard?.undo();
    return !session.lost();
  } catch {
    return false;
  }
}
