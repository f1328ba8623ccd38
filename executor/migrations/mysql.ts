/** A MySQL or MariaDB session for migrations. */
import { commitOf, type MysqlReading, readingOf, ruleAgainst, wordsOf } from "../../sql/mysql/index.ts";
import type { Stop } from "../cancel.ts";
import { Refused } from "../contract.ts";
import { holdsMysqlLock, releaseMysqlLock, takeMysqlLock } from "../mysql/lock.ts";
import { connectMysql, type MysqlSession, mysqlAnswer } from "../mysql/session.ts";
import type { MysqlTarget } from "../mysql/url.ts";
import type { Dialect, MigrationDatabase, OpenOptions, Row, ServerAnswer } from "./database.ts";
import { forbiddenAnswer } from "./forbidden.ts";
import type { Directives } from "./migration.ts";
import { type Between, betweenFiles } from "./mysql-between.ts";
import { executeMysql } from "./mysql-statement.ts";
import { COLUMNS } from "./revisions.ts";
import { secondOf } from "./second.ts";
import { columnNames } from "./store.ts";

/** Spellings of `@@read_only` of a server that takes writes; newer MariaDB releases have words for the others. */
const WRITABLE: readonly string[] = ["0", "OFF"];
const LEAST_LOCK_WAIT_S = 1;
/**
 * Longest time that one run spends on the question which engines the tables have: MariaDB opens every table for it (137 ms for 5,000),
 * and a run may ask 128 times. Behind it the answer counts as not known, and a lost session as `unknown`.
 */
const MAX_ENGINE_QUESTIONS_MS = 5_000;
const INTERRUPTED_QUERY = 1317;
/** Answers that end the session: shutdown, connection killed (MySQL, MariaDB). */
const ENDING: readonly number[] = [1053, 1152, 1184, 1927, 3169, 4031];
/** Refused while the statement was read or its privileges were checked: it never began. */
const NOT_BEGUN: readonly number[] = [1044, 1045, 1046, 1049, 1064, 1142, 1143, 1149, 1227, 1370];
/** The same for CREATE and ALTER of one object, found before anything is changed: what is named exists or is missing. */
const NOT_BEGUN_OBJECT: readonly number[] = [1050, 1054, 1060, 1061, 1072, 1091, 1146];
/** Some of a rolled back transaction's changes, in tables that cannot roll back, stayed. */
const NOT_ROLLED_BACK = 1196;

const FACTS = `SELECT VERSION() AS version, @@sql_mode AS sql_mode, @@read_only AS read_only, DATABASE() AS db`;

/** Whatever the server calls them (system-versioned ones are no BASE TABLE), wherever they are: a file may name any of them. */
const OTHER_ENGINES = `SELECT 1 FROM information_schema.TABLES WHERE ENGINE <> 'InnoDB' AND TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')`;

/** Opens the session. @throws Refused, Failure, Canceled */
export async function openMysql(target: MysqlTarget, options: OpenOptions): Promise<MigrationDatabase> {
  const { stop } = options;
  const open = (): Promise<MysqlSession> =>
    connectMysql(target, {
      connectTimeoutMs: options.connectTimeoutMs,
      signal: stop.signal,
      role: "the target database",
    });
  const session = await open();
  try {
    const [facts = {}] = await session.query(FACTS);
    if (!WRITABLE.includes(String(facts["read_only"]))) {
      throw new Refused("read_only_server", "the server is read-only; name the primary in the database URL");
    }
    if (/\boracle\b/i.test(String(facts["sql_mode"]))) {
      throw new Refused(
        "sql_mode_unsupported",
        "the session's sql_mode holds ORACLE, in which files are not read here; take it out of the server's setting",
      );
    }
    const version = String(facts["version"]);
    const mariadb = /mariadb/i.test(version);
    return databaseOf(session, open, stop, {
      version,
      mariadb,
      database: target.database,
      schema: options.name.schema ?? target.database,
      table: options.name.table,
      sqlMode: String(facts["sql_mode"]),
      reading: readingOf(String(facts["sql_mode"]), mariadb),
    });
  } catch (error) {
    await session.end();
    throw error;
  }
}

