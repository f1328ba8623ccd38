import { describe, expect, test } from "bun:test";
import { sweepWhileBusy } from "./sweep.ts";

/** Runs one sleep for each of these counts of work; the signal fires in the last. @returns how often was collected */
async function collected(counts: readonly number[]): Promise<number> {
  const ender = new AbortController();
  let at = 0;
  let collections = 0;
  const sleep = async (): Promise<void> => {
    at += 1;
    if (at >= counts.length - 1) ender.abort();
  };
  await sweepWhileBusy(
    { world: { sleep }, everyMs: 1, done: () => counts[at] ?? 0, collect: () => (collections += 1) },
    ender.signal,
  );
  return collections;
}

describe("sweeping", () => {
  test("collects after each stretch in which something was done, and once more when the work has ended", async () => {
    expect(await collected([0, 3, 4, 4, 4, 4])).toBe(3);
    expect(await collected([0, 3, 3, 3, 4])).toBe(3);
  });
  test("collects nothing while nothing is done", async () => {
    expect(await collected([7, 7, 7])).toBe(0);
  });
});
