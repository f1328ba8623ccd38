import { describe, expect, test } from "bun:test";
import { run, waitingWorld } from "./testing.ts";

const WRONG = ["", "..", ".", "a b", "Orders", "-x", "x-", "a..b", "%2e%2e", "orders?x=1", "a".repeat(254)];
const COMMANDS = ["schema", "migration", "plan", "approve", "wait", "refresh", "journal", "settle", "acknowledge"];

describe("what can be no name", () => {
  test.each(COMMANDS)("is wrong usage of %s, before any request", async (command) => {
    for (const name of WRONG) {
      const ran = await run(waitingWorld(), [command, "--", name]);
      expect(ran.requests).toEqual([]);
      expect(ran.stderr).toContain("a name is at most 253 lowercase letters");
      expect(ran.code).toBe(2);
    }
  });

  test("is wrong usage behind a kind's word too", async () => {
    for (const name of ["schema/..", "schema/Orders", "migration/%2e"]) {
      const ran = await run(waitingWorld(), ["plan", name]);
      expect([ran.code, ran.requests.length]).toEqual([2, 0]);
    }
  });

  test("is wrong usage as a namespace, given or found in the environment", async () => {
    for (const namespace of ["", "..", "a.b", "A", "a/b", "a".repeat(64)]) {
      const ran = await run(waitingWorld(), ["schema", "-n", namespace]);
      expect(ran.requests).toEqual([]);
      expect(ran.stderr).toContain("--namespace: a namespace's name is at most 63");
      expect(ran.code).toBe(2);
    }
    const ran = await run(waitingWorld(), ["schema"], { env: { PTAH_OPERATOR_NAMESPACE: ".." } });
    expect([ran.code, ran.requests.length]).toEqual([2, 0]);
  });
});

test("a duration beyond what anybody waits is wrong usage, whatever it bounds", async () => {
  for (const [flag, command] of [
    ["--timeout", "schema"],
    ["--timeout", "plan"],
    ["--wait-timeout", "wait"],
    ["--wait-timeout", "approve"],
  ] as const) {
    for (const text of ["99999999h", "169h"]) {
      const ran = await run(waitingWorld(), [command, "orders", flag, text]);
      expect(ran.stderr).toContain(`${flag} must not be longer than 168h`);
      expect(ran.code).toBe(2);
    }
  }
  expect((await run(waitingWorld(), ["schema", "orders", "--timeout", "168h"])).code).toBe(0);
});
