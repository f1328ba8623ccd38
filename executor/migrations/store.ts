/** Reads and writes the revision table, in either engine's SQL. */
import { Refused } from "../contract.ts";
import type { MigrationDatabase, Row } from "./database.ts";
import { COLUMNS, type Revision, type RevisionEntry, type RevisionTable } from "./revisions.ts";

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

/** Reads the whole table; never creates or alters it. @throws Refused where it is not a revision table */
export async function readTable(database: MigrationDatabase): Promise<RevisionTable> {
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
  return { present: true, missingColumns, rows: rows.map((row) => revisionOf(row, columns)) };
}

function selectRows({ dialect }: MigrationDatabase, columns: ReadonlySet<string>): string {
  const wanted = ["version", "description", "state", "applied", "total", "checksum", "execution_time_ms"];
  const fields = wanted.filter((name) => columns.has(name));
  if (columns.has("applied_at")) fields.push(`${dialect.appliedAtText} AS applied_at_text`);
  return `SELECT ${fields.join(", ")} FROM ${dialect.table} ORDER BY version LIMIT ${MAX_REVISIONS + 1}`;
}

function revisionOf(row: Row, columns: ReadonlySet<string>): Revision {
  const version = Number(row["version"]);
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new Refused("revision_row_unreadable", "the revision table has a row whose version is not a positive number");
  }
  const count = (name: string): number => Math.max(0, Number(row[name] ?? 1) || 0);
  const millis = Number(row["execution_time_ms"]);
  const total = columns.has("total") ? count("total") : 1;
  return {
    version,
    description: String(row["description"] ?? ""),
    state: String(row["state"] ?? "applied"),
    applied: Math.min(total, columns.has("applied") ? count("applied") : 1),
    total,
    checksum: String(row["checksum"] ?? ""),
    appliedAt: row["applied_at_text"] == null ? undefined : String(row["applied_at_text"]),
    executionMillis: columns.has("execution_time_ms") && Number.isSafeInteger(millis) ? Math.max(0, millis) : undefined,
  };
}

/** Creates the table, or adds the columns that an older one lacks. */
export async function ensureTable(database: MigrationDatabase, table: RevisionTable): Promise<void> {
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

/** A row was to be written and is not there as it should be: something in the database stands before the table. */
class RowNotWritten extends Error {
  constructor(version: number) {
    super(`the row of version ${version} is not in the revision table as it was written`);
    this.name = "RowNotWritten";
  }
}

/** The one row that is meant, or an error: a history that took nothing would let the version run a second time. */
async function writeOne(
  database: MigrationDatabase,
  version: number,
  sql: string,
  values: readonly unknown[],
): Promise<void> {
  if ((await database.write(sql, values)) !== 1) throw new RowNotWritten(version);
}

/** Adds the row of a version that has none. @throws where it is not exactly that row that the table took */
export async function insertRow(database: MigrationDatabase, entry: RevisionEntry): Promise<void> {
  const { dialect } = database;
  const names = ["version", ...WRITTEN.map(([name]) => name)];
  const places = names.map((_, at) => dialect.placeholder(at + 1));
  const sql = `INSERT INTO ${dialect.table} (${names.join(", ")}, applied_at) VALUES (${places.join(", ")}, ${dialect.now})`;
  await writeOne(database, entry.version, sql, [entry.version, ...WRITTEN.map(([, value]) => value(entry))]);
}

/** Rewrites the row of a version. @throws where it is not exactly that row that the table has now */
export async function updateRow(database: MigrationDatabase, entry: RevisionEntry): Promise<void> {
  const { dialect } = database;
  const sets = WRITTEN.map(([name], at) => `${name} = ${dialect.placeholder(at + 1)}`);
  const key = dialect.placeholder(WRITTEN.length + 1);
  const sql = `UPDATE ${dialect.table} SET ${sets.join(", ")}, applied_at = ${dialect.now} WHERE version = ${key}`;
  await writeOne(database, entry.version, sql, [...WRITTEN.map(([, value]) => value(entry)), entry.version]);
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
