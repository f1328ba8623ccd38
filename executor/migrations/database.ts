/** What the migration engine needs of a database session, whatever the engine. */
import type { Stop } from "../cancel.ts";
import type { Directives, MigrationEngine } from "./migration.ts";

export type Row = Readonly<Record<string, unknown>>;

/** What the server answered a statement that it refused. */
export interface ServerAnswer {
  readonly sqlState: string | undefined;
  readonly mysqlErrno: number | undefined;
  /** False where the session ended with the answer: what became of the statement is then not said by it. */
  readonly definite: boolean;
  /** What the statement did to the session that none may do, where the server took it: how a sentence about it goes on. */
  readonly forbidden?: string;
}

/** What a statement did to the transaction that was open when it was sent. */
export interface Executed {
  /** Whether that transaction is over: what was in it, the statement included, is committed. */
  readonly committed: boolean;
}

/** The names in this engine's spelling. */
export interface Dialect {
  /** The revision table, quoted and qualified: what a file does to its session's search path does not move it. */
  readonly table: string;
  readonly createTable: string;
  addColumn(name: string, definition: string): string;
  /** Placeholder of the `at`th value, from 1. */
  placeholder(at: number): string;
  /** The present instant as the table's `applied_at` holds it. */
  readonly now: string;
  /** Expression for `applied_at` as RFC 3339 text in UTC. */
  readonly appliedAtText: string;
}

/**
 * One pinned session: the lock, every inspection and every statement of the files go through it, and it is never replaced.
 */
export interface MigrationDatabase {
  readonly engine: MigrationEngine;
  readonly serverVersion: string;
  readonly dialect: Dialect;
  /** The session's `@@sql_mode`, by which MySQL text is read; empty for PostgreSQL. */
  readonly sqlMode: string;
  /** For people: the database without user, password and parameters. */
  readonly display: string;
  /** Bookkeeping of our own; a cancellation meant for a file's statement does not stop it. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Writes into the revision table. @returns how many rows of the permanent table the server says it wrote */
  write(sql: string, values: readonly unknown[]): Promise<number>;
  /**
   * The same through a session of its own where one can be had: what a file made of the pinned one (a role, a limit, a temporary
   * table) then does not reach its row. Only while the pinned session has no transaction open.
   */
  readonly apart: Pick<MigrationDatabase, "query" | "write">;
  /**
   * One statement of a file, as it stands there; its rows are let go as they arrive. Outside a transaction nothing of it stays open.
   * @throws ForbiddenEffect where the server took it and it changed the transaction or how text is read
   */
  execute(sql: string): Promise<Executed>;
  /** Set once the connection ended. */
  lost(): boolean;
  /** The server's answer, undefined for an error that is none (network, driver). */
  answerOf(error: unknown): ServerAnswer | undefined;
  /** Names of the columns the revision table has, undefined where there is no such table. @throws Refused for another tool's table */
  columns(): Promise<ReadonlySet<string> | undefined>;
  /** @throws Refused where the existing table cannot be written safely */
  checkTable(): Promise<void>;
  /** Takes the advisory lock and proves it by a second session. @throws Refused */
  lock(timeoutMs: number): Promise<void>;
  /** Whether this session still holds it. */
  holdsLock(): Promise<boolean>;
  unlock(): Promise<void>;
  begin(): Promise<void>;
  /** Ends the transaction. @returns false where the server answered that it rolled back instead */
  commit(): Promise<boolean>;
  /** Gives up the open transaction. @returns false where something of it could not be undone */
  rollback(): Promise<boolean>;
  /** Whether the engine has statements that end an open transaction, so that progress is recorded inside of it. */
  readonly implicitCommits: boolean;
  /** Whether this statement ends the open transaction and commits what came before it and itself. */
  commitsImplicitly(sql: string): boolean;
  /** Whether every table can undo what a transaction did to it; told once a transaction is begun. */
  rollsBackAll(): boolean;
  /** Whether a statement that the server refused may have left something, where no rollback took it back. */
  mayBeKept(sql: string, answer: ServerAnswer): Promise<boolean>;
  /** Applies the timeouts a file's header asks for to the session. */
  setTimeouts(directives: Directives): Promise<void>;
  /** Gives up a role that a file took on, so that its row can be written by the user who opened the session. */
  regainUser(): Promise<void>;
  /** Puts the session's settings back to what they were when it opened. */
  reset(): Promise<void>;
  end(): Promise<void>;
}

export interface TableName {
  readonly schema: string | undefined;
  readonly table: string;
}

export interface OpenOptions {
  readonly connectTimeoutMs: number;
  readonly name: TableName;
  readonly stop: Stop;
}
