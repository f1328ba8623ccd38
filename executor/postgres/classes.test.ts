import { expect, test } from "bun:test";
import { loadParser } from "../../sql/index.ts";
import { classifySteps } from "./classes.ts";
import type { Step } from "./differ.ts";

const parser = await loadParser();
const severities = (...sqls: readonly string[]) => {
  const steps = sqls.map((sql) => ({ sql, transaction: "joined", commitAfter: false }) as unknown as Step);
  return classifySteps(parser, steps).map((statement) => statement.severity);
};
const TABLE = 'CREATE TABLE "public"."orders" (id bigint PRIMARY KEY, customer bigint)';
const KEY = 'ALTER TABLE "public"."orders" ADD CONSTRAINT fk FOREIGN KEY (customer) REFERENCES "public"."customers"';

test("a foreign key on a table that the same plan creates is no warning, on an older one it is", () => {
  expect(severities(TABLE, KEY)).toEqual(["safe", "safe"]);
  expect(severities(KEY)).toEqual(["warning"]);
  expect(severities(KEY, TABLE)).toEqual(["warning", "safe"]);
});

test("every change of a database whose event trigger changes rows waits for a person, and says why", () => {
  const step = { sql: TABLE, transaction: "joined", commitAfter: false } as unknown as Step;
  expect(classifySteps(parser, [step], { withEveryStatement: true, functions: new Set() })).toMatchObject([
    { severity: "destructive", reason: "runs an event trigger that changes rows", class: { destructive: true } },
  ]);
});

test("a definition that calls a function which changes rows waits for a person, and says why", () => {
  const of = (sql: string) =>
    classifySteps(parser, [{ sql, transaction: "joined", commitAfter: false } as unknown as Step], {
      withEveryStatement: false,
      functions: new Set(["counted"]),
    });
  expect(of("ALTER TABLE a.b ADD COLUMN c int DEFAULT a.counted()")).toMatchObject([
    { severity: "destructive", reason: "calls a function that changes rows", class: { destructive: true } },
  ]);
  expect(of("ALTER TABLE a.b ADD COLUMN c int DEFAULT a.other()")).toMatchObject([{ severity: "safe" }]);
});

test("a table that may have been there, or got rows meanwhile, is no new one", () => {
  expect(severities(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"), KEY)).toEqual(["safe", "warning"]);
  const attach = 'ALTER TABLE "public"."orders" ATTACH PARTITION "public"."old" FOR VALUES IN (1)';
  expect(severities(TABLE, attach, KEY).at(-1)).toBe("warning");
});