interface Facts {
  readonly version: string;
  readonly mariadb: boolean;
  readonly database: string;
  readonly schema: string;
  readonly table: string;
  readonly sqlMode: string;
  readonly reading: MysqlReading;
}

const quote = (name: string): string => `\`${name.replaceAll("`", "``")}\``;

function dialectOf(schema: string, name: string): Dialect {
  const table = `${quote(schema)}.${quote(name)}`;
  const columns = COLUMNS.map((c) => `${c.name} ${c.definition}`).join(", ");
  return {
    table,
    createTable: `CREATE TABLE IF NOT EXISTS ${table} (${columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`,
    addColumn: (column, definition) => `ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`,
    placeholder: () => "?",
    now: "CURRENT_TIMESTAMP",
    appliedAtText:
      "DATE_FORMAT('1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP(applied_at) SECOND, '%Y-%m-%dT%H:%i:%SZ')",
  };
}

function databaseOf(
  session: MysqlSession,
  openSecond: () => Promise<MysqlSession>,
  stop: Stop,
  facts: Facts,
): MigrationDatabase {
  let between: Between | undefined;
  let inTransaction = false;
  let rollsBackAll = false;
  /** Whether `rollsBackAll` still holds: outside a transaction a file may make tables of any engine. */
  let enginesKnown = false;
  let askedMs = 0;
  const ours = async <T>(send: () => Promise<T>): Promise<T> => {
    try {
      return await send();
    } catch (error) {
      if (mysqlAnswer(error)?.errno !== INTERRUPTED_QUERY || !stop.signal.aborted) throw error;
      return send();
    }
  };
  const second = secondOf(session, openSecond);
  const query: MigrationDatabase["query"] = (sql, values) => ours(() => session.query(sql, values));
  const queryApart: MigrationDatabase["query"] = async (sql, values) => {
    const at = await second.session();
    return ours(() => at.query(sql, values));
  };
  const dialect = dialectOf(facts.schema, facts.table);
  /** A temporary table of the same name takes what is meant for the permanent one, and ends with the session. */
  const shadowed = async (): Promise<boolean> => {
    const [row] = await query(`SHOW CREATE TABLE ${dialect.table}`);
    return /^CREATE TEMPORARY /.test(String(row?.["Create Table"]));
  };
  const writeOn = async (at: MysqlSession, sql: string, values: readonly unknown[]): Promise<number> =>
    at === session && (await shadowed()) ? 0 : ours(() => at.write(sql, values));
  const commitKind = (sql: string): ReturnType<typeof commitOf> => commitOf(wordsOf(sql, facts.reading));
  return {
    engine: facts.mariadb ? "mariadb" : "mysql",
    serverVersion: facts.version,
    dialect,
    display: session.target.display,
    sqlMode: facts.sqlMode,
    query,
    write: (sql, values) => writeOn(session, sql, values),
    apart: { query: queryApart, write: async (sql, values) => writeOn(await second.session(), sql, values) },
    execute: (sql) => {
      enginesKnown &&= inTransaction || ruleAgainst(wordsOf(sql, facts.reading), true) === undefined;
      between?.note(sql);
      return executeMysql(session, sql, inTransaction, ours);
    },
    lost: session.lost,
    answerOf: (error) => forbiddenAnswer(error) ?? answerOf(error, session.lost()),
    columns: () => readColumns(session, facts),
    checkTable: () => checkTable(session, facts),
    lock: async (timeoutMs) => {
      await takeMysqlLock(session, openSecond, timeoutMs, stop.check);
      between = await betweenFiles(session, facts.reading, quote(facts.database));
    },
    rollsBackAll: () => rollsBackAll,
    holdsLock: () => holdsMysqlLock(session),
    unlock: () => releaseMysqlLock(session),
    begin: async () => {
      if (!enginesKnown) {
        const from = performance.now();
        rollsBackAll = askedMs < MAX_ENGINE_QUESTIONS_MS && (await onlyInnodb(session));
        askedMs += performance.now() - from;
        enginesKnown = true;
      }
      // Without autocommit a statement that commits by itself is followed by a new transaction.
      await session.send("SET autocommit = 0");
      await session.send("START TRANSACTION");
      inTransaction = true;
    },
    commit: async () => {
      await session.send("COMMIT");
      inTransaction = false;
      await session.send("SET autocommit = 1").catch(() => undefined);
      return true;
    },
    rollback: async () => {
      await query("ROLLBACK");
      const warnings = await query("SHOW WARNINGS");
      await session.send("SET autocommit = 1");
      inTransaction = false;
      if (await shadowed()) await query(`DROP TEMPORARY TABLE ${dialect.table}`);
      return !warnings.some((row) => Number(row["Code"]) === NOT_ROLLED_BACK);
    },
    implicitCommits: true,
    commitsImplicitly: (sql) => ["implicit", "unknown"].includes(commitKind(sql)),
    mayBeKept: (sql, answer) => mayBeKept(queryApart, commitKind(sql), sql, answer),
    setTimeouts: (directives) => setTimeouts(session, directives),
    regainUser: async () => undefined,
    reset: async () => {
      await between?.restore();
    },
    end: async () => {
      await second.end();
      await session.end();
    },
  };
}

