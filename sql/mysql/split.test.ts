import { describe, expect, test } from "bun:test";
import { LIMITS } from "../limits.ts";
import { MYSQL_GAPS, MysqlTexts, numbers, oneOf, type Pick } from "../testing/mysql-texts.ts";
import type { MysqlReading } from "./scanner.ts";
import { type MysqlStatement, readingOf, splitMysql } from "./split.ts";

const READING: MysqlReading = { ansiQuotes: false, noBackslashEscapes: false, mariadb: true };

function statementsOf(sql: string, reading = READING): readonly MysqlStatement[] {
  const outcome = splitMysql(sql, reading);
  if ("error" in outcome) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
  return outcome.statements;
}
const texts = (sql: string, reading = READING): string[] => statementsOf(sql, reading).map(({ text }) => text);
function failure(sql: string, reading = READING): { code: string; line: number } {
  const outcome = splitMysql(sql, reading);
  if (!("error" in outcome)) throw new Error("the text was split");
  return { code: outcome.error.code, line: outcome.error.line };
}

describe("quotes and comments", () => {
  test("a semicolon in a string, a name or a comment ends nothing", () => {
    const sql = "SELECT ';', \";\", `;` /* ; */; # ;\nSELECT 2 -- ;\n;";
    expect(texts(sql)).toEqual(["SELECT ';', \";\", `;`", "SELECT 2"]);
  });

  test("the source of a statement runs from its first token through its semicolon", () => {
    const sql = "/* a */ SELECT 1 /* b */ ; SELECT 2";
    expect(statementsOf(sql).map(({ source }) => source)).toEqual(["SELECT 1 /* b */ ;", "SELECT 2"]);
  });

  test("two dashes begin a comment only before a blank, a control character or the end", () => {
    expect(texts("SELECT 5--3; SELECT 4--\t;\n; SELECT 6--")).toEqual(["SELECT 5--3", "SELECT 4", "SELECT 6"]);
  });

  test("a backslash hides a quote unless the session says otherwise", () => {
    expect(texts("SELECT 'a\\'; b'; SELECT 2")).toEqual(["SELECT 'a\\'; b'", "SELECT 2"]);
    const plain = { ...READING, noBackslashEscapes: true };
    expect(texts("SELECT 'a\\'; SELECT 2", plain)).toEqual(["SELECT 'a\\'", "SELECT 2"]);
  });

  test("doubled quotes stay inside, and a name knows no backslash", () => {
    expect(texts("SELECT 'it''s;', `a``;\\`; SELECT 2")).toEqual(["SELECT 'it''s;', `a``;\\`", "SELECT 2"]);
  });

  test("under ANSI_QUOTES a backslash in double quotes is a character", () => {
    const ansi = readingOf("STRICT_TRANS_TABLES,ANSI_QUOTES", true);
    expect(texts('SELECT "a\\"; SELECT 2', ansi)).toEqual(['SELECT "a\\"', "SELECT 2"]);
    expect(failure('SELECT "a\\"; SELECT 2').code).toBe("unterminated_quote");
  });

  test("literals with a prefix are strings like any other", () => {
    const sql = "SELECT x'3B', b'01', N'a;', _utf8mb4'b;', @'v;', 0x3b; SELECT 2";
    expect(texts(sql)).toHaveLength(2);
  });

  test("empty statements and texts of comments alone give nothing", () => {
    expect(texts(";;\n ; -- a\n# b\n/* c */;")).toEqual([]);
    expect(texts("")).toEqual([]);
  });

  test("a byte order mark and CR LF line ends are no part of a statement", () => {
    const found = statementsOf("\uFEFFSELECT 1;\r\n-- x\r\nSELECT 2;\r\n");
    expect(found.map(({ text, line, number }) => ({ text, line, number }))).toEqual([
      { text: "SELECT 1", line: 1, number: 1 },
      { text: "SELECT 2", line: 3, number: 2 },
    ]);
  });

  test("what has no end is refused with the line where it begins", () => {
    expect(failure("SELECT 1;\n\nSELECT 'a")).toEqual({ code: "unterminated_quote", line: 3 });
    expect(failure("SELECT 1;\n/* a")).toEqual({ code: "unterminated_comment", line: 2 });
    expect(failure("SELECT 1;\n/*!50000 a")).toEqual({ code: "unterminated_comment", line: 2 });
    expect(failure("SELECT 1;\nCREATE PROCEDURE p()\nBEGIN SELECT 1;")).toEqual({ code: "unterminated_body", line: 2 });
  });

  test("a NUL and a broken character are refused before anything is read", () => {
    expect(failure("SELECT '\0'").code).toBe("sql_not_text");
    expect(failure("SELECT '\uD800'").code).toBe("sql_not_text");
  });
});

