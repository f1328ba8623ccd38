import { beforeAll, describe, expect, test } from "bun:test";
import { loadParser, type Parser } from "../../sql/index.ts";
import { Refused } from "../contract.ts";
import { admit, type DesiredSchema } from "./admit.ts";

let parser: Parser;
beforeAll(async () => {
  parser = await loadParser();
});

const read = (text: string): DesiredSchema => admit(parser, [{ name: "a.sql", text }]);

function refusalOf(text: string): Refused {
  try {
    read(text);
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe("what a desired schema may hold", () => {
  test("each statement is one declaration with the line of its first word", () => {
    const { declarations } = read("-- first\ncreate table a(x int);\n\n/* second\n*/ create table b(x int);");
    expect(declarations.map((d) => d.line)).toEqual([2, 5]);
  });

  test("roles and extensions that are named are collected", () => {
    const schema = read(
      "create extension citext; create table t(a int); grant select on t to r1, public; alter table t owner to r2; create policy p on t to r3;",
    );
    expect(schema.roles).toEqual(["r1", "r2", "r3"]);
    expect(schema.extensions).toEqual(["citext"]);
  });

  test("default privileges are loaded first and grants on everything last", () => {
    const { declarations } = read(
      "grant select on all tables in schema public to r; create table t(a int); alter default privileges grant select on tables to r;",
    );
    expect(declarations.map((d) => d.phase)).toEqual([2, 1, 0]);
  });

  const REFUSED: readonly [string, string][] = [
    ["insert into t values (1)", "not_a_declaration"],
    ["drop table t", "not_a_declaration"],
    ["begin", "not_a_declaration"],
    ["set search_path = x", "not_a_declaration"],
    ["select f()", "not_a_declaration"],
    ["create table t as select 1", "not_a_declaration"],
    ["alter table t drop column a", "not_a_declaration"],
    ["do $$ begin end $$", "not_a_declaration"],
    ["copy t from stdin", "not_a_declaration"],
    ["create role r", "cluster_statement"],
    ["create database d", "cluster_statement"],
    ["alter system set work_mem = '1MB'", "cluster_statement"],
    ["grant a to b", "cluster_statement"],
    ["grant connect on database d to r", "cluster_statement"],
    ["create cast (a as b) without function", "unmanaged_kind"],
    ["create operator === (leftarg = int, rightarg = int, function = f)", "unmanaged_kind"],
    ["create text search configuration c (copy = simple)", "unmanaged_kind"],
    ["create table t of ty", "unmanaged_kind"],
    ["create extension x version '1.2'", "unmanaged_kind"],
    ["create subscription s connection 'x' publication p", "unmanaged_kind"],
    ["create user mapping for u server s options (user 'a', password 'b')", "credential_in_schema"],
  ];
  test.each(REFUSED)("%s is refused by name", (sql, code) => {
    const refused = refusalOf(`create table ok(a int);\n${sql};`);
    expect(refused.refusal.code).toBe(code);
    expect(refused.message).toContain("a.sql:2");
  });

  test("what pg_dump writes around a schema is accepted and means nothing", () => {
    const { declarations } = read(
      "SET statement_timeout = 0; SELECT pg_catalog.set_config('search_path', '', false); select 1; create table public.t(a int);",
    );
    expect(declarations).toHaveLength(1);
  });

  test("a syntax error is named by file and line, without the text", () => {
    const refused = refusalOf("create table a(x int);\ncreate tabel secret(x int);");
    expect(refused.refusal.code).toBe("invalid_schema");
    expect(refused.message).toContain("a.sql:2");
    expect(refused.message).not.toContain("secret");
  });

  test.each([
    ["CREATE TABEL customers (id int);", 'a.sql:1: syntax error at or just before "TABEL"; correct the file'],
    [
      "create table t (\n  prämie int colate x,\n  s text default 'hunter2'\n);",
      'a.sql:2: syntax error at or just before "colate" in the statement that begins on line 1; correct the file',
    ],
    ["create table t (a int) wih (x = 1);", 'a.sql:1: syntax error at or just before "wih"; correct the file'],
  ])("a misspelt word is named where it can be no piece of a value: %s", (sql, sentence) => {
    expect(refusalOf(sql).message).toBe(sentence);
  });

  test.each([
    ["a literal", "create table t (a text 'hunter2');"],
    ["a literal of another kind", "create table t (a text x'hunter2');"],
    ["a dollar-quoted literal", "create table t (a text $q$ hunter2 $q$);"],
    ["a word behind a quote inside of a literal", "create table t (a text default 'it's hunter2');"],
    ["the same, with quotes that come out even", "create table t (a text default 'it' hunter2 's'); select 'x';"],
    ["a literal that ends on the line", "create table t (a text default 'one\ntwo' hunter2);"],
    ["a literal that begins on the line", "create table t (a text default 0 hunter2 'one\ntwo');"],
    ["a password without quotes", "create role a password hunter2;"],
    ["the same on the next line", "create role a encrypted password\n  hunter2;"],
    ["an option without quotes", "create user mapping for a server b options (user x, secret_key hunter2);"],
    ["an assignment", "create subscription s connection\n = hunter2;"],
    ["a quoted name", 'create table t (a int "hunter2");'],
    ["a comment", "create table t (a /* hunter2 */ int, /* hunter2 */);"],
    ["a number", "create table t (a int 8121946);"],
    ["a word longer than a name", `create table t () ${"hunter2".repeat(10)};`],
  ])("a syntax error never repeats what may be a secret: %s", (_, sql) => {
    expect(refusalOf(sql).message).not.toMatch(/hunter2|8121946/);
  });

  test("a syntax error names the statement it is in, and the word it stands at where that is SQL's own", () => {
    const inClause = refusalOf("create table a(x int);\n\ncreate table b (\n  a int references\n);");
    expect(inClause.message).toBe(
      'a.sql:5: syntax error at or just before ")" in the statement that begins on line 3; correct the file',
    );
    const atName = refusalOf("create table b (\n  a int 'hunter2'\n);");
    expect(atName.message).toBe("a.sql:2: syntax error in the statement that begins on line 1; correct the file");
  });
});
