import { beforeAll, describe, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import { TestWorld } from "./testing.ts";
import { sourceOf, TARGET } from "./testing-facts.ts";
import { directory, ended, RUN_SPEC } from "./testing-history.ts";
import { realTools, type Tools } from "./tools.ts";
import type { AcknowledgmentFacts } from "./view.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

const ELSEWHERE = `sha256:${"e".repeat(64)}`;
const MIRROR = "operator.ptah.run/unsettled-apply";
const always = (dir: ReturnType<typeof directory>) =>
  new TestWorld(tools, { ...RUN_SPEC, policy: { apply: "Always" } }, dir.answer, "migration");
const journal = (w: TestWorld) => w.status.journal?.entries?.map((e) => `${e.type} ${e.outcome ?? ""}`.trim());
const id = (w: TestWorld): string => w.status.unresolvedRun?.operationID ?? "";

/** A run of two versions that stopped half-way in the second. */
function partial() {
  const dir = directory([1, 2]);
  dir.state.run = ended("partial", [1, 2], { applied: [1] });
  return { dir, w: always(dir) };
}

/** Runs until the run ended, and its reading found what it found. */
function blocked() {
  const { dir, w } = partial();
  w.stepTo(({ status }) => status.lastRun !== undefined);
  dir.state.applied = 1;
  w.settle();
  return { dir, w };
}

const acknowledge = (w: TestWorld, operationID: string, change: Partial<AcknowledgmentFacts> = {}) => {
  w.acknowledgments = [
    ...w.acknowledgments,
    {
      name: `ack-${w.acknowledgments.length}`,
      uid: `uid-ack-${w.acknowledgments.length}`,
      resourceVersion: "1",
      generation: 1,
      deleting: false,
      resourceName: "orders",
      resourceUID: w.uid,
      operationID,
      by: { username: "dora" },
      acknowledgedAt: new Date(w.wallMs).toISOString(),
      stamped: true,
      status: {},
      ...change,
    },
  ];
};
const marks = (w: TestWorld) =>
  w.acknowledgments.map((a) => a.status.conditions?.map((c) => `${c.type}=${c.status} ${c.reason}`).join());

describe("a run that ended partly", () => {
  test("holds the resource: no plan, no run, its Lease given back, and one entry of its own", () => {
    const { dir, w } = blocked();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Blocked")).toBe("True OutcomeUnknown");
    expect(w.status.unresolvedRun).toMatchObject({ outcome: "Partial", targetIdentityDigest: TARGET });
    expect(w.status.unresolvedRun?.next).toBeUndefined();
    expect(w.lease?.holder).toBe("");
    expect(w.status.plan).toBeUndefined();
    expect(w.finalizer).toBe(true);
    for (let i = 0; i < 3; i += 1) {
      w.wallMs += 3_600_000;
      w.settle();
    }
    expect(dir.state.runs).toBe(1);
    expect(w.plans.size).toBe(1);
    expect(journal(w)).toEqual(["PlanPublished", "RunFinished Partial", "Verified Pending"]);
  });

  test("stays Blocked while its source is refused, and says both", () => {
    const { w } = blocked();
    w.source = { state: "refused", reason: "SourceNotFound", sentence: "ConfigMap orders-migrations does not exist." };
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.condition("Ready")).toBe("False SourceNotFound");
    expect(w.condition("Blocked")).toBe("True OutcomeUnknown");
    expect(w.status.phase).toBe("Blocked");
  });

  test("says where it stopped and what is kept, and names no code of an unknown outcome", () => {
    const dir = directory([1]);
    const kept = "version 1: statement 2 of 3 failed (SQLSTATE 42P01); its first statement is kept";
    const failure = { version: 1, statement: 2, sqlState: "42P01" };
    dir.state.run = {
      ...ended("partial", [1], { failure }),
      error: { code: "apply_outcome_unknown", message: kept },
    };
    const w = always(dir);
    w.stepTo(({ status }) => status.lastRun !== undefined);
    const sentence = w.status.lastRun?.message;
    expect(sentence).toStartWith(`The run stopped half-way: ${kept}. It applied no whole version before.`);
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toBe(sentence);
  });

  test("is settled by a clean reading of that database, and then goes on", () => {
    const { dir, w } = blocked();
    const run = id(w);
    dir.state.applied = 2;
    w.run(() => w.status.phase === "InSync");
    expect(w.status.resolvedRun).toMatchObject({ operationID: run, resolution: "Reading", outcome: "Partial" });
    expect(w.status.resolvedRun?.by).toBeUndefined();
    expect(w.annotations[MIRROR]).toBeUndefined();
    expect(w.finalizer).toBe(false);
  });

  test("is not settled by a clean reading of another database", () => {
    const { dir, w } = blocked();
    dir.state.applied = 2;
    const answer = w.answer;
    w.answer = (job) => ({ ...answer(job), targetIdentityDigest: ELSEWHERE });
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.status.unresolvedRun).toBeDefined();
    w.answer = answer;
    w.run(() => w.status.phase === "InSync");
  });

  test("is settled by an acknowledgment bound to it, which is marked consumed, and reads again", () => {
    const { dir, w } = blocked();
    const run = id(w);
    acknowledge(w, ELSEWHERE);
    acknowledge(w, run);
    dir.state.run = undefined;
    w.run(() => w.status.phase === "InSync");
    expect(w.status.resolvedRun).toMatchObject({
      operationID: run,
      resolution: "Acknowledged",
      by: { username: "dora" },
      acknowledgment: { name: "ack-1", uid: "uid-ack-1" },
    });
    expect(marks(w)).toEqual(["Stale=True RunNotUnresolved", "Consumed=True RunAcknowledged"]);
    const entry = w.status.journal?.entries?.find((e) => e.type === "RunAcknowledged");
    expect(entry).toMatchObject({ operationID: run, outcome: "Partial", acknowledgedBy: { username: "dora" } });
    expect(dir.state.runs).toBe(2);
  });

  test("is not settled by an acknowledgment that is unstamped, is going, or names a namesake of before", () => {
    const { w } = blocked();
    acknowledge(w, id(w), { stamped: false });
    acknowledge(w, id(w), { deleting: true });
    acknowledge(w, id(w), { resourceUID: "another" });
    w.settle();
    expect(w.status.unresolvedRun).toBeDefined();
    expect(marks(w)[2]).toBe("Stale=True RunNotUnresolved");
  });

  test("is not settled by the annotation, but while it is being deleted it is", () => {
    const { w } = blocked();
    w.annotations["operator.ptah.run/settled-apply"] = id(w);
    w.annotations["operator.ptah.run/settled-apply-by"] = "erin";
    w.settle();
    expect(w.status.unresolvedRun).toBeDefined();
    w.deleting = true;
    w.settle();
    expect(w.status.unresolvedRun).toBeUndefined();
    expect(w.status.resolvedRun).toMatchObject({ resolution: "Settled", by: { username: "erin" } });
    expect(w.finalizer).toBe(false);
  });

  test("holds deletion, is read again at each interval, and lets go when a reading settles it", () => {
    const { dir, w } = blocked();
    w.deleting = true;
    const move = w.settle();
    expect(w.finalizer).toBe(true);
    expect(move).toMatchObject({ kind: "rest", rule: "9" });
    const said = w.status.conditions?.find((c) => c.type === "Ready")?.message;
    expect(said).toContain("end it with kubectl ptah settle migration/orders -n application.");
    expect(said).not.toContain("acknowledge");
    expect(w.condition("Ready")).toBe("False OutcomeUnknown");
    expect(w.condition("Blocked")).toBe("True OutcomeUnknown");
    w.run((world) => world.rules().filter((rule) => rule === "8/history").length === 3);
    dir.state.applied = 2;
    w.run(() => !w.finalizer);
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
  });

  test("waits for its reading while suspended, and an acknowledgment settles it all the same", () => {
    const { dir, w } = partial();
    w.stepTo(({ status }) => status.lastRun !== undefined);
    w.edit((spec) => ({ ...spec, suspend: true }));
    w.settle();
    expect(w.status.phase).toBe("Suspended");
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toContain(
      "kubectl ptah acknowledge orders -n application",
    );
    expect(dir.state.runs).toBe(1);
    acknowledge(w, id(w));
    w.settle();
    expect(w.status.unresolvedRun).toBeUndefined();
    expect(w.status.phase).toBe("Suspended");
  });

  test("says while suspended and deleted that only the settling of it ends the wait", () => {
    const { w } = partial();
    w.stepTo(({ status }) => status.lastRun !== undefined);
    w.edit((spec) => ({ ...spec, suspend: true }));
    w.deleting = true;
    w.settle();
    const said = w.status.conditions?.find((c) => c.type === "Ready")?.message;
    expect(said).toContain("kubectl ptah settle migration/orders -n application.");
    expect(said).not.toContain("acknowledge");
  });

  test("survives a restore without status: Blocked, with the entry that was lost, until it is settled", () => {
    const { dir, w } = blocked();
    const run = id(w);
    const recordedAt = w.status.unresolvedRun?.recordedAt ?? "";
    w.status = {};
    w.finalizer = false;
    w.uid = "another-uid";
    w.jobs.clear();
    w.wallMs += 60_000;
    w.stepTo(({ status }) => status.unresolvedRun !== undefined);
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Blocked")).toBe("True RecordRestored");
    expect(w.finalizer).toBe(true);
    expect(w.status.unresolvedRun).toMatchObject({ operationID: run, outcome: "Partial", restored: true });
    expect(w.status.journal?.entries).toEqual([
      expect.objectContaining({ type: "RunFinished", outcome: "Partial", time: recordedAt, operationID: run }),
    ]);
    const wait = w.settle();
    expect(wait).toMatchObject({ kind: "wait", rule: "8/holding" });
    expect(w.status.phase).toBe("Blocked");
    dir.state.applied = 2;
    w.run(() => w.status.phase === "InSync");
    expect(w.status.resolvedRun).toMatchObject({ operationID: run, resolution: "Reading" });
    expect(dir.state.runs).toBe(1);
  });

  test("and put back beside another realm stays Blocked, and runs nothing until a person settles it", () => {
    const { dir, w } = blocked();
    w.status = {};
    w.edit((spec) => ({ ...spec, target: { ...RUN_SPEC.target, coordinationKey: "another" } }));
    w.answer = (job) => ({ ...dir.answer(job), targetIdentityDigest: ELSEWHERE });
    dir.state.applied = 0;
    w.run(() => w.status.history !== undefined && w.status.phase === "Blocked", 80);
    expect(dir.state.runs).toBe(1);
    acknowledge(w, id(w));
    dir.state.run = undefined;
    w.run(() => w.status.phase === "InSync");
    expect(dir.state.runs).toBe(2);
  });

  test("and put back while it is deleted, without its source, is looked at again at the interval only", () => {
    const { dir, w } = blocked();
    w.status = {};
    w.jobs.clear();
    w.deleting = true;
    w.source = { state: "refused", reason: "SourceNotFound", sentence: "ConfigMap orders-migrations does not exist." };
    w.run((world) => world.rules().filter((rule) => rule === "8/without").length === 2);
    expect(w.finalizer).toBe(true);
    w.source = sourceOf("one");
    dir.state.applied = 2;
    w.run(() => !w.finalizer);
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
  });

  test("whose own reading fails is read by ordinary cycles from then on", () => {
    const { dir, w } = partial();
    w.stepTo(({ status }) => status.lastRun !== undefined);
    const answer = w.answer;
    w.answer = (job) =>
      job.work.type === "History"
        ? { error: { code: "connection_failed", message: "No route." }, migrationHistory: undefined }
        : answer(job);
    w.settle();
    expect(w.rules()).toContain("6/unproved");
    expect(w.status.phase).toBe("Blocked");
    expect(w.status.unresolvedRun?.next).toBeUndefined();
    w.answer = answer;
    dir.state.applied = 2;
    w.run(() => w.status.phase === "InSync");
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
  });

  test("is not forgotten by an edit of the source; a settled run then reads what is declared now", () => {
    const { dir, w } = partial();
    w.stepTo(({ status }) => status.lastRun !== undefined);
    w.source = sourceOf("two");
    dir.state.applied = 2;
    w.settle();
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
    expect(w.status.artifact?.contentDigest).toBe((w.source as { contentDigest: string }).contentDigest);
    expect(w.status.phase).toBe("InSync");
  });
});

