/** Reads and writes the revision table, in either engine's SQL. */
import { Failure, Refused } from "../contract.ts";
import type { MigrationDatabase, Row } from "./database.ts";
import { explained } from "./own-statements.ts";
import { COLUMNS, counted, type Revision, type RevisionEntry, type RevisionTable } from "./revisions.ts";

/** Most rows that are read: as many as a directory may have versions, and some that it no longer has. */
const MAX_REVISIONS = 50_000;

/**
 * Names of the revision table's columns, from rows of `name` and `type`; undefined where there is no such table.
 * @throws Refused where another tool's table has that name
 */
export function columnNames(rows: readonly Row[], integerTypes: readonly string[]): ReadonlySet<string> | undefined {
  if (rows.length === 0) return undefined;
  const version = rows.find((row) => row["name"] === "version");
  if (version !== undefined && !integerTypes.includes(String(version["type"]))) {
    throw new Refused(
      "revision_table_foreign",
      "the database has a table of the revision table's name whose versions are no numbers: another tool made it; move it away or name another (--migrations-table)",
    );
  }
  return new Set(rows.map((row) => String(row["name"])));
}

/** Reads the whole table; never creates or alters it. @throws Refused where it is not a revision table, or contradicts itself */
export function readTable(database: MigrationDatabase): Promise<RevisionTable> {
  return explained(database, () => read(database));
}

async function read(database: MigrationDatabase): Promise<RevisionTable> {
  const columns = await database.columns();
  const missingColumns = COLUMNS.map((c) => c.name).filter((name) => !(columns?.has(name) ?? false));
  if (columns === undefined) return { present: false, missingColumns: [], rows: [] };
  if (!columns.has("version") || !columns.has("description")) {
    throw new Refused(
      "revision_table_foreign",
      "the database has a table of the revision table's name that another tool made; move it away or name another (--migrations-table)",
    );
  }
  const rows = await database.query(selectRows(database, columns));
  if (rows.length > MAX_REVISIONS) {
    throw new Refused("revision_table_too_large", `the revision table has more than ${MAX_REVISIONS} rows`);
  }
  const revisions = rows.map((row) => revisionOf(row, columns));
  const twice = revisions.find((row, at) => row.version === revisions[at - 1]?.version);
  if (twice !== undefined) throw unreadable(`version ${twice.version} has two rows`);
  return { present: true, missingColumns, rows: revisions };
}

const unreadable = (what: string): Refused =>
  new Refused(
    "revision_row_unreadable",
    `the revision table cannot be believed: ${what}; establish what the database holds, then correct or delete that row with SQL of your own`,
  );

function selectRows({ dialect }: MigrationDatabase, columns: ReadonlySet<string>): string {
  const wanted = ["version", "description", "state", "applied", "total", "checksum", "execution_time_ms"];
  const fields = wanted.filter((name) => columns.has(name));
  if (columns.has("applied_at")) fields.push(`${dialect.appliedAtText} AS applied_at_text`);
  return `SELECT ${fields.join(", ")} FROM ${dialect.table} ORDER BY version LIMIT ${MAX_REVISIONS + 1}`;
}

function revisionOf(row: Row, columns: ReadonlySet<string>): Revision {
  const version = Number(row["version"]);
  if (!Number.isSafeInteger(version) || version < 1) {
    throw unreadable("it has a row whose version is not a positive number");
  }
  // An older table without the column means what the column's default says; a column without a value means nothing.
  const given = (name: string, otherwise: unknown): unknown => {
    if (!columns.has(name)) return otherwise;
    if (row[name] == null) throw unreadable(`the row of version ${version} has no ${name}`);
    return row[name];
  };
  const count = (name: string): number => {
    const value = Number(given(name, 1));
    if (!Number.isSafeInteger(value) || value < 0) throw unreadable(`${name} of version ${version} is no count`);
    return value;
  };
  const state = String(given("state", "applied"));
  const [applied, total] = [count("applied"), count("total")];
  if (state === "applied" && applied !== total) {
    throw unreadable(`version ${version} is recorded as applied after ${applied} of ${counted(total)}`);
  }
  const millis = Number(row["execution_time_ms"]);
  return {
    version,
    description: String(row["description"] ?? ""),
    state,
    applied: Math.min(total, applied),
    total,
    checksum: String(row["checksum"] ?? ""),
    appliedAt: row["applied_at_text"] == null ? undefined : String(row["applied_at_text"]),
    executionMillis: columns.has("execution_time_ms") && Number.isSafeInteger(millis) ? Math.max(0, millis) : undefined,
  };
}

/** Creates the table, or adds the columns that an older one lacks. @throws Refused, Failure */
export function ensureTable(database: MigrationDatabase, table: RevisionTable): Promise<void> {
  return explained(database, () => ensure(database, table));
}

