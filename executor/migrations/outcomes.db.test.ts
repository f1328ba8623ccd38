import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  benchesFor,
  ENGINES,
  type EngineName,
  migrationDirectory,
  openBench,
  ptah,
  runUp,
} from "../cases/migration-bench.ts";
import { readTable } from "./store.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;

const fresh = (engine: EngineName, sql?: string): Promise<string> =>
  benches[engine].database(`outcomes_${++made}`, sql);

async function count(engine: EngineName, url: string, table: string): Promise<number> {
  const [row] = await benches[engine].sql(url, `SELECT COUNT(*) AS n FROM ${table}`);
  return Number(row?.["n"]);
}

async function tableExists(engine: EngineName, url: string, table: string): Promise<boolean> {
  const database = new URL(url).pathname.slice(1);
  const schema = engine === "PostgreSQL" ? "public" : database;
  const sql = `SELECT 1 AS n FROM information_schema.tables WHERE table_schema = '${schema}' AND table_name = '${table}'`;
  return (await benches[engine].sql(url, sql)).length === 1;
}

async function rowOf(
  url: string,
  version: number,
): Promise<{ state: string; applied: number; total: number } | undefined> {
  const database = await openBench(url);
  try {
    const row = (await readTable(database)).rows.find((r) => r.version === version);
    return row === undefined ? undefined : { state: row.state, applied: row.applied, total: row.total };
  } finally {
    await database.end();
  }
}

/** The code a run was refused with, undefined for one that went through. */
const refusalOf = (run: Promise<unknown>): Promise<string | undefined> =>
  run.then(
    () => undefined,
    (error: { refusal?: { code: string } }) => error.refusal?.code ?? String(error),
  );

const BASE = "CREATE TABLE t (id bigint PRIMARY KEY);\n";
const STATEMENTS = 5;
/** Five inserts; the one that fails repeats the key 1 that the first version put in. */
const inserts = (failing: number, tag: string, header = ""): string =>
  `${header}${Array.from({ length: STATEMENTS }, (_, at) =>
    at + 1 === failing
      ? `INSERT INTO t (id) VALUES (1 /* ${tag}-${at + 1} */);`
      : `INSERT INTO t (id) VALUES (${at + 10} /* ${tag}-${at + 1} */);`,
  ).join("\n")}\n`;

for (const engine of ENGINES) {
  describe(`a file of five statements on ${engine}`, () => {
    for (let failing = 1; failing <= STATEMENTS; failing++) {
      test(`that fails at statement ${failing} in a transaction keeps nothing of it`, async () => {
        const url = await fresh(engine);
        const tag = `file${made}`;
        const files = { 1: `${BASE}INSERT INTO t VALUES (1);\n`, 2: inserts(failing, tag) };
        const result = await runUp(url, files);
        expect(result).toMatchObject({ outcome: "failed", planned: [1, 2], applied: [1] });
        expect(result.failure).toMatchObject({ version: 2, statement: failing });
        expect(result.failure?.sqlState).toMatch(/^23/);
        expect(result.failure?.mysqlErrno).toBe(engine === "PostgreSQL" ? undefined : 1062);
        expect(await count(engine, url, "t")).toBe(1);
        expect(await rowOf(url, 2)).toEqual({ state: "failed", applied: 0, total: STATEMENTS });
        expect(await refusalOf(runUp(url, files))).toBe("history_dirty");
        for (let at = 1; at <= STATEMENTS; at++) {
          expect(benches[engine].received(`${tag}-${at} `)).toBe(at <= failing ? 1 : 0);
        }
      });

      test(`that fails at statement ${failing} without one keeps those before it`, async () => {
        const url = await fresh(engine);
        const tag = `none${made}`;
        const files = {
          1: `${BASE}INSERT INTO t VALUES (1);\n`,
          2: inserts(failing, tag, "-- +ptah no_transaction\n"),
        };
        const result = await runUp(url, files);
        expect(result).toMatchObject({ outcome: failing === 1 ? "failed" : "partial", applied: [1] });
        expect(result.failure).toMatchObject({ version: 2, statement: failing });
        expect(await count(engine, url, "t")).toBe(failing);
        expect(await rowOf(url, 2)).toEqual({ state: "failed", applied: failing - 1, total: STATEMENTS });
        expect(await refusalOf(runUp(url, files))).toBe("history_dirty");
        for (let at = 1; at <= STATEMENTS; at++) {
          expect(benches[engine].received(`${tag}-${at} `)).toBe(at <= failing ? 1 : 0);
        }
      });
    }

    test("that cannot be sent at all stops the run before anything of it", async () => {
      const url = await fresh(engine);
      const files = { 1: BASE, 2: "BEGIN;\nINSERT INTO t VALUES (1);\nCOMMIT;\n" };
      const refused = await refusalOf(runUp(url, files));
      expect(refused).toBe("migration_statement_refused");
      expect(await tableExists(engine, url, "t")).toBe(false);
      expect(await tableExists(engine, url, "schema_migrations")).toBe(false);
    });
  });
}

