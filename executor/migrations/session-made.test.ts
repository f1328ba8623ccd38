import { describe, expect, test } from "bun:test";
import type { MigrationEngine, Statement } from "./migration.ts";
import { sessionMade } from "./session-made.ts";

const statements = (...texts: string[]): Statement[] =>
  texts.map((text, at) => ({ text, source: `${text};`, line: at + 1, number: at + 1 }));

const made = (engine: MigrationEngine, from: number, ...texts: string[]): Promise<readonly number[]> =>
  sessionMade({ engine, sqlMode: "" }, statements(...texts), from);

describe("on PostgreSQL", () => {
  test.each([
    "SET search_path TO app",
    "SET ROLE owner",
    "SET SESSION AUTHORIZATION owner",
    "SELECT pg_catalog.set_config('search_path', 'app', false)",
    "CREATE TEMP TABLE x (id int)",
    "CREATE OR REPLACE TEMPORARY VIEW x AS SELECT 1",
    "CREATE TABLE pg_temp.x (id int)",
    "SELECT 1 AS a INTO TEMP x",
    "PREPARE p AS SELECT 1",
    "SELECT pg_advisory_lock(1)",
    "LOAD 'x'",
    "CALL fill()",
    "DO $$ BEGIN SET search_path TO app; END $$",
    "DO $$ BEGIN EXECUTE 'SET ROLE owner'; END $$",
  ])("%s lasts as long as its session", async (text) => {
    expect(await made("postgresql", 3, "SELECT 1", text, "SELECT 2")).toEqual([2]);
    expect(await made("postgresql", 1, "SELECT 1", text, "SELECT 2")).toEqual([]);
  });

  test.each([
    "CREATE TABLE temporary_things (id int, set_at date)",
    "CREATE INDEX CONCURRENTLY i ON t (id)",
    "INSERT INTO t VALUES ('SET ROLE x; CREATE TEMP TABLE y')",
    "UPDATE t SET role = 1",
    "ALTER ROLE app SET search_path = app",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path = app AS 'SELECT 1'",
    "DO $$ BEGIN UPDATE t SET a = 1; END $$",
    "SET LOCAL lock_timeout = '1s'",
  ])("%s is in the database", async (text) => {
    expect(await made("postgresql", 2, text, "SELECT 2")).toEqual([]);
  });
});

for (const engine of ["mariadb", "mysql"] as const) {
  describe(`on ${engine}`, () => {
    test.each([
      "SET @a = 1",
      "SET SESSION sql_mode = ''",
      "SET NAMES latin1",
      "SET GLOBAL max_connections = 10, SESSION sort_buffer_size = 1",
      "/*!40101 SET NAMES utf8 */",
      "USE other",
      "SELECT @a := id FROM t",
      "SELECT id INTO @a FROM t",
      "CREATE TEMPORARY TABLE x (id int)",
      "PREPARE p FROM 'SELECT 1'",
      "LOCK TABLES t WRITE",
      "FLUSH TABLES WITH READ LOCK",
      "SELECT GET_LOCK('a', 1)",
      "CALL fill()",
    ])("%s lasts as long as its session", async (text) => {
      expect(await made(engine, 3, "SELECT 1", text, "SELECT 2")).toEqual([2]);
    });

    test.each([
      "CREATE TABLE temporary_things (id int)",
      "INSERT INTO t VALUES ('SET @a = 1', 'u@h')",
      "UPDATE t SET a = 1 WHERE mail = 'a@b'",
      "SET GLOBAL max_connections = 10",
      "GRANT SELECT ON t TO u@localhost",
      "CREATE DEFINER = u@localhost PROCEDURE p() SET @a = 1",
      "ALTER TABLE t ADD COLUMN b int",
    ])("%s is in the database", async (text) => {
      expect(await made(engine, 2, text, "SELECT 2")).toEqual([]);
    });

    test("a statement that reads what the one before left is named, unless one of the rest leaves it", async () => {
      const [parent, child] = ["INSERT INTO p VALUES (NULL)", "INSERT INTO c VALUES (LAST_INSERT_ID())"];
      expect(await made(engine, 2, parent, child)).toEqual([2]);
      expect(await made(engine, 2, parent, parent, child)).toEqual([]);
    });
  });
}
