/** A version counts as applied only where its row is in the table: whatever stands before the table, no version runs twice unseen. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  benchesFor,
  ENGINES,
  type EngineName,
  type Files,
  migrationDirectory,
  ptah,
  runUp,
} from "../cases/migration-bench.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;

const TABLE = "CREATE TABLE t (id int)";
const COLUMNS = `version bigint PRIMARY KEY, description text NOT NULL, applied_at timestamp NULL DEFAULT CURRENT_TIMESTAMP,
  state varchar(32) NOT NULL DEFAULT 'applied', applied int NOT NULL DEFAULT 1, total int NOT NULL DEFAULT 1,
  error text, error_stmt text, execution_time_ms bigint NOT NULL DEFAULT 0, checksum varchar(64) NOT NULL DEFAULT ''`;
const NO_TRANSACTION = "-- +ptah no_transaction\n";

const fresh = (engine: EngineName, sql = TABLE): Promise<string> => benches[engine].database(`written_${++made}`, sql);

const count = async (engine: EngineName, url: string): Promise<number> =>
  (await benches[engine].sql(url, "SELECT id FROM t")).length;

const states = async (engine: EngineName, url: string): Promise<unknown[]> =>
  (await benches[engine].sql(url, "SELECT state FROM schema_migrations ORDER BY version")).map((row) => row["state"]);

/** The second run finds the version dirty. */
async function blocked(url: string, files: Files): Promise<void> {
  const directory = migrationDirectory(files);
  const { report } = await ptah(url, directory.path, ["up"]);
  expect(report).toMatchObject({ outcome: "failed", planned: [], refusal: { code: "history_dirty" } });
  directory.remove();
}

for (const engine of ENGINES) {
  const shadow =
    engine === "PostgreSQL"
      ? []
      : [
          ["a temporary table of its name", `CREATE TEMPORARY TABLE schema_migrations (${COLUMNS})`],
          [
            "a temporary table with its rows",
            "CREATE TEMPORARY TABLE schema_migrations AS SELECT * FROM schema_migrations",
          ],
        ];
  test(`a version without a statement is applied on ${engine}, and named`, async () => {
    const files = { 1: "", 2: "-- nothing yet\n", 3: "INSERT INTO t VALUES (1);\n" };
    for (const mode of ["file", "none"] as const) {
      const url = await fresh(engine);
      const result = await runUp(url, files, mode);
      expect(result).toMatchObject({ outcome: "applied", applied: [1, 2, 3], without_statements: [1, 2] });
      expect(await states(engine, url)).toEqual(["applied", "applied", "applied"]);
      const directory = migrationDirectory(files);
      expect((await ptah(url, directory.path, ["up"])).report).not.toHaveProperty("without_statements");
      directory.remove();
    }
  });

  describe(`a file on ${engine} that keeps its row from being written`, () => {
    for (const [what, sql] of [
      ["its deletion", "DELETE FROM schema_migrations"],
      ["another version in it", "UPDATE schema_migrations SET version = 99"],
      ...shadow,
    ] as const) {
      const files = { 1: `INSERT INTO t VALUES (1);\n${sql};\n` };

      test(`by ${what} in a transaction is rolled back, and the row is there again`, async () => {
        const url = await fresh(engine);
        const result = await runUp(url, files);
        expect(result).toMatchObject({ outcome: "failed", planned: [1], applied: [] });
        expect(await count(engine, url)).toBe(0);
        expect(await states(engine, url)).toEqual(["failed"]);
        await blocked(url, files);
      });

      test(`by ${what} outside of one is in the history whatever the file did, and does not run a second time`, async () => {
        const url = await fresh(engine);
        const result = await runUp(url, { 1: `${NO_TRANSACTION}${files[1]}` });
        expect(await count(engine, url)).toBe(1);
        // A temporary table is its session's own, and there the row goes through another one.
        if (sql.includes("TEMPORARY")) return expect(await states(engine, url)).toEqual(["applied"]);
        expect(result).toMatchObject({ outcome: "unknown", planned: [1], applied: [] });
        await blocked(url, files);
        expect(await count(engine, url)).toBe(1);
      });
    }

    test("by dropping the whole table outside of a transaction leaves it unknown what is kept", async () => {
      const url = await fresh(engine);
      const files = { 1: `${NO_TRANSACTION}INSERT INTO t VALUES (1);\nDROP TABLE schema_migrations;\n` };
      expect(await runUp(url, files)).toMatchObject({ outcome: "unknown", planned: [1], applied: [] });
    });
  });
}