describe("executable comments", () => {
  test("their content belongs to the statement and never ends it", () => {
    const sql = "/*!40101 SET NAMES utf8 */; CREATE TABLE t (a int) /*!50100 COMMENT ';' */; SELECT /*M!100000 1; */ 2";
    expect(texts(sql)).toHaveLength(3);
  });

  test("a dumped trigger keeps its body together without DELIMITER", () => {
    const sql =
      "/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER t AFTER INSERT ON x FOR EACH ROW BEGIN SET @a=1; END */; SELECT 2";
    expect(texts(sql)).toHaveLength(2);
  });

  test("an end mark that only one of two servers would see is refused", () => {
    expect(failure("/*!99999 SELECT '*/' */").code).toBe("ambiguous_comment");
    expect(failure("/*!99999 SELECT 1 -- */\n */").code).toBe("ambiguous_comment");
    expect(failure("/*!40000 a /*!50000 b */ */").code).toBe("ambiguous_comment");
  });

  test("the M form is an ordinary comment to MySQL", () => {
    expect(texts("SELECT 1 /*M! ' */; SELECT 2", { ...READING, mariadb: false })).toEqual(["SELECT 1", "SELECT 2"]);
  });
});

describe("DELIMITER", () => {
  test("a line sets it, in any case and with quotes, and it is no statement", () => {
    const sql = "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\nSELECT 2 //\ndelimiter ';'\nSELECT 3;";
    expect(texts(sql)).toEqual(["CREATE PROCEDURE p() BEGIN SELECT 1; END", "SELECT 2", "SELECT 3"]);
  });

  test("it is found within a word, as the client finds it", () => {
    expect(
      texts("DELIMITER $$\nCREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN END$$\nSELECT 1$$"),
    ).toHaveLength(2);
  });

  test("it is not found in a string or comment", () => {
    expect(texts("DELIMITER //\nSELECT '//' /* // */ //\nSELECT 2")).toEqual(["SELECT '//'", "SELECT 2"]);
  });

  test("the word elsewhere is a name", () => {
    expect(texts("SELECT delimiter FROM t; SELECT 2")).toHaveLength(2);
  });

  test("none, a backslash or too much is refused", () => {
    expect(failure("SELECT 1;\nDELIMITER\nSELECT 2;")).toEqual({ code: "invalid_delimiter", line: 2 });
    expect(failure("DELIMITER a\\b\n").code).toBe("invalid_delimiter");
    expect(failure(`DELIMITER ${"x".repeat(16)}\n`).code).toBe("invalid_delimiter");
  });

  test("several statements before one delimiter are refused, because one would be reported and two run", () => {
    expect(failure("DELIMITER //\nSELECT 1; SELECT 2//")).toEqual({ code: "several_statements", line: 2 });
    expect(texts("DELIMITER //\nSELECT 1;//")).toHaveLength(1);
  });

  test("a package needs it", () => {
    const body = "CREATE PACKAGE BODY p AS PROCEDURE a AS BEGIN SELECT 1; END; END";
    expect(failure(`${body};`).code).toBe("package_needs_delimiter");
    expect(texts(`DELIMITER //\n${body}//`)).toEqual([body]);
  });
});

