import { beforeAll, describe, expect, test } from "bun:test";
import { MIRROR_MAX_BYTES } from "../crds/status/index.ts";
import { loadParser } from "../sql/index.ts";
import type { WriteLease } from "./move.ts";
import { leaseRecordKey } from "./obligations/realm.ts";
import { TestWorld } from "./testing.ts";
import type { Lease } from "./testing-facts.ts";
import { CREATE, database, planOf, SPEC } from "./testing-plans.ts";
import { realTools, type Tools } from "./tools.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

const ALWAYS = { ...SPEC, policy: { apply: "Always" } };
const DURATION_SECONDS = 960;
const foreign = (w: TestWorld, executionNotAfter?: string): Lease => ({
  uid: "lease-uid",
  resourceVersion: "7",
  holder: "ptah-h-foreign",
  epoch: `v1-${"f".repeat(32)}`,
  durationSeconds: DURATION_SECONDS,
  acquiredAtMs: w.wallMs,
  renewedAtMs: w.wallMs,
  transitions: 3,
  owner: {
    kind: "PtahMigration",
    namespace: "other",
    name: "ledger",
    uid: "ledger-uid",
    jobName: "ptah-m-apply-ledger",
    ...(executionNotAfter === undefined ? {} : { executionNotAfter }),
  },
});
const watch = (w: TestWorld, lease: Lease) => {
  w.lease = lease;
  w.memory = { leaseUnchanged: { record: leaseRecordKey(lease), sinceMonotonicMs: w.wallMs } };
};
const leaseWrites = (w: TestWorld) => w.moves.filter((move): move is WriteLease => move.kind === "writeLease");
/** Runs until the Apply's Job stands and its UID is known, its Pod still behind the gate. */
const startApply = (w: TestWorld) => {
  w.holdApply = true;
  w.stepTo(({ status }) => status.activeOperation?.type === "Apply" && status.activeOperation.jobUID !== undefined);
};

describe("a foreign Lease", () => {
  test("of a reading is taken only after its whole duration was seen unchanged here", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    watch(w, foreign(w));
    const wait = w.settle();
    expect(wait).toMatchObject({ kind: "wait", rule: "6/realm/held", untilMs: w.wallMs + DURATION_SECONDS * 1000 });
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toContain("PtahMigration other/ledger");
    w.wallMs += DURATION_SECONDS * 1000 - 1;
    expect(w.settle().rule).toBe("6/realm/held");
    w.wallMs += 1;
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(leaseWrites(w)[0]?.content.epoch).not.toBe(`v1-${"f".repeat(32)}`);
    expect(leaseWrites(w)[0]?.content.transitions).toBe(4);
  });

  test("counts anew when its record changes, and when this process starts", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    watch(w, foreign(w));
    w.wallMs += DURATION_SECONDS * 1000;
    if (w.lease !== null) w.lease = { ...w.lease, renewedAtMs: w.wallMs };
    expect(w.settle()).toMatchObject({ kind: "wait", untilMs: w.wallMs + DURATION_SECONDS * 1000 });
    expect(leaseWrites(w)).toHaveLength(0);
  });

  test("of an Apply is not taken while that Apply may still write", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    const notAfter = w.wallMs + 5000 * 1000;
    watch(w, foreign(w, new Date(notAfter).toISOString()));
    w.settle();
    w.wallMs += DURATION_SECONDS * 1000;
    expect(w.settle()).toMatchObject({ kind: "wait", rule: "6/realm/held", untilMs: notAfter + 120_000 });
    w.wallMs = notAfter + 120_000;
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
  });
});

