import { describe, expect, test } from "bun:test";
import { MAX_MIGRATION_STATEMENTS } from "../limits.ts";
import type { Migration, MigrationEngine, MigrationRefusal, Statement } from "./migration.ts";
import { type StatementsOptions, statementsOf } from "./statements.ts";

function migration(text: string): Migration {
  return {
    version: 1,
    name: "a",
    description: "A",
    up: { path: "0000000001_a.up.sql", text },
    down: { path: "0000000001_a.down.sql", text: "" },
    checkpoint: false,
    checksum: "",
    directives: { noTransaction: false },
    transactionMode: "file",
  };
}
async function statements(text: string, options: StatementsOptions): Promise<readonly Statement[]> {
  const result = await statementsOf(migration(text), options);
  if ("refusal" in result) throw new Error(result.refusal.message);
  return result.statements;
}
async function refusal(text: string, options: StatementsOptions): Promise<MigrationRefusal> {
  const result = await statementsOf(migration(text), options);
  if (!("refusal" in result)) throw new Error("the text was accepted");
  return result.refusal;
}
const file = (engine: MigrationEngine): StatementsOptions => ({ engine, mode: "file" });
const alone = (engine: MigrationEngine): StatementsOptions => ({ engine, mode: "none" });

describe("statements of PostgreSQL files", () => {
  test("carry text, source through the semicolon, line and number", async () => {
    const text =
      "\uFEFF-- a\r\nSELECT 'é;' ;\r\n\r\n/* b */ CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END;\r\n-- c\r\nSELECT 2";
    expect(await statements(text, file("postgresql"))).toEqual([
      { text: "SELECT 'é;'", source: "SELECT 'é;' ;", line: 2, number: 1 },
      {
        text: "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END",
        source: "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END;",
        line: 4,
        number: 2,
      },
      { text: "SELECT 2", source: "SELECT 2", line: 6, number: 3 },
    ]);
  });

  test("what the grammar does not know is refused with its line and without its text", async () => {
    const found = await refusal("SELECT 1;\nSELEKT secret;", file("postgresql"));
    expect(found).toMatchObject({ code: "migration_syntax", path: "0000000001_a.up.sql", line: 2 });
    expect(found.message).not.toContain("secret");
  });

  test.each([
    ["CREATE TABEL a (id int);", 'syntax error at line 1, at or just before "TABEL"; correct the file'],
    [
      "SELECT 1;\nCREATE TABLE a (\n  id int references\n);",
      'syntax error at line 4, at or just before ")" in the statement that begins on line 2; correct the file',
    ],
    ["CREATE TABLE a (id text 'hunter2');", "syntax error at line 1; correct the file"],
    ["CREATE ROLE a PASSWORD hunter2;", "syntax error at line 1; correct the file"],
  ])("that cannot be read name the word, where it can be no piece of a value: %s", async (text, sentence) => {
    expect((await refusal(text, file("postgresql"))).message).toBe(`0000000001_a.up.sql: ${sentence}`);
  });

  test.each([
    ["BEGIN", "transaction-control"],
    ["commit", "transaction-control"],
    ["PREPARE /* x */ TRANSACTION 'a'", "transaction-control"],
    ["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "transaction-control"],
    ["SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "transaction-control"],
    ["SELECT pg_advisory_unlock_all()", "advisory-lock"],
    ["DISCARD ALL", "advisory-lock"],
    ["COPY a FROM STDIN", "client-copy"],
    ["copy (SELECT 1) to stdout", "client-copy"],
  ])("%s is refused in both modes", async (sql, rule) => {
    for (const options of [file("postgresql"), alone("postgresql")]) {
      const found = await refusal(`SELECT 1;\n${sql};`, options);
      expect(found).toMatchObject({ code: "migration_statement_refused", rule, statement: 2, line: 2 });
    }
  });

  test("what only looks like it runs", async () => {
    const sql =
      "PREPARE a AS SELECT 1; SET search_path = a; SELECT 'pg_advisory_unlock'; DISCARD TEMP; SELECT 'COMMIT'; COPY a FROM '/x'";
    expect(await statements(sql, file("postgresql"))).toHaveLength(6);
  });
});

describe("statements of MySQL files", () => {
  test("carry text, source, line and number", async () => {
    const text = "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\nDELIMITER ;\nSELECT 2;\n";
    expect(await statements(text, alone("mysql"))).toEqual([
      {
        text: "CREATE PROCEDURE p() BEGIN SELECT 1; END",
        source: "CREATE PROCEDURE p() BEGIN SELECT 1; END//",
        line: 2,
        number: 1,
      },
      { text: "SELECT 2", source: "SELECT 2;", line: 4, number: 2 },
    ]);
  });

  test("the session's sql_mode decides how quotes are read", async () => {
    const text = "SELECT 'a\\'; SELECT 'b';";
    expect(await statements(text, { ...file("mariadb"), sqlMode: "NO_BACKSLASH_ESCAPES" })).toHaveLength(2);
    expect(await refusal(text, file("mariadb"))).toMatchObject({
      code: "migration_syntax",
      rule: "unterminated_quote",
    });
  });

  test("a statement that mode file cannot keep is refused by number and rule, never by its text", async () => {
    const found = await refusal("SELECT 1;\n\nCREATE TABLE secret (a int) ENGINE=MyISAM;", file("mariadb"));
    expect(found).toMatchObject({ code: "migration_statement_refused", rule: "storage-engine", statement: 2, line: 3 });
    expect(found.message).toContain("statement 2");
    expect(found.message).toContain("no_transaction");
    expect(found.message).not.toContain("secret");
    expect(await statements("CREATE TABLE a (b int) ENGINE=MyISAM;", alone("mariadb"))).toHaveLength(1);
  });

  test("transaction control is refused in both modes, and no other mode is proposed for it", async () => {
    for (const options of [file("mysql"), alone("mysql")]) {
      const found = await refusal("COMMIT;", options);
      expect(found.rule).toBe("transaction-control");
      expect(found.message).not.toContain("no_transaction");
    }
  });

  test("a half-commented statement and a comment that names a drop are what the server takes them for", async () => {
    const text =
      "CREATE TABLE a (b int COMMENT 'DROP TABLE a;') /* ; DROP TABLE a; */;\n-- DROP TABLE a;\nSELECT 1 # ; DROP\n;";
    expect((await statements(text, file("mysql"))).map(({ number }) => number)).toEqual([1, 2]);
  });
});

test("a directive below the first statement keeps the file from running", async () => {
  const text = "SELECT 1;\n-- +ptah no_transaction\nSELECT 2;";
  expect(await refusal(text, file("postgresql"))).toMatchObject({ code: "migration_directive_invalid", line: 2 });
});

test.each<MigrationEngine>(["postgresql", "mysql"])(
  "%s: more statements than one file may have are refused",
  async (engine) => {
    const text = "SELECT 1;".repeat(MAX_MIGRATION_STATEMENTS + 1);
    expect(await refusal(text, alone(engine))).toMatchObject({ code: "migration_syntax", rule: "too_many_statements" });
  },
);

test("a file of comments alone has no statements", async () => {
  expect(await statements("-- nothing\n/* here */\n", file("postgresql"))).toEqual([]);
  expect(await statements("-- nothing\n/* here */\n", file("mysql"))).toEqual([]);
});