describe("bodies without DELIMITER", () => {
  const whole = (body: string): void => expect(texts(`${body}; SELECT 2`)).toEqual([body, "SELECT 2"]);

  test("every kind of block, nested, with labels", () => {
    whole(
      "CREATE PROCEDURE p(IN a int) COMMENT 'begin;' BEGIN l: LOOP IF a > 1 THEN LEAVE l; ELSEIF a THEN SET @a=1; ELSE BEGIN END; END IF; END LOOP l; " +
        "WHILE a < 3 DO SET a = a + 1; END WHILE; REPEAT SET a = 1; UNTIL a END REPEAT; CASE a WHEN 1 THEN SELECT 1; ELSE SELECT 2; END CASE; END",
    );
  });

  test("functions and clauses named like blocks open nothing", () => {
    whole(
      "CREATE FUNCTION f(a int) RETURNS varchar(9) CHARACTER SET utf8mb4 DETERMINISTIC RETURN IF(a, REPEAT('a', 3), 'b')",
    );
    whole(
      "CREATE PROCEDURE p() BEGIN DROP TABLE IF EXISTS t; CREATE TABLE IF NOT EXISTS t (a int); SET @a = IF(1, 2, 3); END",
    );
    whole("CREATE EVENT IF NOT EXISTS e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t");
    whole("CREATE FUNCTION IF NOT EXISTS f RETURNS INTEGER SONAME 'f.so'");
  });

  test("columns named begin and end are columns", () => {
    whole(
      "CREATE TRIGGER t BEFORE UPDATE ON x FOR EACH ROW PRECEDES y BEGIN SET NEW.end = begin; SELECT end, begin FROM z WHERE end > 1; END",
    );
    whole("CREATE PROCEDURE p() BEGIN SELECT CASE WHEN a THEN end ELSE begin END INTO @a FROM t; SET @b = 1; END");
  });

  test("a handler's action may be a block", () => {
    whole(
      "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLSTATE VALUE '45000', NOT FOUND, 1062 BEGIN ROLLBACK; END; SELECT 1; END",
    );
    whole("CREATE PROCEDURE p() BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND SET @d = 1; SELECT 1; END");
  });

  test("a body may be a block without BEGIN", () => {
    whole("CREATE PROCEDURE p(a int) IF a THEN SELECT 1; SELECT 2; END IF");
    whole("CREATE PROCEDURE p(a int) x: WHILE a DO SELECT 1; END WHILE x");
  });

  test("MariaDB's compound statements stand together; BEGIN alone is a transaction", () => {
    whole("BEGIN NOT ATOMIC DECLARE a int; SET a = 1; END");
    whole("IF (SELECT 1) THEN SELECT 1; SELECT 2; END IF");
    whole("FOR i IN (SELECT 1) DO SELECT i; END FOR");
    whole("l: LOOP LEAVE l; END LOOP");
    expect(texts("BEGIN; SELECT 1; COMMIT")).toEqual(["BEGIN", "SELECT 1", "COMMIT"]);
  });

  test("a definer named like a kind of object is a user", () => {
    whole("CREATE OR REPLACE DEFINER = event@localhost PROCEDURE p() BEGIN SELECT 1; END");
    whole("ALTER DEFINER=`a`@`b` EVENT e DO BEGIN SELECT 1; END");
  });

  test("a table with such names has no body", () => {
    whole("CREATE TABLE t (begin int, `end` int, event int)");
    whole("ALTER TABLE event ADD COLUMN begin int");
  });

  test("blocks nested beyond the bound are refused", () => {
    const deep = (depth: number): string => `CREATE PROCEDURE p() ${"BEGIN ".repeat(depth)}${"END; ".repeat(depth)}`;
    expect(texts(deep(LIMITS.mysqlBlockDepth))).toHaveLength(1);
    expect(failure(deep(LIMITS.mysqlBlockDepth + 1)).code).toBe("nested_too_deep");
  });
});

describe("sql_mode", () => {
  test("a text that sets it is split where every mode gives the same statements", () => {
    expect(texts("SET sql_mode = 'ANSI'; SELECT 'a'; SELECT \"b\"")).toHaveLength(3);
  });

  test("it is refused where they differ", () => {
    expect(failure("SELECT 1;\nSET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT 'a\\'; SELECT ', 1;")).toEqual({
      code: "ambiguous_sql_mode",
      line: 2,
    });
    expect(failure('/*!40101 SET SQL_MODE="ANSI_QUOTES" */; SELECT "a\\"; SELECT 1; -- "').code).toBe(
      "ambiguous_sql_mode",
    );
  });
});