describe("a run nobody can account for", () => {
  test("names no database, is never run again, and a clean reading of the planned one settles it", () => {
    const dir = directory([1]);
    const w = always(dir);
    w.stepTo(({ status }) => status.activeOperation?.dispatchStarted === true && status.plan?.dispatched === true);
    w.memory = { createFailed: { jobName: w.status.activeOperation?.jobName ?? "", code: "Timeout" } };
    w.jobs.clear();
    w.settle();
    expect(w.status.unresolvedRun).toMatchObject({ outcome: "Unknown", targetIdentityDigest: TARGET });
    expect(w.status.lastRun).toMatchObject({ outcome: "Unknown" });
    expect(w.status.lastRun?.targetIdentityDigest).toBeUndefined();
    expect(w.status.phase).toBe("Blocked");
    expect(w.lease?.holder).not.toBe("");
    w.memory = {};
    dir.state.applied = 1;
    w.run(() => w.status.phase === "InSync");
    expect(w.lease?.holder).toBe("");
    expect(w.status.lastRun?.verification).toBeUndefined();
    expect(journal(w)).toEqual(["PlanPublished", "RunFinished Unknown"]);
    expect(dir.state.runs).toBe(0);
  });

  test("is one that was started on another database, or that left no document", () => {
    for (const run of [
      { targetIdentityDigest: ELSEWHERE },
      { migrationRun: undefined, error: { code: "child_failed", message: "It left nothing." }, uncertain: true },
    ]) {
      const dir = directory([1]);
      dir.state.run = run;
      const w = always(dir);
      w.stepTo(({ status }) => status.lastRun !== undefined);
      expect(w.status.lastRun?.outcome).toBe("Unknown");
      expect(w.status.unresolvedRun?.outcome).toBe("Unknown");
    }
  });

  test("is one that lost its Lease: seen to its end, unread, its running Job without a TTL", () => {
    const dir = directory([1]);
    const w = always(dir);
    w.holdApply = true;
    w.stepTo(({ status }) => status.activeOperation?.type === "Apply" && status.activeOperation.jobUID !== undefined);
    w.settle();
    if (w.lease !== null) w.lease = { ...w.lease, holder: "ptah-h-foreign", epoch: `v1-${"f".repeat(32)}` };
    const wait = w.settle();
    expect(w.rules().slice(-2)).toEqual(["3b/lost", "4/running"]);
    expect(wait.kind).toBe("wait");
    expect(w.status.activeOperation?.leaseContinuityLost).toBe(true);
    expect([...w.jobs.values()].every(({ job }) => job.ttlSeconds === undefined || job.terminal !== undefined)).toBe(
      true,
    );
    w.holdApply = false;
    w.endJobs();
    w.stepTo(({ status }) => status.lastRun !== undefined);
    expect(w.rules()).not.toContain("4/result");
    expect(w.status.unresolvedRun).toMatchObject({ outcome: "Unknown" });
    expect(w.lease?.holder).toBe("ptah-h-foreign");
  });

  test("is waited for while its Pod may still write, and nobody's word settles it before", () => {
    const dir = directory([1]);
    const w = always(dir);
    w.holdApply = true;
    w.stepTo(({ status }) => (status.activeOperation?.podCount ?? 0) > 0);
    const name = w.status.activeOperation?.jobName ?? "";
    w.jobs.delete(name);
    w.settle();
    acknowledge(w, id(w));
    expect(w.settle()).toMatchObject({ kind: "wait", rule: "8/holding" });
    expect(w.status.unresolvedRun).toBeDefined();
    dir.state.applied = 1;
    w.run((world) => world.status.unresolvedRun === undefined);
    expect(w.status.resolvedRun?.resolution).toBe("Acknowledged");
  });
});

