import { expect, test } from "bun:test";
import { troubleOf } from "./trouble.ts";

const failed = (code: string) =>
  troubleOf("OperationFailed", `Observe ended with ${code}: so it is. It is tried again after 30s.`);

test("a failure that names who acts needs that person, one of the connection may pass", () => {
  expect(failed("history_refused")?.ends).toBe("person");
  expect(failed("authentication_failed")?.ends).toBe("person");
  expect(failed("connection_failed")?.ends).toBe("time");
  expect(failed("observe_failed")?.ends).toBe("time");
});

test("failures of another code are another trouble, of the same code the same", () => {
  expect(failed("connection_failed")?.key).not.toBe(failed("database_missing")?.key);
  expect(troubleOf("OperationFailed", "no code")).toEqual({ ends: "time", key: "OperationFailed" });
});

test("what waits for a decision or goes well is no trouble", () => {
  for (const reason of ["AwaitingApproval", "InSync", "OperationInProgress", "Nonsense"])
    expect(troubleOf(reason, "")).toBeUndefined();
});
