/** What a file makes of its session: it reaches neither its own row nor the next file. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { benchesFor, type EngineName, migrationDirectory, runUp, startPtah } from "../cases/migration-bench.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;

const NO_TRANSACTION = "-- +ptah no_transaction\n";

const fresh = (engine: EngineName, sql = "SELECT 1"): Promise<string> =>
  benches[engine].database(`between_${++made}`, sql);

async function rowOf(engine: EngineName, url: string, version: number): Promise<unknown> {
  const sql = `SELECT state, applied, total FROM schema_migrations WHERE version = ${version}`;
  const [row] = await benches[engine].sql(url, sql);
  return row === undefined ? undefined : [row["state"], Number(row["applied"]), Number(row["total"])];
}

describe("the row of a file without a transaction", () => {
  test("is written whatever role or setting the file took on, on PostgreSQL", async () => {
    const url = await fresh("PostgreSQL", "CREATE ROLE app; CREATE SCHEMA app AUTHORIZATION app");
    const result = await runUp(url, {
      1: `${NO_TRANSACTION}SET ROLE app;\nCREATE TABLE app.a (id int);\nCREATE TABLE app.b (id int);\n`,
      2: `${NO_TRANSACTION}SET default_transaction_read_only = on;\nSELECT 1;\nSELECT 2;\n`,
      3: `${NO_TRANSACTION}SET statement_timeout = 1;\nSELECT 1;\nSET ROLE app;\nCREATE TABLE app.a (id int);\n`,
    });
    expect(result).toMatchObject({ outcome: "partial", applied: [1, 2], failure: { version: 3, statement: 4 } });
    expect(await rowOf("PostgreSQL", url, 3)).toEqual(["failed", 3, 4]);
  });

  for (const engine of ["MariaDB", "MySQL"] as const) {
    test(`is written whatever setting the file took on, on ${engine}`, async () => {
      const url = await fresh(engine, "CREATE TABLE t (id int PRIMARY KEY)");
      const result = await runUp(url, {
        1: `${NO_TRANSACTION}SET sql_select_limit = 0;\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (1);\n`,
      });
      expect(result).toMatchObject({ outcome: "partial", failure: { version: 1, statement: 3 } });
      expect(await rowOf(engine, url, 1)).toEqual(["failed", 2, 3]);
    });
  }
});

describe("the next file on PostgreSQL", () => {
  test("finds no temporary table, prepared statement, cursor or sequence value of the one before", async () => {
    const url = await fresh("PostgreSQL", "CREATE SEQUENCE s");
    const leaving = {
      1: `${NO_TRANSACTION}CREATE TEMPORARY TABLE made (id int);\nPREPARE p AS SELECT 1;\nSELECT nextval('s');\n`,
    };
    const using = ["SELECT * FROM made;\n", "EXECUTE p;\n", "SELECT currval('s');\n"];
    for (const [at, sql] of using.entries()) {
      const target = at === 0 ? url : await fresh("PostgreSQL", "CREATE SEQUENCE s");
      const result = await runUp(target, { ...leaving, 2: sql });
      expect(result).toMatchObject({ outcome: "failed", applied: [1], failure: { version: 2, statement: 1 } });
    }
  });
});

for (const engine of ["MariaDB", "MySQL"] as const) {
  describe(`the next file on ${engine}`, () => {
    const mariadb = engine === "MariaDB";

    test("finds no temporary table, prepared statement or user variable of the one before", async () => {
      const leaving = {
        1: `${NO_TRANSACTION}CREATE TEMPORARY TABLE Made (id int);\nPREPARE p FROM 'SELECT 1';\nSET @left = 7;\n`,
      };
      for (const sql of ["SELECT * FROM Made;\n", `${NO_TRANSACTION}EXECUTE p;\n`]) {
        const result = await runUp(await fresh(engine), { ...leaving, 2: sql });
        expect(result).toMatchObject({ applied: [1], failure: { version: 2, statement: 1 } });
      }
      const url = await fresh(engine);
      const seen = "CREATE TABLE seen (v int);\nINSERT INTO seen VALUES (@left);\n";
      expect(await runUp(url, { ...leaving, 2: seen })).toMatchObject({ outcome: "applied" });
      expect(await benches[engine].sql(url, "SELECT v FROM seen")).toEqual([{ v: null }]);
    });

    test("finds the settings that the session was opened with, and the lock is still held", async () => {
      const url = await fresh(engine, "CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, v varchar(40))");
      const changes = [
        "auto_increment_increment = 10, auto_increment_offset = 7",
        "sql_select_limit = 0",
        "default_storage_engine = MyISAM",
        "timestamp = 1000000000",
        "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
        "NAMES latin1",
        "time_zone = '+03:00'",
        "foreign_key_checks = 0",
        "optimizer_switch = 'index_merge=off'",
        ...(mariadb ? ["max_statement_time = 100"] : []),
      ];
      const [before] = await benches[engine].sql(url, SETTINGS);
      const result = await runUp(url, {
        1: NO_TRANSACTION + changes.map((change) => `SET ${change};\n`).join(""),
        2: `INSERT INTO t (v) VALUES ('a');\nINSERT INTO t (v) VALUES ('b');\nCREATE TABLE seen AS ${SETTINGS};\n`,
        3: `${NO_TRANSACTION}SET @a = 1;\n`,
      });
      expect(result).toMatchObject({ outcome: "applied", applied: [1, 2, 3] });
      expect((await benches[engine].sql(url, "SELECT * FROM t")).map((row) => Number(row["id"]))).toEqual([1, 2]);
      const [seen] = await benches[engine].sql(url, "SELECT * FROM seen");
      const texts = (row: object = {}): object =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
      expect(texts(seen)).toEqual(texts(before));
    });
  });
}

for (const engine of ["MariaDB", "MySQL"] as const) {
  test(`a setting that the user may not put back ends the run on ${engine}, by a code`, async () => {
    const name = `between_${made + 1}`;
    const url = await fresh(
      engine,
      `CREATE PROCEDURE off() SQL SECURITY DEFINER SET SESSION sql_log_bin = 0; CREATE USER ${name}; GRANT ALL ON ${name}.* TO ${name}`,
    );
    const files = { 1: `${NO_TRANSACTION}CALL off();\n`, 2: "SELECT 1;\n" };
    const result = await runUp(url.replace("root@", `${name}@`), files);
    expect(result).toMatchObject({ outcome: "failed", applied: [1], cause: { code: "session_not_restored" } });
    expect(result.error).toContain("sql_log_bin");
    expect(result.failure).toBeUndefined();
  });
}

test("sql_mode ORACLE is refused by its name", async () => {
  const url = await fresh("MariaDB");
  await benches.MariaDB.sql(url, "SET GLOBAL sql_mode = 'ORACLE'");
  const refused = await runUp(url, { 1: "SELECT 1;\n" }).catch((error: { refusal?: { code: string } }) => error);
  await benches.MariaDB.sql(url, "SET GLOBAL sql_mode = DEFAULT");
  expect(refused).toMatchObject({ refusal: { code: "sql_mode_unsupported" } });
});

const SETTINGS = `SELECT @@sql_mode AS m, @@default_storage_engine AS e, @@time_zone AS z, @@foreign_key_checks AS f,
  @@optimizer_switch AS o, NOW() > '2020-01-01' AS n`;

/** Rows of a million letters each, and the most that a process may ever hold: far less than all of them. */
const ROWS = 1_000;
const HUNDRED = "(WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 100) SELECT n FROM s)";
const MOST_KIB = 750 * 1024;

for (const engine of ["PostgreSQL", "MariaDB", "MySQL"] as const) {
  test(`rows that a file asks for are let go as they arrive on ${engine}`, async () => {
    const url = await fresh(engine);
    const [from, of] =
      engine === "PostgreSQL"
        ? [`generate_series(1, ${ROWS}) AS n`, "repeat(chr(65 + n % 20), 1000000)"]
        : [
            `(SELECT a.n + 100 * (b.n - 1) AS n FROM ${HUNDRED} AS a JOIN ${HUNDRED} AS b ON b.n <= ${ROWS / 100}) AS q`,
            "REPEAT(CHAR(65 + n % 20), 1000000)",
          ];
    const directory = migrationDirectory({ 1: `SELECT ${of} FROM ${from};\n` });
    const running = startPtah(url, directory.path, ["up", "--json"]);
    let most = 0;
    const watch = setInterval(async () => {
      const status = await Bun.file(`/proc/${running.child.pid}/status`)
        .text()
        .catch(() => "");
      most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    }, 20);
    const { stdout } = await running.ended;
    clearInterval(watch);
    directory.remove();
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "applied" });
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(MOST_KIB);
  });
}
