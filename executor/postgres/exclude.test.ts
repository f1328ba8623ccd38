import { describe, expect, test } from "bun:test";
import { Refused } from "../contract.ts";
import { parseExclusion } from "./exclude.ts";

const table = (schema: string, object: string) => ({ kind: "table", schema, object, child: undefined });

describe("exclude selectors", () => {
  test("two segments name an object, globs allowed", () => {
    const exclusion = parseExclusion(["audit.*", "public.tmp_?"]);
    expect(exclusion.matches(table("audit", "log"))).toBe(true);
    expect(exclusion.matches(table("public", "tmp_1"))).toBe(true);
    expect(exclusion.matches(table("public", "tmp_10"))).toBe(false);
  });

  test("one segment names a schema, an object of public or one outside of schemas", () => {
    const exclusion = parseExclusion(["x"]);
    expect(exclusion.matches({ kind: "schema", schema: "x", object: undefined, child: undefined })).toBe(true);
    expect(exclusion.matches(table("public", "x"))).toBe(true);
    expect(exclusion.matches(table("other", "x"))).toBe(false);
    expect(exclusion.matches({ kind: "extension", schema: undefined, object: "x", child: undefined })).toBe(true);
  });

  test("a type narrows a selector", () => {
    const exclusion = parseExclusion(["public.*[type=view|sequence]"]);
    expect(exclusion.matches(table("public", "t"))).toBe(false);
    expect(exclusion.matches({ ...table("public", "v"), kind: "view" })).toBe(true);
  });

  test("three segments name what lies within an object; a routine is matched by its name", () => {
    const exclusion = parseExclusion(["public.t.c", "public.f"]);
    expect(exclusion.matches({ kind: "column", schema: "public", object: "t", child: "c" })).toBe(true);
    expect(exclusion.matches({ kind: "function", schema: "public", object: "f(integer)", child: undefined })).toBe(
      true,
    );
  });

  test("values are sorted and made unique", () => {
    expect(parseExclusion(["b", " a", "a"]).selectors).toEqual(["a", "b"]);
  });

  test("what cannot be honoured is refused by name", () => {
    for (const selector of ["", " ", "a.b.c.d", 'a."b"', "a[type=thing]", "a..b", "a,b", "a[0-9]"]) {
      expect(() => parseExclusion([selector])).toThrow(Refused);
    }
  });
});