function answerOf(error: unknown, lost: boolean): ServerAnswer | undefined {
  const answer = mysqlAnswer(error);
  if (answer === undefined) return undefined;
  const fatal = (error as { fatal?: unknown }).fatal === true;
  return {
    sqlState: answer.sqlState,
    mysqlErrno: answer.errno,
    definite: !lost && !fatal && !ENDING.includes(answer.errno),
  };
}

/** A refused data statement is undone by itself where every table can roll back; a statement that commits may stop half-way. */
async function mayBeKept(
  query: MigrationDatabase["query"],
  kind: ReturnType<typeof commitOf>,
  sql: string,
  { mysqlErrno }: ServerAnswer,
): Promise<boolean> {
  if (mysqlErrno !== undefined && kind !== "unknown") {
    if (NOT_BEGUN.includes(mysqlErrno)) return false;
    if (kind === "implicit" && /^(create|alter)\b/i.test(sql) && NOT_BEGUN_OBJECT.includes(mysqlErrno)) return false;
  }
  if (kind !== "none") return true;
  return (await query(`${OTHER_ENGINES} LIMIT 1`)).length > 0;
}

/** Neither a table of another engine that the user may see, nor a session that makes one where a file names none. */
async function onlyInnodb(session: MysqlSession): Promise<boolean> {
  const [own] = await session.query("SELECT @@default_storage_engine AS engine");
  if (String(own?.["engine"]).toLowerCase() !== "innodb") return false;
  return (await session.query(`${OTHER_ENGINES} LIMIT 1`)).length === 0;
}

async function readColumns(session: MysqlSession, facts: Facts): Promise<ReadonlySet<string> | undefined> {
  const rows: readonly Row[] = await session.query(
    "SELECT COLUMN_NAME AS name, DATA_TYPE AS type FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
    [facts.schema, facts.table],
  );
  return columnNames(rows, ["bigint", "int"]);
}

/** Progress is recorded in the transaction it is about: a table that cannot roll back would tell lies. */
async function checkTable(session: MysqlSession, facts: Facts): Promise<void> {
  const [row] = await session.query(
    "SELECT ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
    [facts.schema, facts.table],
  );
  if (row === undefined || String(row["engine"]).toLowerCase() === "innodb") return;
  throw new Refused(
    "revision_table_engine",
    "the revision table's storage engine is not InnoDB, so it cannot record progress; convert the table (ALTER TABLE … ENGINE=InnoDB)",
  );
}

async function setTimeouts(session: MysqlSession, directives: Directives): Promise<void> {
  const { lockTimeoutMs, statementTimeoutMs } = directives;
  if (lockTimeoutMs !== undefined) {
    const seconds = Math.max(LEAST_LOCK_WAIT_S, Math.ceil(lockTimeoutMs / 1_000));
    await session.send(`SET SESSION lock_wait_timeout = ${seconds}, innodb_lock_wait_timeout = ${seconds}`);
  }
  if (statementTimeoutMs !== undefined) {
    await session.send(`SET SESSION max_statement_time = ${statementTimeoutMs / 1_000}`);
  }
}