describe("what PostgreSQL keeps", () => {
  test("a commit that a deferred constraint refuses keeps nothing and names no statement", async () => {
    const url = await fresh(
      "PostgreSQL",
      "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
    );
    const result = await runUp(url, { 1: "INSERT INTO c VALUES (7);\n" });
    expect(result).toMatchObject({ outcome: "failed", applied: [] });
    expect(result.failure).toBeUndefined();
    expect(result.error).toContain("23503");
    expect(await count("PostgreSQL", url, "c")).toBe(0);
    expect(await rowOf(url, 1)).toEqual({ state: "failed", applied: 0, total: 1 });
  });

  test("all versions in one transaction are kept together or not at all", async () => {
    const url = await fresh("PostgreSQL");
    const broken = await runUp(
      url,
      { 1: BASE, 2: "INSERT INTO t VALUES (1);\n", 3: "INSERT INTO t VALUES (1);\n" },
      "all",
    );
    expect(broken).toMatchObject({ outcome: "failed", planned: [1, 2, 3], applied: [] });
    expect(broken.failure).toMatchObject({ version: 3, statement: 1, sqlState: "23505" });
    expect(await tableExists("PostgreSQL", url, "t")).toBe(false);
    const whole = await runUp(url, { 1: BASE, 2: "INSERT INTO t VALUES (1);\n" }, "all");
    expect(whole).toMatchObject({ outcome: "applied", applied: [1, 2] });
    const mixed = { 1: BASE, 2: "INSERT INTO t VALUES (1);\n", 3: "-- +ptah no_transaction\nSELECT 1;\n" };
    expect(await refusalOf(runUp(url, mixed, "all"))).toBe("transaction_mode_conflict");
  });

  test("an index built outside a transaction that fails leaves the outcome open, for an invalid index is left", async () => {
    const url = await fresh("PostgreSQL", "CREATE TABLE t (id int); INSERT INTO t VALUES (1), (1)");
    const result = await runUp(url, { 1: "-- +ptah no_transaction\nCREATE UNIQUE INDEX CONCURRENTLY u ON t (id);\n" });
    expect(result).toMatchObject({
      outcome: "unknown",
      applied: [],
      failure: { version: 1, statement: 1, sqlState: "23505" },
    });
    expect(await rowOf(url, 1)).toEqual({ state: "pending", applied: 0, total: 1 });
  });

  test("a file's role, settings and timeouts end with it", async () => {
    const url = await fresh("PostgreSQL", "CREATE ROLE limited; GRANT CREATE ON SCHEMA public TO limited");
    const files = {
      1: "-- +ptah statement_timeout=5s lock_timeout=3s\nSET ROLE limited;\nCREATE TABLE t (id int);\nSET search_path = pg_catalog;\n",
      2: "CREATE TABLE seen AS SELECT current_user::text AS who, current_setting('statement_timeout') AS s, current_setting('search_path') AS p;\n",
    };
    expect(await runUp(url, files)).toMatchObject({ outcome: "applied", applied: [1, 2] });
    expect(await benches.PostgreSQL.sql(url, "SELECT * FROM public.seen")).toEqual([
      { who: "ptah_test", s: "0", p: '"$user", public' },
    ]);
    expect(await rowOf(url, 1)).toEqual({ state: "applied", applied: 3, total: 3 });
  });
});

test("one transaction around all versions is not there for MySQL and MariaDB", async () => {
  const files = migrationDirectory({ 1: BASE });
  for (const engine of ["MariaDB", "MySQL"] as const) {
    const { status, report } = await ptah(await fresh(engine), files.path, ["up", "--json", "--tx-mode", "all"]);
    expect([status, report["outcome"]]).toEqual([2, "failed"]);
    expect(report["refusal"]).toMatchObject({ code: "transaction_mode_unsupported" });
  }
  files.remove();
});

test("a statement's bound that MySQL has for queries alone is refused there and kept on MariaDB", async () => {
  const files = { 1: `-- +ptah statement_timeout=300ms\n${BASE}INSERT INTO t SELECT seq FROM seq_1_to_100000000;\n` };
  expect(await refusalOf(runUp(await fresh("MySQL"), files))).toBe("migration_directive_unsupported");
  const url = await fresh("MariaDB");
  expect(await runUp(url, files)).toMatchObject({ outcome: "partial", failure: { statement: 2, mysqlErrno: 1969 } });
});

