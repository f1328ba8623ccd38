import { describe, expect, test } from "bun:test";
import type { JournalEntry } from "../crds/status/index.ts";
import { journalWith } from "./journal.ts";
import { instantOf } from "./time.ts";

const AT = Date.parse("2026-01-01T00:00:00Z");
const DAY = 24 * 3600_000;
const at = (ms: number) => instantOf(AT + ms);
const plan = (uid: string) => ({ name: uid, uid, fingerprint: `sha256:${"a".repeat(64)}` });
const verified = (ms: number): JournalEntry => ({ type: "Verified", time: at(ms), outcome: "InSync" });
const failed = (ms: number, reason = "OperationFailed"): JournalEntry => ({
  type: "OperationFailed",
  time: at(ms),
  operation: "Observe",
  reason,
});

describe("the journal", () => {
  test("covers from its first write and keeps the order of what happened", () => {
    const journal = journalWith(undefined, [verified(0), failed(1)], AT);
    expect(journal.coveredSince).toBe(at(0));
    expect(journal.entries?.map((e) => e.type)).toEqual(["Verified", "OperationFailed"]);
  });

  test("merges failures in a row of the same operation and reason, with a count and the last time", () => {
    const journal = journalWith(undefined, [failed(0), failed(1000), failed(2000)], AT);
    expect(journal.entries).toEqual([{ ...failed(0), count: 3, lastTime: at(2000) }]);
    const other = journalWith(journal, [failed(3000, "RunnerProtocolMismatch"), failed(4000)], AT);
    expect(other.entries).toHaveLength(3);
  });

  test("names a plan once, however often it is published again", () => {
    const entry: JournalEntry = { type: "PlanPublished", time: at(0), plan: plan("one") };
    const journal = journalWith(undefined, [entry, { ...entry, time: at(1) }], AT);
    expect(journal.entries).toHaveLength(1);
  });

  test("holds at most 64 entries, drops the oldest and moves coveredSince past what it dropped", () => {
    const journal = journalWith(
      undefined,
      Array.from({ length: 70 }, (_, i) => verified(i * 1000)),
      AT,
    );
    expect(journal.entries).toHaveLength(64);
    expect(journal.entries?.[0]?.time).toBe(at(6000));
    expect(journal.coveredSince).toBe(at(5000));
  });

  test("holds nothing more than 30 days older than the newest", () => {
    const journal = journalWith(undefined, [verified(0), verified(31 * DAY)], AT);
    expect(journal.entries?.map((e) => e.time)).toEqual([at(31 * DAY)]);
    expect(journal.coveredSince).toBe(at(0));
  });

  test("keeps how the standing plan came and its newest approval past both bounds", () => {
    const published: JournalEntry = { type: "PlanPublished", time: at(0), plan: plan("one") };
    const approved: JournalEntry = { type: "ApprovalAccepted", time: at(1), plan: plan("one"), approvalUID: "x" };
    const many = Array.from({ length: 70 }, (_, i) => verified(40 * DAY + i));
    const standing = journalWith(undefined, [published, approved, ...many], AT);
    expect(standing.entries?.slice(0, 2)).toEqual([published, approved]);
    expect(standing.entries).toHaveLength(64);
    const ended: JournalEntry = { type: "ApplyFinished", time: at(41 * DAY), plan: plan("one"), outcome: "Succeeded" };
    const after = journalWith(standing, [ended], AT);
    expect(after.entries?.some((e) => e.type === "PlanPublished")).toBe(false);
    const other = journalWith(standing, [{ ...published, time: at(41 * DAY), plan: plan("two") }], AT);
    expect(other.entries?.some((e) => e.plan?.uid === "one")).toBe(false);
  });
});
