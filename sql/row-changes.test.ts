import { describe, expect, test } from "bun:test";
import { loadParser } from "./index.ts";
import { changesRows } from "./row-changes.ts";

const parser = await loadParser();
const trigger = (body: string): boolean =>
  changesRows(
    parser,
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
    expect(changesRows(parser, "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING 1'")).toBe(
      true,
    );
    expect(changesRows(parser, "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC DELETE FROM t RETURNING 1; END")).toBe(
      true,
    );
    expect(changesRows(parser, "CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'lib', 'delete'")).toBe(false);
  });
});
