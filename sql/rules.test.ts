import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { RULES } from "./rules.ts";

/** Every statement kind of the grammar, from the parser's own type declarations. */
const types = readFileSync(new URL("../node_modules/@pgsql/types/types.d.ts", import.meta.url), "utf8");
const kinds = [...types.matchAll(/export interface ([A-Za-z]+Stmt)\b/g)].map((match) => match[1] ?? "");
/** RawStmt wraps every statement; routines and DO blocks are read by their bodies. */
const elsewhere = new Set(["RawStmt", "CreateFunctionStmt", "DoStmt"]);

describe("statement rules", () => {
  test("the grammar's kinds are found", () => expect(kinds.length).toBeGreaterThan(100));
  test("every statement kind of the grammar has a rule", () => {
    expect(kinds.filter((kind) => !elsewhere.has(kind) && RULES[kind] === undefined)).toEqual([]);
  });
  test("no rule is for a kind that the grammar does not have", () => {
    expect(Object.keys(RULES).filter((kind) => !kinds.includes(kind))).toEqual([]);
  });
});
