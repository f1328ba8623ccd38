import { describe, expect, test } from "bun:test";
import { horizonMs, mayStillWrite, withListed } from "./attempt.ts";
import type { Attempt, PodFacts } from "./view.ts";

const AT = Date.parse("2026-01-01T00:00:00Z");
const DEADLINE = "2026-01-01T00:15:00Z";
const attempt = (change: Partial<Attempt>): Attempt => ({
  jobName: "job",
  pods: [],
  podCount: 0,
  executionNotAfter: DEADLINE,
  terminationGracePeriodSeconds: 30,
  uncertain: false,
  ...change,
});
const ended = { jobTerminal: true, pods: [{ uid: "a", terminated: true }], podCount: 1 };
const pod = (uid: string, terminated = false): PodFacts => ({
  name: uid,
  uid,
  resourceVersion: "1",
  jobUID: "job-uid",
  deleting: false,
  gated: false,
  terminated,
  accepted: true,
});

describe("may still write", () => {
  test("is false once the Job ended and every Pod ever seen was seen terminated", () => {
    expect(mayStillWrite(attempt(ended), AT)).toBe(false);
  });

  test.each([
    ["the Job runs", { ...ended, jobTerminal: false }],
    ["no Pod was ever seen", { ...ended, pods: [], podCount: 0 }],
    ["a Pod was not seen terminated", { ...ended, pods: [{ uid: "a" }] }],
    ["a Pod beyond the eighth is known only by number", { ...ended, podCount: 2 }],
    [
      "a second Pod was not seen terminated",
      { ...ended, pods: [{ uid: "a", terminated: true }, { uid: "b" }], podCount: 2 },
    ],
  ])("is true while %s, until the horizon", (_why, change) => {
    const a = attempt(change);
    expect(mayStillWrite(a, AT)).toBe(true);
    expect(mayStillWrite(a, horizonMs(a) - 1)).toBe(true);
    expect(mayStillWrite(a, horizonMs(a))).toBe(false);
  });

  test("ends at the execution deadline, its grace and 60 s of skew", () => {
    expect(horizonMs(attempt({ podCount: 1 }))).toBe(Date.parse("2026-01-01T00:16:30Z"));
  });

  test("never ends before observeAfter where identity is uncertain or no Pod was seen", () => {
    const observeAfter = "2026-01-01T00:40:00Z";
    expect(horizonMs(attempt({ observeAfter }))).toBe(Date.parse(observeAfter));
    expect(horizonMs(attempt({ observeAfter, podCount: 1, uncertain: true }))).toBe(Date.parse(observeAfter));
    expect(horizonMs(attempt({ observeAfter, podCount: 1 }))).toBe(Date.parse("2026-01-01T00:16:30Z"));
    expect(horizonMs(attempt({ observeAfter: "2026-01-01T00:00:00Z" }))).toBe(Date.parse("2026-01-01T00:16:30Z"));
  });
});

describe("the Pods of an attempt", () => {
  test("are kept by UID with each termination, and nothing seen is news twice", () => {
    const first = withListed([], 0, [pod("a")]);
    expect(first).toMatchObject({ pods: [{ uid: "a" }], podCount: 1, news: true, newPod: true });
    const again = withListed(first.pods, first.podCount, [pod("a")]);
    expect(again.news).toBe(false);
    const over = withListed(first.pods, first.podCount, [pod("a", true)]);
    expect(over).toMatchObject({ pods: [{ uid: "a", terminated: true }], podCount: 1, news: true, newPod: false });
    expect(withListed(over.pods, over.podCount, [pod("a")]).news).toBe(false);
  });

  test("beyond eight are counted once and leave the attempt able to write", () => {
    const eight = "abcdefgh".split("").map((uid) => pod(uid, true));
    const known = withListed([], 0, eight);
    const more = withListed(known.pods, known.podCount, [...eight, pod("i", true)]);
    expect(more.pods).toHaveLength(8);
    expect(more.podCount).toBe(9);
    expect(withListed(more.pods, more.podCount, [pod("i", true)]).news).toBe(false);
    expect(mayStillWrite(attempt({ jobTerminal: true, pods: more.pods, podCount: more.podCount }), AT)).toBe(true);
  });
});
