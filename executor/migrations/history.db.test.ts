import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  benchesFor,
  ENGINES,
  type EngineName,
  type Files,
  migrationDirectory,
  ptah,
} from "../cases/migration-bench.ts";

const CASES = join(import.meta.dirname, "history-cases");
/** The table as Ptah's own CLI makes it (history-cases/README.md). */
const PTAH_TABLE = `CREATE TABLE schema_migrations (version bigint PRIMARY KEY, description text NOT NULL, applied_at timestamp NULL
  DEFAULT CURRENT_TIMESTAMP, state varchar(32) NOT NULL DEFAULT 'applied', applied int NOT NULL DEFAULT 1, total int NOT NULL DEFAULT 1,
  error text, error_stmt text, execution_time_ms bigint NOT NULL DEFAULT 0, checksum varchar(64) NOT NULL DEFAULT '')`;

type Row = Readonly<Record<string, unknown>>;

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;
const directories: string[] = [];

afterAll(() => {
  for (const path of directories) rmSync(path, { recursive: true, force: true });
});

const fresh = (engine: EngineName, sql?: string): Promise<string> => benches[engine].database(`history_${++made}`, sql);

function directory(files: Files): string {
  const { path } = migrationDirectory(files);
  directories.push(path);
  return path;
}

const literal = (value: unknown): string =>
  value === null ? "NULL" : `'${String(value).replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

/** A database as Ptah's own CLI left it, from the rows it was measured with. */
async function asPtahLeftIt(engine: EngineName, rows: readonly Row[]): Promise<string> {
  const prefix = engine === "PostgreSQL" ? "E" : "";
  const inserts = rows.map((row) => {
    const names = Object.keys(row);
    const values = names.map((name) =>
      typeof row[name] === "string" ? `${prefix}${literal(row[name])}` : literal(row[name]),
    );
    return `INSERT INTO schema_migrations (${names.join(", ")}) VALUES (${values.join(", ")})`;
  });
  return fresh(engine, [PTAH_TABLE, ...inserts].join(";\n"));
}

/** The columns whose meaning the two executors share; the error's text is the server's in the other one. */
const meaning = (row: Row): Row => ({
  version: Number(row["version"]),
  description: row["description"],
  state: row["state"],
  applied: Number(row["applied"]),
  total: Number(row["total"]),
  failed: row["error"] !== null,
  error_stmt: row["error_stmt"],
  checksum: row["checksum"],
});

const tableOf = (engine: EngineName, url: string): Promise<readonly Row[]> =>
  benches[engine].sql(url, "SELECT * FROM schema_migrations ORDER BY version");

for (const engine of ENGINES) {
  const name = engine === "PostgreSQL" ? "postgres" : "mariadb";
  const measured = JSON.parse(readFileSync(join(CASES, `${name}.rows.json`), "utf8")) as readonly Row[];
  const last = measured.length;

  describe(`the history of Ptah's own CLI on ${engine}`, () => {
    test("is read with its verdict, and nothing of it is changed by reading", async () => {
      const url = await asPtahLeftIt(engine, measured);
      const before = await tableOf(engine, url);
      const { status, report } = await ptah(url, join(CASES, name), ["status", "--json"]);
      expect(status).toBe(0);
      expect(report).toMatchObject({
        contract_version: 1,
        current_version: last - 1,
        total_migrations: last,
        has_pending_changes: true,
        dirty_revision: { version: last, applied: 2, total: measured.at(-1)?.["total"] },
      });
      const states = (report["migrations"] as { state: string }[]).map((m) => m.state);
      expect(states).toEqual([...Array.from({ length: last - 1 }, () => "applied"), "dirty"]);
      expect(JSON.stringify(report)).not.toContain("INSERT INTO");
      expect(await tableOf(engine, url)).toEqual(before);
      const { report: run } = await ptah(url, join(CASES, name), ["up", "--json"]);
      expect(run).toMatchObject({ outcome: "failed", planned: [], refusal: { code: "history_dirty" } });
    });

    test("is what the same files leave when they are run here", async () => {
      const url = await fresh(engine);
      const mode = engine === "PostgreSQL" ? "file" : "none";
      const { status, report } = await ptah(url, join(CASES, name), ["up", "--json", "--tx-mode", mode]);
      expect(status).toBe(2);
      expect(report).toMatchObject({
        outcome: "partial",
        failure: { version: last, statement: 3, sqlState: engine === "PostgreSQL" ? "23505" : "23000" },
      });
      expect((await tableOf(engine, url)).map(meaning)).toEqual(measured.map(meaning));
      expect(JSON.stringify(report)).not.toContain("INSERT");
    });
  });

  describe(`a history on ${engine}`, () => {
    const ONE = "CREATE TABLE a (id int);\n";
    const TWO = "CREATE TABLE b (id int);\n";
    const THREE = "CREATE TABLE c (id int);\n";

    test("that does not exist reads as everything pending and is not made by reading", async () => {
      const url = await fresh(engine, "CREATE TABLE mine (id int)");
      const { report } = await ptah(url, directory({ 1: ONE, 2: TWO }), ["status", "--json"]);
      expect(report).toMatchObject({ current_version: 0, pending_migrations: [1, 2], revisions: [] });
      await expect(tableOf(engine, url)).rejects.toThrow();
    });

    test("whose table is there and empty, beside a schema of somebody else's, is a fresh one", async () => {
      const url = await fresh(engine, engine === "PostgreSQL" ? `${PTAH_TABLE}; CREATE SCHEMA provider` : PTAH_TABLE);
      const files = directory({ 1: ONE });
      expect((await ptah(url, files, ["status", "--json"])).report).toMatchObject({ pending_migrations: [1] });
      expect((await ptah(url, files, ["up", "--json"])).report).toMatchObject({ outcome: "applied", applied: [1] });
    });

    test("restored backwards after the approval is caught before anything is changed", async () => {
      const url = await fresh(engine);
      const [short, long] = [directory({ 1: ONE, 2: TWO }), directory({ 1: ONE, 2: TWO, 3: THREE })];
      await ptah(url, short, ["up", "--json"]);
      const approved = join(long, "..", `approved-${made}.json`);
      writeFileSync(approved, JSON.stringify({ migrations: [{ version: 3 }] }));
      directories.push(approved);
      await benches[engine].sql(url, "DROP TABLE b; DELETE FROM schema_migrations WHERE version = 2");
      const { status, report } = await ptah(url, long, ["up", "--json", "--expect-sequence", approved]);
      expect(status).toBe(2);
      expect(report).toMatchObject({
        outcome: "failed",
        planned: [],
        applied: [],
        refusal: { code: "sequence_mismatch" },
      });
      expect((await tableOf(engine, url)).length).toBe(1);
      await expect(benches[engine].sql(url, "SELECT * FROM b")).rejects.toThrow();
      await ptah(url, short, ["up", "--json"]);
      const again = await ptah(url, long, ["up", "--json", "--expect-sequence", approved]);
      expect(again.report).toMatchObject({ outcome: "applied", planned: [3], applied: [3] });
    });

    test("with an edited file, a late version or a version of another directory is refused by name", async () => {
      const url = await fresh(engine);
      await ptah(url, directory({ 1: ONE, 3: THREE }), ["up", "--json"]);
      const code = async (files: Files): Promise<unknown> => {
        const { report } = await ptah(url, directory(files), ["up", "--json"]);
        return (report["refusal"] as { code?: string } | undefined)?.code ?? report["outcome"];
      };
      expect(await code({ 1: `${ONE}-- edited\n`, 3: THREE })).toBe("history_modified");
      expect(await code({ 1: ONE, 2: TWO, 3: THREE })).toBe("history_out_of_order");
      expect(await code({ 1: ONE, 4: TWO })).toBe("history_ahead");
      expect(await code({ 1: ONE, 3: THREE })).toBe("up-to-date");
      const { report } = await ptah(url, directory({ 1: ONE, 2: TWO }), ["status", "--json"]);
      expect(report).toMatchObject({ current_version: 3, unknown_versions: [3], pending_migrations: [2] });
    });

    test("of an older release without states and checksums is read, and completed by the next run", async () => {
      const url = await fresh(
        engine,
        "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, description text NOT NULL); INSERT INTO schema_migrations VALUES (1, 'Step 1')",
      );
      const files = directory({ 1: ONE, 2: TWO });
      const { report } = await ptah(url, files, ["status", "--json"]);
      expect(report).toMatchObject({
        current_version: 1,
        pending_migrations: [2],
        revisions: [{ version: 1, state: "applied" }],
      });
      expect((report["revisions"] as Row[])[0]).not.toHaveProperty("execution_millis");
      expect((await ptah(url, files, ["up", "--json"])).report).toMatchObject({ outcome: "applied", applied: [2] });
      expect((await tableOf(engine, url)).map((row) => row["state"])).toEqual(["applied", "applied"]);
    });

    test("of another tool under the same name is refused", async () => {
      const url = await fresh(engine, "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty int)");
      const { status, report } = await ptah(url, directory({ 1: ONE }), ["status", "--json"]);
      expect([status, report["outcome"], (report["refusal"] as Row)["code"]]).toEqual([
        2,
        "refused",
        "revision_table_foreign",
      ]);
    });

    test("of a fresh database begins at the newest checkpoint, and of another one passes it over", async () => {
      const files = directory({ 1: ONE, 2: TWO, 4: THREE });
      for (const half of ["up", "down"]) {
        writeFileSync(
          join(files, `0000000003_squashed.checkpoint.${half}.sql`),
          half === "up" ? `${ONE}${TWO}` : "SELECT 1;\n",
        );
      }
      const bootstrapped = await fresh(engine);
      const { report } = await ptah(bootstrapped, files, ["up", "--json"]);
      expect(report).toMatchObject({ outcome: "applied", applied: [3, 4] });
      const { report: read } = await ptah(bootstrapped, files, ["status", "--json"]);
      expect(read).toMatchObject({ checkpoint_version: 3, has_pending_changes: false, current_version: 4 });
      expect((read["migrations"] as Row[]).map((m) => m["state"])).toEqual([
        "checkpoint-covered",
        "checkpoint-covered",
        "applied",
        "applied",
      ]);
      const existing = await fresh(engine);
      await ptah(existing, directory({ 1: ONE }), ["up", "--json"]);
      expect((await ptah(existing, files, ["up", "--json"])).report).toMatchObject({
        outcome: "applied",
        applied: [2, 4],
      });
    });

    test("with a file that failed half-way: the file is edited, and pending and success are told truly", async () => {
      const url = await fresh(engine);
      const broken = directory({
        1: "-- +ptah no_transaction\nCREATE TABLE a (id int);\nINSERT INTO missing VALUES (1);\n",
      });
      expect((await ptah(url, broken, ["up", "--json"])).report).toMatchObject({
        outcome: "partial",
        failure: { version: 1, statement: 2 },
      });
      const mended = directory({ 1: "-- +ptah no_transaction\nCREATE TABLE a (id int);\nINSERT INTO a VALUES (1);\n" });
      expect((await ptah(url, mended, ["up", "--json"])).report).toMatchObject({ refusal: { code: "history_dirty" } });
      const read = await ptah(url, mended, ["status", "--json"]);
      expect(read.report).toMatchObject({
        has_pending_changes: true,
        pending_migrations: [1],
        dirty_revision: { version: 1 },
      });
      const resumed = await ptah(url, mended, ["repair", "--version", "1", "--resume-from", "2"]);
      expect(resumed.report).toMatchObject({ outcome: "changed", recorded: [1] });
      expect((await ptah(url, mended, ["status", "--json"])).report).toMatchObject({
        has_pending_changes: false,
        current_version: 1,
      });
      expect((await benches[engine].sql(url, "SELECT id FROM a")).length).toBe(1);
    });
  });

  describe(`a person's changes of a history on ${engine}`, () => {
    test("baseline records what a database already holds, and the next run goes on from there", async () => {
      const url = await fresh(engine, "CREATE TABLE a (id int)");
      const files = directory({ 1: "CREATE TABLE a (id int);\n", 2: "CREATE TABLE b (id int);\n" });
      const dry = await ptah(url, files, ["baseline", "--version", "1", "--dry-run"]);
      expect(dry.report).toMatchObject({ outcome: "dry-run", recorded: [1] });
      await expect(tableOf(engine, url)).rejects.toThrow();
      expect((await ptah(url, files, ["baseline", "--version", "1"])).report).toMatchObject({
        outcome: "changed",
        recorded: [1],
      });
      expect((await ptah(url, files, ["up", "--json"])).report).toMatchObject({ outcome: "applied", applied: [2] });
      expect((await ptah(url, files, ["baseline", "--version", "2"])).report).toMatchObject({
        refusal: { code: "history_not_empty" },
      });
      const shadow = await ptah(url, files, ["baseline", "--version", "2", "--shadow-db", "x"]);
      expect(shadow.report).toMatchObject({ refusal: { code: "shadow_db_unsupported" } });
    });

    test("a dry run tells what would be run from what would only be recorded, and changes nothing", async () => {
      const url = await fresh(engine);
      const files = directory({
        1: "CREATE TABLE a (id int);\n",
        2: "INSERT INTO a VALUES (1);\nINSERT INTO b VALUES (1);\n",
      });
      await ptah(url, files, ["up", "--json"]);
      const before = await tableOf(engine, url);
      const word = await ptah(url, files, ["repair", "--version", "2", "--force", "--dry-run"]);
      expect(word.report).toMatchObject({ outcome: "dry-run", recorded: [2], recorded_only: [2] });
      expect(word.report).not.toHaveProperty("run");
      expect(word.report).toHaveProperty(
        "would",
        "would record version 2 as applied and run none of its statements; its row says that 0 of its 2 statements are committed",
      );
      const run = await ptah(url, files, ["repair", "--version", "2", "--resume-from", "1", "--dry-run"]);
      expect(run.report).toMatchObject({
        outcome: "dry-run",
        recorded: [2],
        recorded_only: [],
        run: [{ version: 2, from_statement: 1, statements: 2 }],
        would:
          "would run version 2 from statement 1 of 2 on, on this database, in one transaction, and record it as applied",
      });
      expect(await tableOf(engine, url)).toEqual(before);
      const failed = await ptah(url, files, ["repair", "--version", "2", "--resume-from", "1"]);
      expect(failed.status).toBe(2);
      expect(failed.report).toMatchObject({ outcome: "failed", recorded: [], run: [{ from_statement: 1 }] });
    });

    test("set moves the boundary both ways and repair asks before it believes", async () => {
      const url = await fresh(engine);
      const files = directory({ 1: "CREATE TABLE a (id int);\n", 2: "INSERT INTO missing VALUES (1);\n" });
      await ptah(url, files, ["up", "--json"]);
      const asked = await ptah(url, files, ["repair", "--version", "2"]);
      expect(asked.report).toMatchObject({ outcome: "refused", refusal: { code: "repair_incomplete" } });
      expect((await ptah(url, files, ["repair", "--version", "2", "--force"])).report).toMatchObject({
        outcome: "changed",
        recorded: [2],
      });
      expect((await ptah(url, files, ["set", "--version", "0"])).report).toMatchObject({
        outcome: "changed",
        removed: [1, 2],
      });
      expect((await ptah(url, files, ["set", "--version", "2"])).report).toMatchObject({
        outcome: "changed",
        recorded: [1, 2],
      });
      expect((await ptah(url, files, ["set", "--version", "2"])).report).toMatchObject({ outcome: "unchanged" });
      expect((await ptah(url, files, ["status", "--json"])).report).toMatchObject({
        current_version: 2,
        has_pending_changes: false,
      });
    });
  });
}