async function ensure(database: MigrationDatabase, table: RevisionTable): Promise<void> {
  if (!table.present) {
    await database.query(database.dialect.createTable);
    return;
  }
  await database.checkTable();
  for (const name of table.missingColumns) {
    const definition = COLUMNS.find((column) => column.name === name)?.definition ?? "TEXT";
    await database.query(database.dialect.addColumn(name, definition));
  }
}

const WRITTEN: readonly (readonly [string, (entry: RevisionEntry) => unknown])[] = [
  ["description", (e) => e.description],
  ["state", (e) => e.state],
  ["applied", (e) => e.applied],
  ["total", (e) => e.total],
  ["error", (e) => e.error],
  ["error_stmt", (e) => e.errorStatement],
  ["execution_time_ms", (e) => Math.round(e.executionMs)],
  ["checksum", (e) => e.checksum],
];

/** The one row that is meant, or an error: a history that took nothing would let the version run a second time. */
async function writeOne(
  database: MigrationDatabase,
  version: number,
  sql: string,
  values: readonly unknown[],
): Promise<void> {
  if ((await database.write(sql, values)) !== 1) {
    throw new Failure(
      "revision_row_unwritten",
      `the revision table did not take the row of version ${version}; look for a trigger, a rule or a row policy on it`,
    );
  }
}

/** Most bytes of a statement that MySQL's TEXT holds, in whatever character set. */
const MAX_NOTE_BYTES = 65_535;
/** MySQL's and MariaDB's words for a text that its column cannot hold: its characters, its length. */
const UNSTORABLE: readonly number[] = [1366, 1406, 3988];

/** What is noted of a statement never stops it: it is cut to what its column holds, and left out where that cannot hold it. */
async function noted(
  database: MigrationDatabase,
  entry: RevisionEntry,
  write: (entry: RevisionEntry) => Promise<void>,
): Promise<void> {
  if (database.engine === "postgresql") return write(entry);
  try {
    await write({ ...entry, errorStatement: cut(entry.errorStatement) });
  } catch (error) {
    if (!UNSTORABLE.includes(database.answerOf(error)?.mysqlErrno ?? 0)) throw error;
    await write({ ...entry, errorStatement: null, description: entry.description.replaceAll(/[^ -~]/gu, "?") });
  }
}

function cut(text: string | null): string | null {
  if (text === null || Buffer.byteLength(text) <= MAX_NOTE_BYTES) return text;
  const bytes = Buffer.from(text);
  let end = MAX_NOTE_BYTES;
  // Not in the middle of a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** Adds the row of a version that has none. @throws where it is not exactly that row that the table took */
export async function insertRow(database: MigrationDatabase, entry: RevisionEntry): Promise<void> {
  const { dialect } = database;
  const names = ["version", ...WRITTEN.map(([name]) => name)];
  const places = names.map((_, at) => dialect.placeholder(at + 1));
  const sql = `INSERT INTO ${dialect.table} (${names.join(", ")}, applied_at) VALUES (${places.join(", ")}, ${dialect.now})`;
  await noted(database, entry, (row) =>
    writeOne(database, row.version, sql, [row.version, ...WRITTEN.map(([, value]) => value(row))]),
  );
}

/** Rewrites the row of a version. @throws where it is not exactly that row that the table has now */
export async function updateRow(database: MigrationDatabase, entry: RevisionEntry): Promise<void> {
  const { dialect } = database;
  const sets = WRITTEN.map(([name], at) => `${name} = ${dialect.placeholder(at + 1)}`);
  const key = dialect.placeholder(WRITTEN.length + 1);
  const sql = `UPDATE ${dialect.table} SET ${sets.join(", ")}, applied_at = ${dialect.now} WHERE version = ${key}`;
  await noted(database, entry, (row) =>
    writeOne(database, row.version, sql, [...WRITTEN.map(([, value]) => value(row)), row.version]),
  );
}

/** Takes the row of a version away. @throws where it is not exactly that row that went */
export async function deleteRow(database: MigrationDatabase, version: number): Promise<void> {
  const { dialect } = database;
  await writeOne(database, version, `DELETE FROM ${dialect.table} WHERE version = ${dialect.placeholder(1)}`, [
    version,
  ]);
}

/** What the row of a version says is committed; undefined where there is no such row. */
export async function readProgress(
  database: MigrationDatabase,
  version: number,
): Promise<{ readonly state: string; readonly applied: number } | undefined> {
  const { dialect } = database;
  const sql = `SELECT state, applied FROM ${dialect.table} WHERE version = ${dialect.placeholder(1)}`;
  const [row] = await database.query(sql, [version]);
  return row === undefined ? undefined : { state: String(row["state"]), applied: Number(row["applied"]) };
}
