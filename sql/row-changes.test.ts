import { describe, expect, test } from "bun:test";
import { loadParser } from "./index.ts";
import { calledOnRows, rowChanger } from "./row-changes.ts";

const parser = await loadParser();
const changesRows = (definition: string): boolean => rowChanger(parser, definition) !== undefined;
const trigger = (body: string): boolean =>
  changesRows(
    `CREATE OR REPLACE FUNCTION public.et() RETURNS event_trigger LANGUAGE plpgsql AS $function$ begin ${body} end $function$`,
  );

describe("a routine that changes rows by statements of its own", () => {
  for (const body of [
    "if tg_tag = 'x' then update audit set n = n + 1; end if;",
    "delete from audit;",
    "truncate audit;",
    "insert into audit values (1) on conflict (a) do update set n = 2;",
    "with gone as (delete from audit returning *) insert into archive select * from gone;",
    "execute 'delete from audit';",
  ])
    test(`is told: ${body}`, () => expect(trigger(body)).toBe(true));

  for (const body of [
    "insert into audit values (tg_tag);",
    "notify reload;",
    "for r in select * from pg_event_trigger_ddl_commands() loop execute format('grant select on %s to x', r.object_identity); end loop;",
    "perform other();",
  ])
    test(`is not told of one that only adds, announces or calls: ${body}`, () =>
      expect(trigger(`declare r record; begin ${body} end;`)).toBe(false));

  test("is read in SQL too, and nothing is said of another language", () => {
    expect(changesRows("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING 1'")).toBe(true);
    expect(changesRows("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC DELETE FROM t RETURNING 1; END")).toBe(true);
    expect(changesRows("CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'lib', 'delete'")).toBe(false);
  });
});

describe("the functions that a statement calls for rows that are there", () => {
  test("are those of a new column, a check, an index", () => {
    expect(calledOnRows(parser, "ALTER TABLE s.t ADD COLUMN g int DEFAULT public.f(1)")).toEqual(["f"]);
    expect(calledOnRows(parser, "ALTER TABLE s.t ADD CHECK (f(a) > 0)")).toEqual(["f"]);
    expect(calledOnRows(parser, 'CREATE INDEX ON s.t ("F"(a))')).toEqual(["F"]);
  });

  test("are not those of a default for later rows, of a new table or of a view", () => {
    for (const sql of [
      "ALTER TABLE s.t ALTER a SET DEFAULT f()",
      "CREATE TABLE s.t (a int DEFAULT f())",
      "CREATE VIEW s.v AS SELECT f()",
    ])
      expect(calledOnRows(parser, sql)).toEqual([]);
  });

  test("are found by the name that the routine has", () => {
    expect(
      rowChanger(parser, "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING 1'"),
    ).toBe("f");
  });
});
