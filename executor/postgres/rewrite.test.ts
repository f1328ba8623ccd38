import { describe, expect, test } from "bun:test";
import { keepSpelling } from "./rewrite.ts";

describe("rewriting the differ's statements", () => {
  test("a list over varchar keeps the form it is printed in", () => {
    const sql =
      "CREATE INDEX i ON public.t USING btree (s) WHERE ((s)::text = ANY ((ARRAY['a'::character varying, 'it''s'::character varying])::text[]))";
    expect(keepSpelling(sql)).toContain(
      "(((ARRAY['a'::character varying, 'it''s'::character varying])::character varying[])::text[])",
    );
  });

  test("text a person wrote is left alone", () => {
    const body =
      "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ select (ARRAY['a'::character varying])::text[] $$";
    expect(keepSpelling(body)).toBe(body);
  });
});
