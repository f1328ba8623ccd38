/** A PostgreSQL session for migrations. */

import type { Stop } from "../cancel.ts";
import { Refused } from "../contract.ts";
import { type HeldLock, takeLock } from "../postgres/lock.ts";
import { connect, type Session, sqlstateOf } from "../postgres/session.ts";
import type { Target } from "../postgres/url.ts";
import type { Dialect, MigrationDatabase, OpenOptions, ServerAnswer, TableName } from "./database.ts";
import { ForbiddenEffect, forbiddenAnswer } from "./forbidden.ts";
import type { Directives } from "./migration.ts";
import { COLUMNS } from "./revisions.ts";
import { secondOf } from "./second.ts";
import { columnNames } from "./store.ts";

/** FNV-1a of `ptah_migrate`, the name Ptah's own CLI locks under. */
const MIGRATE_LOCK = 2_705_505_214;
const CANCELED = "57014";
const OLDEST_MAJOR = 14;
/** `pg_class.relkind` of an ordinary and a partitioned table. */
const TABLE_KINDS: readonly string[] = ["r", "p"];

const FACTS = `SELECT pg_catalog.current_setting('server_version_num')::int AS version_num, pg_catalog.current_setting('server_version') AS version,
  pg_catalog.pg_is_in_recovery() AS standby, pg_catalog.current_schema() AS schema`;

const LOCATION = `SELECT n.nspname AS schema, c.relkind AS kind FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass($1)`;

const TABLE = `SELECT c.relkind AS kind, c.relpersistence AS persistence, EXISTS (SELECT 1 FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'version' AND a.attnum = i.indkey[0]
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indnkeyatts = 1
      AND i.indpred IS NULL AND i.indexprs IS NULL) AS keyed
  FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass($1)`;

const COLUMN_LIST = `SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, NULL) AS type FROM pg_catalog.pg_attribute a
  WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`;

const HOLDS_LOCK = `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted
  AND pid = pg_catalog.pg_backend_pid() AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = ${MIGRATE_LOCK}) AS held`;

/** Files are split as the standard reads a backslash; a role's or a database's own setting may say otherwise. */
const STRINGS_AS_READ = "SET standard_conforming_strings = on";

/**
 * All that a file may leave in its session, so that the next one finds what a session of its own would: never what gives up the
 * session's advisory locks (DISCARD ALL does).
 */
const RESET = [
  "RESET SESSION AUTHORIZATION",
  "RESET ROLE",
  "RESET ALL",
  STRINGS_AS_READ,
  "CLOSE ALL",
  "DEALLOCATE ALL",
  "UNLISTEN *",
  "DISCARD TEMP",
  "DISCARD SEQUENCES",
].join("; ");

const TRANSACTION_CHANGED = "began or ended a transaction, which is the run's to do; take that out of it";
const TEXT_READ_OTHERWISE =
  "turned standard_conforming_strings off, which changes what the text after it means; take that out and write such strings as E'…'";

/** Opens the session. @throws Refused, Failure, Canceled */
export async function openPostgres(target: Target, options: OpenOptions): Promise<MigrationDatabase> {
  const open = (): Promise<Session> =>
    connect(target, {
      connectTimeoutMs: options.connectTimeoutMs,
      signal: options.stop.signal,
      role: "the target database",
    });
  const session = await open();
  try {
    await session.query(STRINGS_AS_READ);
    const [facts = {}] = await session.query(FACTS);
    refuseServer(Number(facts["version_num"]), String(facts["version"]), facts["standby"] === true);
    const schema = await locate(session, options.name, facts["schema"]);
    return databaseOf(session, open, options.stop, {
      version: String(facts["version"]),
      table: `${quote(schema)}.${quote(options.name.table)}`,
    });
  } catch (error) {
    await session.end();
    throw error;
  }
}