for (const engine of ["MariaDB", "MySQL"] as const) {
  test(`a row deleted before a definition on ${engine} is noticed before that commits it`, async () => {
    const url = await fresh(engine);
    const files = { 1: "INSERT INTO t VALUES (1);\nDELETE FROM schema_migrations;\nCREATE TABLE u (id int);\n" };
    expect(await runUp(url, files)).toMatchObject({ outcome: "failed", applied: [] });
    expect(await count(engine, url)).toBe(0);
    await blocked(url, files);
  });

  test(`a table of rows that is dropped in a transaction on ${engine} is unknown`, async () => {
    const url = await fresh(engine);
    const files = { 1: "INSERT INTO t VALUES (1);\nDROP TABLE schema_migrations;\n" };
    expect(await runUp(url, files)).toMatchObject({ outcome: "unknown", applied: [] });
  });
}

describe("a revision table on PostgreSQL", () => {
  const FUNCTION =
    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER nothing BEFORE";
  const ON = "ON schema_migrations FOR EACH ROW EXECUTE FUNCTION nothing()";

  for (const [what, sql, kept] of [
    ["a trigger that swallows new rows", `${FUNCTION} INSERT ${ON}`, 0],
    ["a trigger that swallows changes", `${FUNCTION} UPDATE ${ON}`, 1],
    ["a rule that swallows new rows", "CREATE RULE nothing AS ON INSERT TO schema_migrations DO INSTEAD NOTHING", 0],
    ["a rule that swallows changes", "CREATE RULE nothing AS ON UPDATE TO schema_migrations DO INSTEAD NOTHING", 1],
  ] as const) {
    for (const mode of ["file", "all", "none"] as const) {
      test(`with ${what} never lets a version count as applied in mode ${mode}`, async () => {
        const url = await fresh("PostgreSQL", `${TABLE}; CREATE TABLE schema_migrations (${COLUMNS}); ${sql}`);
        const result = await runUp(url, { 1: "INSERT INTO t VALUES (1);\n" }, mode);
        // Mode all writes its rows once, as applied.
        if (mode === "all" && kept === 1) return expect(result.outcome).toBe("applied");
        expect(result.applied).toEqual([]);
        const ran = mode === "none" && kept === 1;
        expect(["failed", "partial", "unknown"]).toContain(result.outcome);
        if (!ran) expect(result.outcome).toBe("failed");
        expect(await count("PostgreSQL", url)).toBe(ran ? 1 : 0);
        expect((await states("PostgreSQL", url)).length).toBe(mode === "all" ? 0 : kept);
      });
    }
  }

  test("whose row the server refuses tells the state in the report, in each mode", async () => {
    const rule = "CREATE RULE nothing AS ON INSERT TO schema_migrations DO INSTEAD NOTHING";
    const url = await fresh("PostgreSQL", `${TABLE}; CREATE TABLE schema_migrations (${COLUMNS}); ${rule}`);
    for (const mode of ["file", "all", "none"] as const) {
      const { cause } = await runUp(url, { 1: "INSERT INTO t VALUES (1);\n" }, mode);
      expect(cause).toEqual({ code: "revision_row_unwritten", sqlstate: "0A000" });
    }
  });

  test("beside a commit that the server refuses tells the state of that", async () => {
    const url = await fresh("PostgreSQL", "CREATE TABLE t (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    for (const mode of ["file", "all"] as const) {
      const result = await runUp(url, { 1: "INSERT INTO t VALUES (1), (1);\n" }, mode);
      expect(result).toMatchObject({ outcome: "failed", cause: { code: "commit_refused", sqlstate: "23505" } });
      await benches.PostgreSQL.sql(url, "DELETE FROM schema_migrations");
    }
  });

  for (const [what, sql] of [
    ["a view", `CREATE TABLE m (${COLUMNS}); CREATE VIEW schema_migrations AS SELECT * FROM m WHERE version > 5`],
    ["an unlogged table", `CREATE UNLOGGED TABLE schema_migrations (${COLUMNS})`],
    ["a table without a key", `CREATE TABLE schema_migrations (${COLUMNS.replace("PRIMARY KEY", "")})`],
    [
      "a table with half a key",
      `CREATE TABLE schema_migrations (${COLUMNS.replace("PRIMARY KEY", "")}, UNIQUE (version, state))`,
    ],
    ["a composite type", `CREATE TYPE schema_migrations AS (${"version bigint, description text"})`],
  ] as const) {
    test(`that is ${what} is refused before anything runs`, async () => {
      const url = await fresh("PostgreSQL", `${TABLE}; ${sql}`);
      const directory = migrationDirectory({ 1: "INSERT INTO t VALUES (1);\n" });
      const { report } = await ptah(url, directory.path, ["up"]);
      expect(report).toMatchObject({ outcome: "failed", planned: [], refusal: { code: "revision_table_unsuitable" } });
      expect(await count("PostgreSQL", url)).toBe(0);
      directory.remove();
    });
  }
});