for (const engine of ["MariaDB", "MySQL"] as const) {
  describe(`statements that commit by themselves on ${engine}`, () => {
    const SETUP = "CREATE TABLE t (id bigint PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 1)";

    test("a data statement that fails after one keeps everything through it, also in mode file", async () => {
      const url = await fresh(engine, SETUP);
      const sql =
        "INSERT INTO t VALUES (3, 3);\nALTER TABLE t ADD COLUMN w int;\nINSERT INTO t VALUES (4, 4, 4);\nINSERT INTO t VALUES (1, 1, 1);\n";
      const result = await runUp(url, { 1: sql });
      expect(result).toMatchObject({
        outcome: "partial",
        applied: [],
        failure: { version: 1, statement: 4, mysqlErrno: 1062 },
      });
      expect(await count(engine, url, "t")).toBe(3);
      expect(await rowOf(url, 1)).toEqual({ state: "failed", applied: 2, total: 4 });
    });

    for (const mode of ["file", "none"] as const) {
      test(`a unique index that duplicates stop leaves the outcome open in mode ${mode}`, async () => {
        const url = await fresh(engine, SETUP);
        const sql = "INSERT INTO t VALUES (3, 3);\nCREATE UNIQUE INDEX u ON t (v);\nINSERT INTO t VALUES (4, 4);\n";
        const result = await runUp(url, { 1: sql }, mode);
        expect(result).toMatchObject({ outcome: "unknown", failure: { version: 1, statement: 2, mysqlErrno: 1062 } });
        expect(result.error).toContain("not recorded");
        expect(await rowOf(url, 1)).toEqual({ state: "pending", applied: 1, total: 3 });
        expect(await count(engine, url, "t")).toBe(3);
      });

      test(`a definition the server refuses before it begins is a failure in mode ${mode}`, async () => {
        const url = await fresh(engine, SETUP);
        const result = await runUp(url, { 1: "INSERT INTO t VALUES (3, 3);\nALTER TABLE t ADD COLUMN v int;\n" }, mode);
        expect(result).toMatchObject({ outcome: "partial", failure: { version: 1, statement: 2, mysqlErrno: 1060 } });
        expect(await rowOf(url, 1)).toEqual({ state: "failed", applied: 1, total: 2 });
        expect(await count(engine, url, "t")).toBe(3);
      });

      test(`text the server cannot read keeps what came before only where that was committed, in mode ${mode}`, async () => {
        const url = await fresh(engine, SETUP);
        const result = await runUp(url, { 1: "INSERT INTO t VALUES (3, 3);\nALTER TABEL t ADD w int;\n" }, mode);
        const outcome = mode === "file" ? "failed" : "partial";
        expect(result).toMatchObject({ outcome, failure: { version: 1, statement: 2, mysqlErrno: 1064 } });
        expect(await count(engine, url, "t")).toBe(mode === "file" ? 2 : 3);
      });
    }

    test("a data statement that fails beside tables that cannot roll back leaves the outcome open", async () => {
      const url = await fresh(engine, `${SETUP}; CREATE TABLE m (id int PRIMARY KEY) ENGINE=MyISAM`);
      const result = await runUp(url, { 1: "INSERT INTO m VALUES (1), (2), (1);\n" }, "none");
      expect(result).toMatchObject({ outcome: "unknown", failure: { version: 1, statement: 1, mysqlErrno: 1062 } });
      const inFile = await runUp(await fresh(engine, "CREATE TABLE m (id int PRIMARY KEY) ENGINE=MyISAM"), {
        1: "INSERT INTO m VALUES (1), (2), (1);\n",
      });
      expect(inFile).toMatchObject({ outcome: "unknown" });
      await benches[engine].sql(url, "DROP TABLE m");
    });

    test("a session's settings end with the file that changed them", async () => {
      const url = await fresh(engine, SETUP);
      const result = await runUp(url, {
        1: "-- +ptah lock_timeout=3s\nSET foreign_key_checks = 0;\nSET time_zone = '+03:00';\nINSERT INTO t VALUES (5, 5);\n",
        2: "CREATE TABLE seen AS SELECT @@foreign_key_checks AS f, @@autocommit AS a, @@time_zone AS z;\n",
      });
      expect(result).toMatchObject({ outcome: "applied", applied: [1, 2] });
      const [row] = await benches[engine].sql(url, "SELECT * FROM seen");
      expect(Number(row?.["f"])).toBe(1);
      expect(row?.["z"]).toBe("SYSTEM");
    });
  });
}