function refuseServer(versionNum: number, version: string, standby: boolean): void {
  if (Math.floor(versionNum / 10_000) < OLDEST_MAJOR) {
    throw new Refused(
      "unsupported_server",
      `PostgreSQL ${version} is older than ${OLDEST_MAJOR}, the oldest supported`,
    );
  }
  if (standby) {
    throw new Refused("read_only_server", "the server is a standby in recovery; name its primary in the URL");
  }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The schema of the table where the search path finds one, else the one a new table would be made in. */
async function locate(session: Session, name: TableName, current: unknown): Promise<string> {
  if (name.schema !== undefined) return name.schema;
  const [row] = await session.query(LOCATION, [quote(name.table)]);
  if (row !== undefined) return String(row["schema"]);
  if (typeof current === "string") return current;
  throw new Refused(
    "revision_schema_missing",
    "the search path names no schema that exists, so the revision table has no place; create one or set search_path",
  );
}

function dialectOf(table: string): Dialect {
  const columns = COLUMNS.map((c) => `${c.name} ${c.definition}`).join(", ");
  return {
    table,
    createTable: `CREATE TABLE IF NOT EXISTS ${table} (${columns})`,
    addColumn: (name, definition) => `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${name} ${definition}`,
    placeholder: (at) => `$${at}`,
    now: "pg_catalog.timezone('UTC', pg_catalog.clock_timestamp())",
    appliedAtText: `pg_catalog.to_char(applied_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  };
}

/** Statements that commit in steps of their own, so that a refusal does not say that nothing is left. */
const IN_STEPS = /^\s*(?:call|do)\b|\bconcurrently\b/i;

function databaseOf(
  session: Session,
  openSecond: () => Promise<Session>,
  stop: Stop,
  facts: { readonly version: string; readonly table: string },
): MigrationDatabase {
  let held: HeldLock | undefined;
  const inTransaction = (): boolean => session.client.getTransactionStatus() !== "I";
  const through =
    (at: () => Session | Promise<Session>): MigrationDatabase["query"] =>
    async (sql, values) => {
      const used = await at();
      try {
        return await used.query(sql, values);
      } catch (error) {
        if (sqlstateOf(error) !== CANCELED || !stop.signal.aborted) throw error;
        return used.query(sql, values);
      }
    };
  // The rows and not their count: a rule or a trigger that swallows the write returns none.
  const writing =
    (send: MigrationDatabase["query"]): MigrationDatabase["write"] =>
    async (sql, values) =>
      (await send(`${sql} RETURNING 1`, values)).length;
  const query = through(() => session);
  const second = secondOf(session, openSecond);
  const queryApart = through(second.session);
  return {
    engine: "postgresql",
    serverVersion: facts.version,
    dialect: dialectOf(facts.table),
    display: session.target.display,
    sqlMode: "",
    checkTable: () => checkTable(session, facts.table),
    implicitCommits: false,
    query,
    write: writing(query),
    apart: { query: queryApart, write: writing(queryApart) },
    execute: async (sql) => {
      const before = inTransaction();
      await session.runOne(sql);
      if (inTransaction() !== before) throw new ForbiddenEffect(TRANSACTION_CHANGED);
      if (session.reported("standard_conforming_strings") === "off") throw new ForbiddenEffect(TEXT_READ_OTHERWISE);
      return { committed: false };
    },
    lost: session.lost,
    answerOf: (error) => forbiddenAnswer(error) ?? answerOf(error, session.lost()),
    columns: () => readColumns(session, facts.table),
    lock: async (timeoutMs) => {
      held = await takeLock(session, openSecond, timeoutMs, stop.check, MIGRATE_LOCK);
    },
    holdsLock: async () => (await query(HOLDS_LOCK))[0]?.["held"] === true,
    unlock: async () => {
      await held?.release();
    },
    begin: async () => {
      await session.query("BEGIN");
    },
    commit: async () => (await session.client.query("COMMIT")).command === "COMMIT",
    rollback: async () => {
      // What no transaction holds any more, nothing takes back.
      const open = inTransaction();
      await query("ROLLBACK");
      return open;
    },
    commitsImplicitly: () => false,
    rollsBackAll: () => true,
    mayBeKept: async (sql, { forbidden }) => forbidden !== undefined || IN_STEPS.test(sql),
    setTimeouts: (directives) => setTimeouts(session, directives),
    regainUser: async () => {
      await query("RESET SESSION AUTHORIZATION");
      await query("RESET ROLE");
    },
    reset: async () => {
      await query(RESET);
    },
    end: async () => {
      await second.end();
      await session.end();
    },
  };
}

function answerOf(error: unknown, lost: boolean): ServerAnswer | undefined {
  const sqlState = sqlstateOf(error);
  if (sqlState === undefined) return undefined;
  const severity = (error as { severity?: unknown }).severity;
  return { sqlState, mysqlErrno: undefined, definite: !lost && severity !== "FATAL" && severity !== "PANIC" };
}

/** Anything else may take a row and not have it afterwards, or have it twice. @throws Refused */
async function checkTable(session: Session, table: string): Promise<void> {
  const [row] = await session.query(TABLE, [table]);
  if (row === undefined) return;
  if (row["persistence"] !== "p") throw unsuitable("is temporary or unlogged");
  if (row["keyed"] !== true) throw unsuitable("has no unique key on version");
}

const unsuitable = (why: string): Refused =>
  new Refused(
    "revision_table_unsuitable",
    `what has the revision table's name ${why}, so it cannot hold the history; make it an ordinary table with a primary key on version, or name another (--migrations-table)`,
  );

async function readColumns(session: Session, table: string): Promise<ReadonlySet<string> | undefined> {
  const [kind] = await session.query(TABLE, [table]);
  if (kind !== undefined && !TABLE_KINDS.includes(String(kind["kind"]))) throw unsuitable("is no table");
  const rows = await session.query(COLUMN_LIST, [table]);
  return columnNames(rows, ["bigint", "integer"]);
}

/** `SET` inside a transaction ends with it; outside, `reset` takes it back. */
async function setTimeouts(session: Session, directives: Directives): Promise<void> {
  const { lockTimeoutMs, statementTimeoutMs } = directives;
  if (lockTimeoutMs !== undefined) await session.query(`SET lock_timeout = ${Math.ceil(lockTimeoutMs)}`);
  if (statementTimeoutMs !== undefined) await session.query(`SET statement_timeout = ${Math.ceil(statementTimeoutMs)}`);
}
