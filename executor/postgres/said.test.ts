import { describe, expect, test } from "bun:test";
import { saidOf } from "./said.ts";

describe("a server's sentence about a statement that read rows", () => {
  const cast = "ALTER TABLE public.t ALTER COLUMN c TYPE tsquery USING c::tsquery";

  for (const said of [
    'syntax error in tsquery: "geheim-4711 & & x"',
    'relation "geheim-4711" does not exist',
    'type "geheim 4711" does not exist',
    "improper relation name (too many dotted names): geheim.4711.b.c",
    'relation "geheim"x"4711" does not exist',
    "Syntaxfehler in tsquery: »geheim-4711 & & x«",
    "la relation « geheim-4711 » n'existe pas",
    "operator does not exist: geheim-4711",
  ]) {
    test(`holds nothing of a row: ${said}`, () => {
      expect(saidOf(said, cast)).not.toMatch(/geheim|4711|&|»/);
    });
  }

  test("says what is left of it", () => {
    expect(saidOf('syntax error in tsquery: "geheim-4711 & & x"', cast)).toBe("syntax error in tsquery: …");
  });

  test("keeps every name that the statement has", () => {
    const sentences: readonly [string, string][] = [
      ['relation "Order Lines" already exists', 'CREATE TABLE public."Order Lines" (a int)'],
      ['column "b" of relation "t" does not exist', "ALTER TABLE public.t DROP COLUMN b"],
      ["must be owner of table t", "ALTER TABLE t ADD COLUMN a int"],
      ["permission denied for schema app", 'CREATE TABLE "app"."t" (a int)'],
      ['column "c" cannot be cast automatically to type integer', "ALTER TABLE t ALTER COLUMN c TYPE int"],
      ["canceling statement due to lock timeout", "ALTER TABLE t ADD COLUMN a int"],
      ["operator does not exist: text = integer", "CREATE VIEW v AS SELECT 'x'::text = 1"],
      ['function public.f(integer, "My Type") does not exist', 'DROP FUNCTION public.f(int, "My Type")'],
      ["cannot drop table t because other objects depend on it", "DROP TABLE t"],
      ['cannot ALTER TABLE "t" because it has pending trigger events', "ALTER TABLE t ADD COLUMN a int"],
    ];
    for (const [said, statement] of sentences) {
      expect(saidOf(said, statement)).toBe(said);
    }
  });
});
