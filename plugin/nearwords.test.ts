import { expect, test } from "bun:test";
import { limits } from "./limits.ts";
import { nearWords } from "./nearwords.ts";
import { run, waitingWorld } from "./testing.ts";

test("a slip comes before a word that only shares a part", () => {
  const known = ["PlanPublished", "PlanReady", "Plan", "Settled", "plan"];
  expect(nearWords("plan", known)).toEqual(["Plan", "plan", "PlanPublished", "PlanReady"]);
  expect(nearWords("plna", known)).toEqual(["Plan", "plan"]);
  expect(nearWords("Happiness", known)).toEqual([]);
});

test("no more words are named than a line holds", () => {
  const known = Array.from({ length: limits.suggestionsMax + 3 }, (_, index) => `Failed${index}`);
  expect(nearWords("Failed", known)).toEqual(known.slice(0, limits.suggestionsMax));
});

test("a word longer than the bound is compared with none, and one as long as it still is", () => {
  const longest = "x".repeat(limits.comparedWordMax);
  expect(nearWords(longest.slice(1), [longest])).toEqual([longest]);
  expect(nearWords(`${longest}x`, [longest])).toEqual([]);
});

test("every word that explain lists can still be found by a slip", async () => {
  const { stdout } = await run(waitingWorld(), ["explain"]);
  const words = [...stdout.matchAll(/^ {2}(\S+)/gm)].map(([, word = ""]) => word);
  expect(words.length).toBeGreaterThan(100);
  expect(words.filter((word) => word.length + limits.slipsMax > limits.comparedWordMax)).toEqual([]);
});
