import { describe, expect, test } from "bun:test";
import { differenceOf, normalise } from "./dump.ts";

describe("comparing structures", () => {
  const dump = (columns: string) =>
    `-- comment\nSET x = 1;\n\nCREATE TABLE public.t (\n${columns}\n);\n\nCREATE INDEX i ON public.t USING btree (a);\n`;

  test("column order and comments do not count", () => {
    expect(
      differenceOf(normalise(dump("    a integer,\n    b text")), normalise(dump("    b text,\n    a integer"))),
    ).toBeUndefined();
  });

  test("anything else does, and both sides are shown", () => {
    const difference = differenceOf(normalise(dump("    a integer")), normalise(dump("    a bigint")));
    expect(difference).toContain("has:");
    expect(difference).toContain("bigint");
  });
});