describe("random texts", () => {
  const several = (pick: Pick, most: number): string[] => {
    const make = new MysqlTexts(pick, true, "n");
    return Array.from({ length: 1 + pick(most) }, () => make.statement());
  };

  test("statements come out as they went in, whatever stands between them", () => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const pick = numbers(seed);
      const expected = several(pick, 6);
      let text = "";
      const lines: number[] = [];
      for (const part of expected) {
        text += oneOf(pick, MYSQL_GAPS);
        lines.push(text.split("\n").length);
        text += `${part}${oneOf(pick, ["", " ", "\n"])};`;
      }
      text += oneOf(pick, MYSQL_GAPS);
      const found = statementsOf(text);
      expect({ seed, texts: found.map((s) => s.text), lines: found.map((s) => s.line) }).toEqual({
        seed,
        texts: expected,
        lines,
      });
      let rest = text;
      for (const { source } of found) {
        const at = rest.indexOf(source);
        expect(texts(rest.slice(0, at))).toEqual([]);
        rest = rest.slice(at + source.length);
      }
      expect(texts(rest)).toEqual([]);
    }
  });

  test("a delimiter of one's own gives the same statements as semicolons", () => {
    for (let seed = 1001; seed <= 1200; seed += 1) {
      const pick = numbers(seed);
      const expected = several(pick, 4);
      const delimiter = oneOf(pick, ["//", "$$", "|", ";;"]);
      const text = `DELIMITER ${delimiter}\n${expected.map((part) => `${part} ${delimiter}\n`).join("")}DELIMITER ;\n`;
      expect({ seed, texts: texts(text) }).toEqual({ seed, texts: expected });
    }
  });

  test("no text makes it throw, and what it splits is part of the text", () => {
    const PIECES =
      "' \" ` \\ ; /* */ /*! -- # \n BEGIN END CASE DELIMITER IF ( ) : é LOOP UNTIL CREATE PROCEDURE p() DECLARE HANDLER FOR".split(
        " ",
      );
    for (let seed = 1; seed <= 2000; seed += 1) {
      const pick = numbers(seed);
      const text = Array.from({ length: 1 + pick(30) }, () => oneOf(pick, PIECES)).join(oneOf(pick, ["", " "]));
      const outcome = splitMysql(text, READING);
      if ("error" in outcome) expect(outcome.error.line).toBeGreaterThan(0);
      else for (const { source } of outcome.statements) expect(text).toContain(source);
    }
  });
});

describe("hostile sizes", () => {
  const SIZE = LIMITS.sqlSizeBytes - 200;
  const fill = (unit: string, size = SIZE): string => unit.repeat(Math.floor(size / unit.length));
  const DEADLINE_MS = 15_000;

  test("a text beyond the bound is refused unread", () => {
    expect(failure(fill("-", LIMITS.sqlSizeBytes + 1)).code).toBe("sql_too_large");
  });

  test("more statements than the bound are refused", () => {
    expect(failure("x;".repeat(LIMITS.mysqlStatementCount + 1)).code).toBe("too_many_statements");
  });

  test.each([
    ["one insert of 8 MiB", `INSERT INTO t VALUES ${fill("(1,'abc'),")}(1)`, 1],
    ["comments alone", fill("-- comment\n"), 0],
    ["statements on one line", fill("SELECT 'a';", 1_000_000), 90_909],
    ["quotes and one late backslash", `SELECT ${fill("'a' ")}'\\''`, 1],
    ["one body", `CREATE PROCEDURE p() BEGIN ${fill("SET a = IF(b, 1, 2); ")}END;`, 1],
    ["an executable comment of strings", `/*! ${fill("'a' ")}*/`, 1],
    ["statements while sql_mode is set", `SET sql_mode = ''; ${fill("SELECT 'a';", 300_000)}`, 27_273],
  ])(
    "%s is split in time that grows with its size",
    (_, text, count) => {
      expect(statementsOf(text)).toHaveLength(count);
    },
    DEADLINE_MS,
  );
});