describe("an undispatched run", () => {
  test("is withdrawn to Pending and resolves anew when what it rests on moved", () => {
    const dir = directory([1]);
    const w = new TestWorld(tools, RUN_SPEC, dir.answer, "migration");
    w.settle();
    w.approve();
    w.stepTo(({ status }) => status.activeOperation?.type === "Apply");
    w.approvals = [];
    w.stepTo(({ status }) => status.activeOperation === undefined);
    expect(w.rules().at(-1)).toBe("6/revoked");
    expect(w.status.phase).toBe("Pending");
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(dir.state.runs).toBe(0);
    expect(w.status.lastRun).toBeUndefined();
  });

  test("carries an approval on to the next claim when it was withdrawn before it spent one", () => {
    const dir = directory([1]);
    const w = new TestWorld(tools, RUN_SPEC, dir.answer, "migration");
    w.settle();
    w.approve();
    w.stepTo(({ status }) => status.activeOperation?.type === "Apply");
    w.edit((spec) => ({ ...spec, suspend: true }));
    w.settle();
    expect(w.status.phase).toBe("Suspended");
    w.edit((spec) => ({ ...spec, suspend: false }));
    w.settle();
    expect(w.status.phase).toBe("InSync");
    expect(dir.state.runs).toBe(1);
  });
});