describe("our Lease", () => {
  test("that an undispatched claim lost is waited for until the other's time, not renewed", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.stepTo(({ status }) => status.activeOperation?.leaseEpoch !== undefined);
    w.wallMs += 600_000;
    watch(w, foreign(w));
    const first = w.settle();
    expect(first).toMatchObject({ rule: "6/realm/held", untilMs: w.wallMs + DURATION_SECONDS * 1000 });
    w.wallMs += 400_000;
    expect(w.settle()).toMatchObject({ rule: "6/realm/held", untilMs: first.kind === "wait" ? first.untilMs : 0 });
  });

  test("is renewed at a third, at the duration the claim recorded, whatever the spec says now", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    startApply(w);
    w.edit((spec) => ({ ...spec, execution: { activeDeadlineSeconds: 3600 } }));
    w.wallMs += (DURATION_SECONDS / 3) * 1000;
    w.settle();
    expect(leaseWrites(w).at(-1)).toMatchObject({ purpose: "renew", content: { durationSeconds: DURATION_SECONDS } });
    expect(w.status.activeOperation?.type).toBe("Apply");
  });

  test("that changed hands during an Apply latches, collects the running Job, and the result is never read", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    startApply(w);
    w.settle();
    if (w.lease !== null) w.lease = { ...w.lease, holder: "ptah-h-foreign", epoch: `v1-${"f".repeat(32)}` };
    w.settle();
    expect(w.rules().slice(-6)).toEqual(["3b/lost", "4/lost/ttl", "4/lost", "8/holding", "11/mirror", "8/holding"]);
    expect(w.status.pendingObservation).toMatchObject({ outcome: "OutcomeUnknown" });
    expect(w.status.pendingObservation?.lease).toBeUndefined();
  });

  test("is given back only after the proof, and never while the Apply's Pod may still write", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    startApply(w);
    w.settle();
    const name = w.status.activeOperation?.jobName ?? "";
    w.jobs.delete(name);
    const wait = w.settle();
    expect(wait).toMatchObject({ kind: "wait", rule: "8/holding" });
    expect(w.lease?.holder).not.toBe("");
    w.run((world) => world.status.pendingObservation === undefined);
    expect(w.wallMs).toBeGreaterThanOrEqual(Date.parse("2026-01-01T00:16:30Z"));
    w.settle();
    expect(leaseWrites(w).some((move) => move.purpose === "release")).toBe(true);
  });
});

describe("the scheduling gate", () => {
  test("opens for the first recorded Pod only", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    startApply(w);
    w.settle();
    const name = w.status.activeOperation?.jobName ?? "";
    const held = w.jobs.get(name);
    const first = held?.pods[0];
    if (held === undefined || first === undefined) throw new Error("no Pod");
    expect(first.gated).toBe(false);
    held.pods = [first, { ...first, uid: "second", name: "second", gated: true }];
    w.settle();
    expect(w.status.activeOperation?.podCount).toBe(2);
    expect(w.moves.filter((move) => move.kind === "openGate")).toHaveLength(1);
  });

  test("stays shut once the dispatch window has passed", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    startApply(w);
    const gatesBefore = w.moves.filter((move) => move.kind === "openGate").length;
    expect(gatesBefore).toBe(0);
    w.wallMs = Date.parse(w.status.activeOperation?.dispatchNotAfter ?? "");
    w.settle();
    expect(w.moves.filter((move) => move.kind === "openGate")).toHaveLength(0);
    expect(w.status.activeOperation?.podCount).toBe(1);
  });
});

describe("the mirror", () => {
  test("is written before anything is dispatched and fits its bound", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    w.approve();
    w.settle();
    const rules = w.rules();
    const dispatch = w.moves.findIndex((move) => move.kind === "dispatch" && move.job.work.type === "Apply");
    expect(rules.indexOf("6/mirror")).toBeLessThan(dispatch);
    const mirror = w.moves.find((move) => move.rule === "6/mirror");
    const text =
      mirror?.kind === "patchMetadata" ? mirror.annotations?.["operator.ptah.run/unsettled-apply"] : undefined;
    expect(Buffer.byteLength(text ?? "")).toBeGreaterThan(0);
    expect(Buffer.byteLength(text ?? "")).toBeLessThanOrEqual(MIRROR_MAX_BYTES / 2);
  });
});
