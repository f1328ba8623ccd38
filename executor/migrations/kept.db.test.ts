/** What a run says is kept, where the text of a file does not show what its statements do. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { benchesFor, type EngineName, type Files, runUp } from "../cases/migration-bench.ts";
import { until } from "../cases/test-server.ts";

const benches = benchesFor({ beforeAll, afterAll });
let made = 0;

const NO_TRANSACTION = "-- +ptah no_transaction\n";

const fresh = (engine: EngineName, sql = "CREATE TABLE t (v varchar(20) PRIMARY KEY)"): Promise<string> =>
  benches[engine].database(`kept_${++made}`, sql);

async function values(engine: EngineName, url: string): Promise<readonly string[]> {
  return (await benches[engine].sql(url, "SELECT v FROM t ORDER BY v")).map((row) => String(row["v"]));
}

async function rowOf(engine: EngineName, url: string, version: number): Promise<unknown> {
  const sql = `SELECT state, applied, total FROM schema_migrations WHERE version = ${version}`;
  const [row] = await benches[engine].sql(url, sql);
  return row === undefined ? undefined : [row["state"], Number(row["applied"]), Number(row["total"])];
}

describe("strings that PostgreSQL would read otherwise than the file was split", () => {
  const HIDDEN = "INSERT INTO t VALUES ('a\\''); COMMIT; SELECT ' -- ' /*\n) -- */\n;\nSELECT 1/0;\n";
  for (const mode of ["file", "all"] as const) {
    test(`never hide a commit where the file changes the reading, in mode ${mode}`, async () => {
      const url = await fresh("PostgreSQL");
      const result = await runUp(url, { 1: `SET standard_conforming_strings = off;\n${HIDDEN}` }, mode);
      expect(result).toMatchObject({ outcome: "failed", applied: [], failure: { version: 1, statement: 1 } });
      expect(result.error).toContain("standard_conforming_strings");
      expect(await values("PostgreSQL", url)).toEqual([]);
    });

    test(`never hide a commit where the database's own setting changes the reading, in mode ${mode}`, async () => {
      const url = await fresh("PostgreSQL");
      const name = new URL(url).pathname.slice(1);
      await benches.PostgreSQL.sql(url, `ALTER DATABASE ${name} SET standard_conforming_strings = off`);
      const result = await runUp(url, { 1: "SELECT 1;\n", 2: HIDDEN }, mode);
      expect(result).toMatchObject({ outcome: "failed", failure: { version: 2, statement: 2, sqlState: "22012" } });
      expect(await values("PostgreSQL", url)).toEqual([]);
    });
  }

  test("are told where a function turned the setting, without a transaction too", async () => {
    const url = await fresh("PostgreSQL");
    const result = await runUp(url, {
      1: `${NO_TRANSACTION}INSERT INTO t VALUES ('1');\nSELECT set_config('standard_conforming_strings', 'off', false);\nSELECT 1;\n`,
    });
    expect(result).toMatchObject({ outcome: "unknown", failure: { version: 1, statement: 2 } });
    expect(await rowOf("PostgreSQL", url, 1)).toEqual(["pending", 1, 3]);
  });
});

