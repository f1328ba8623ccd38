import { expect, test } from "bun:test";
import { UsageError } from "../contract.ts";
import { parseProtected } from "./protect.ts";

test("a fence is read without regard to case, sorted and unique", () => {
  expect(parseProtected(["B", " public.a", "b"])).toEqual(["b", "public.a"]);
});

test("a value that names no table is wrong usage, and no fence less", () => {
  for (const value of ["", " ", "a.b.c", "a b", '"a"']) expect(() => parseProtected([value])).toThrow(UsageError);
});
