import { expect, test } from "bun:test";
import { waitFor } from "./wait.ts";

test("waiting ends with what was seen, and an error counts as not yet", async () => {
  let looks = 0;
  const look = () => {
    looks += 1;
    if (looks === 1) throw new Error("not there");
    return looks === 3 ? "seen" : undefined;
  };
  expect(await waitFor("it", look, { timeoutMs: 5_000, pollMs: 1 })).toBe("seen");
});

test("waiting in vain names what was waited for and the last error", async () => {
  const look = () => {
    throw new Error("connection refused");
  };
  const waiting = waitFor("a ready server", look, { timeoutMs: 10, pollMs: 1 });
  await expect(waiting).rejects.toThrow("a ready server did not happen within 0.01 s: connection refused");
});

test("a watcher may end the waiting at once", async () => {
  const onPoll = () => {
    throw new Error("it died");
  };
  await expect(waitFor("it", () => false, { timeoutMs: 5_000, onPoll })).rejects.toThrow("it died");
});