for (const engine of ["MariaDB", "MySQL"] as const) {
  describe(`a transaction that a statement leaves open on ${engine}`, () => {
    const LEAVING: Readonly<Record<string, string>> = {
      "an executable comment": "/*!40101 SET autocommit=0 */;",
      "a routine": "CALL begins();",
      "a prepared statement": "EXECUTE off;",
    };
    for (const [what, statement] of Object.entries(LEAVING)) {
      test(`by ${what} fails there, and what is kept is in the row`, async () => {
        const url = await fresh(
          engine,
          "CREATE TABLE t (v varchar(20) PRIMARY KEY); CREATE PROCEDURE begins() BEGIN START TRANSACTION; INSERT INTO t VALUES ('open'); END",
        );
        const prepare = "PREPARE off FROM 'SET autocommit=0';\nINSERT INTO t VALUES ('1');\n";
        const result = await runUp(url, {
          1: `${NO_TRANSACTION}${prepare}${statement}\nINSERT INTO t VALUES ('2');\n`,
        });
        expect(result).toMatchObject({ outcome: "unknown", applied: [], failure: { version: 1, statement: 3 } });
        expect(result.error).toContain("autocommit");
        expect(await values(engine, url)).toEqual(["1"]);
        expect(await rowOf(engine, url, 1)).toEqual(["pending", 2, 4]);
      });
    }

    test("by a routine that is then refused does not take the row with it", async () => {
      const url = await fresh(
        engine,
        "CREATE TABLE t (v varchar(20) PRIMARY KEY); CREATE PROCEDURE begins() BEGIN START TRANSACTION; SIGNAL SQLSTATE '45000'; END",
      );
      const result = await runUp(url, { 1: `${NO_TRANSACTION}INSERT INTO t VALUES ('1');\nCALL begins();\n` });
      expect(result).toMatchObject({ outcome: "unknown", failure: { statement: 2, sqlState: "45000" } });
      const [row] = await benches[engine].sql(url, "SELECT error FROM schema_migrations");
      expect(String(row?.["error"])).toContain("45000");
    });
  });

  test(`what was taken for a commit and is none is not told as kept on ${engine}`, async () => {
    const none = engine === "MariaDB" ? "DROP TEMPORARY SEQUENCE IF EXISTS s" : "ALTER TABLE made ADD COLUMN w int";
    for (const statement of [none, "CREATE TEMPORARY TABLE more (a int)"]) {
      const url = await fresh(engine, "CREATE TABLE t (v int PRIMARY KEY)");
      const start = "CREATE TEMPORARY TABLE made (a int);\nINSERT INTO t VALUES (1);\n";
      const result = await runUp(url, { 1: `${start}${statement};\nINSERT INTO t VALUES (2), (2);\n` });
      const kept = await values(engine, url);
      expect({ kept, outcome: result.outcome, row: await rowOf(engine, url, 1) }).toEqual(
        kept.length === 0
          ? { kept, outcome: "failed", row: ["failed", 0, 4] }
          : { kept, outcome: "partial", row: ["failed", 3, 4] },
      );
    }
  });
}

for (const engine of ["MariaDB", "MySQL"] as const) {
  describe(`a session of ${engine} that is lost beside rows that no rollback takes back`, () => {
    const PAUSE = "DO SLEEP(60 /* lost */);\n";
    const versioned = "CREATE TABLE m (v int) ENGINE=MyISAM WITH SYSTEM VERSIONING";
    const CASES: Readonly<Record<string, { readonly setup?: string; readonly files: Files }>> = {
      "in another database": {
        setup: "CREATE DATABASE OTHER; CREATE TABLE OTHER.m (v int) ENGINE=MyISAM",
        files: { 1: `INSERT INTO OTHER.m VALUES (1);\n${PAUSE}` },
      },
      "in a table that an earlier version made": {
        files: {
          1: `${NO_TRANSACTION}CREATE TABLE m (v int) ENGINE=MyISAM;\n`,
          2: `INSERT INTO m VALUES (1);\n${PAUSE}`,
        },
      },
      ...(engine === "MariaDB" && {
        "in a table with a history of its own": {
          setup: versioned,
          files: { 1: `INSERT INTO m VALUES (1);\n${PAUSE}` },
        },
      }),
    };
    for (const [where, { setup = "SELECT 1", files }] of Object.entries(CASES)) {
      test(`${where} leaves the outcome open`, async () => {
        const url = await fresh(engine, setup.replaceAll("OTHER", `kept_other_${made}`));
        const named = Object.entries(files).map(([v, text]) => [v, text.replaceAll("OTHER", `kept_other_${made - 1}`)]);
        const ended = runUp(url, Object.fromEntries(named));
        await kill(engine, url);
        const result = await ended;
        expect(result).toMatchObject({ outcome: "unknown", failure: { statement: 2 } });
        await benches[engine].sql(url, "DROP TABLE IF EXISTS m").catch(() => undefined);
        await benches[engine].sql(url, `DROP DATABASE IF EXISTS kept_other_${made - 1}`);
      });
    }

    test("is told as a failure that kept nothing where every table can roll back", async () => {
      const url = await fresh(engine);
      const ended = runUp(url, { 1: `${NO_TRANSACTION}SELECT 1;\n`, 2: `INSERT INTO t VALUES ('1');\n${PAUSE}` });
      await kill(engine, url);
      expect(await ended).toMatchObject({ outcome: "failed", failure: { version: 2, statement: 2 } });
      await until("the rollback", async () => (await values(engine, url)).length === 0);
    });
  });
}

/** Ends the session that sleeps. */
async function kill(engine: EngineName, url: string): Promise<void> {
  const sql = "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'";
  let found: unknown;
  await until("the pause", async () => {
    found = (await benches[engine].sql(url, sql))[0]?.["id"];
    return found !== undefined;
  });
  await benches[engine].sql(url, `KILL ${Number(found)}`);
}
