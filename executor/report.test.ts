import { describe, expect, test } from "bun:test";
import { endingOf } from "./report.ts";

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });

describe("what nobody foresaw", () => {
  const cases: readonly [string, Error, string | undefined][] = [
    ["takes no writes", coded("cannot execute CREATE TABLE in a read-only transaction", "25006"), "25006"],
    ["a statement of the executor's own (SQLSTATE 53100)", coded("could not extend file", "53100"), "53100"],
    ["the database session was lost", new Error("Connection terminated unexpectedly"), undefined],
    ["the executor failed unexpectedly", new Error("row 'top-secret' is odd"), undefined],
  ];
  test.each(cases.map(([sentence], at) => [sentence, at] as const))("is told by what it was: %s", (sentence, at) => {
    const [, error, sqlstate] = cases[at] ?? ["", new Error("none"), undefined];
    const ending = endingOf(error);
    expect(ending).toMatchObject({ outcome: "failed", failure: { code: "executor_failed" } });
    expect(ending.error).toContain(sentence);
    expect(ending.failure?.sqlstate).toBe(sqlstate);
    expect(JSON.stringify(ending)).not.toContain("top-secret");
    expect(JSON.stringify(ending)).not.toContain("extend");
  });
});
