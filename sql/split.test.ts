import { describe, expect, test } from "bun:test";
import { loadParser, split } from "./index.ts";

const parser = await loadParser();

function textsOf(sql: string): string[] {
  const outcome = split(parser, sql);
  if ("error" in outcome) throw new Error(outcome.error.message);
  return outcome.statements.map((statement) => statement.text);
}

describe("split", () => {
  const table: readonly [string, string, readonly string[]][] = [
    ["one statement without a terminator", "select 1", ["select 1"]],
    ["an empty text", "", []],
    ["white space", " \n\t", []],
    ["only comments", "-- a\n/* b; c */", []],
    ["empty statements", ";; select 1 ;;", ["select 1"]],
    ["a semicolon in quotes", "select ';'; select $$;$$", ["select ';'", "select $$;$$"]],
    ["nested comments", "/* a /* b; */ c; */ select 1; select 2", ["select 1", "select 2"]],
    [
      "a dollar-quoted body",
      "do $a$ begin perform $$x;$$; end $a$; select 1",
      ["do $a$ begin perform $$x;$$; end $a$", "select 1"],
    ],
    [
      "a BEGIN ATOMIC body",
      "create function f() returns int begin atomic select 1; select 2; end; select 3",
      ["create function f() returns int begin atomic select 1; select 2; end", "select 3"],
    ],
    ["escapes", "select E'\\';'; select 2", ["select E'\\';'", "select 2"]],
    ["CRLF", "select 1;\r\nselect 2;\r\n", ["select 1", "select 2"]],
  ];
  for (const [name, sql, texts] of table) test(name, () => expect(textsOf(sql)).toEqual([...texts]));

  test("offsets are UTF-8 bytes and lines count from 1", () => {
    const sql = "-- é\nselect 'é';\n\n  select 'ü'; select 3";
    const outcome = split(parser, sql);
    if ("error" in outcome) throw new Error(outcome.error.message);
    expect(outcome.statements.map(({ line }) => line)).toEqual([2, 4, 4]);
    for (const { text, offsetBytes } of outcome.statements) {
      const size = Buffer.byteLength(text);
      expect(
        Buffer.from(sql)
          .subarray(offsetBytes, offsetBytes + size)
          .toString(),
      ).toBe(text);
    }
  });

  test("an error says the line and repeats nothing of the text", () => {
    expect(split(parser, "select 1;\n\nalter table ein_geheimnis foo 'hunter2' bar")).toEqual({
      error: { code: "sql_syntax", message: "syntax error at line 3", line: 3 },
    });
    for (const sql of [
      "select 'hunter2",
      "create role x hunter2",
      'select "hunter2',
      "select $x$ hunter2",
      "select E'\\xhunter2",
    ]) {
      const outcome = split(parser, sql);
      expect(outcome).toHaveProperty("error");
      expect(JSON.stringify(outcome)).not.toContain("hunter2");
    }
  });

  test("a NUL is refused, for the grammar would stop there and the server would not", () => {
    expect(split(parser, "select 1;\0drop table t")).toMatchObject({ error: { code: "sql_not_text" } });
  });
});
