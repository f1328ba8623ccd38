import { beforeAll, describe, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import { TestWorld } from "./testing.ts";
import { sourceOf, TARGET } from "./testing-facts.ts";
import { directory, ended, RUN_SPEC } from "./testing-history.ts";
import { realTools, type Tools } from "./tools.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

const world = (dir: ReturnType<typeof directory>, policy: Record<string, unknown> = {}) =>
  new TestWorld(tools, { ...RUN_SPEC, policy }, dir.answer, "migration");
const ALWAYS = { apply: "Always" };
const phases = (w: TestWorld): string[] => {
  const seen: string[] = [];
  const perform = w.perform.bind(w);
  w.perform = (move) => {
    perform(move);
    const phase = w.status.phase;
    if (phase !== undefined && seen.at(-1) !== phase) seen.push(phase);
  };
  return seen;
};
const journal = (w: TestWorld) => w.status.journal?.entries?.map((e) => `${e.type} ${e.outcome ?? ""}`.trim());
const message = (w: TestWorld): string | undefined =>
  w.status.conditions?.find((condition) => condition.type === "Ready")?.message;
const dispatched = (w: TestWorld) => w.moves.filter((m) => m.kind === "dispatch" && m.job.work.type === "Apply").length;

describe("a directory of migrations", () => {
  test("is read, planned, waits, and runs once it is approved, then its history is read back", () => {
    const dir = directory([1, 2]);
    const w = world(dir);
    const seen = phases(w);
    w.settle();
    expect(seen).toEqual(["Reading", "Planning", "AwaitingApproval"]);
    expect(w.condition("Ready")).toBe("False AwaitingApproval");
    expect(w.condition("Reconciling")).toBeUndefined();
    expect(w.condition("Stalled")).toBeUndefined();
    w.approve();
    w.settle();
    expect(seen.slice(3)).toEqual(["Applying", "VerifyingHistory", "Reading", "InSync"]);
    expect(dir.state.runs).toBe(1);
    expect(w.condition("Ready")).toBe("True HistoryMatched");
    expect(w.condition("Progressing")).toBe("False HistoryMatched");
    expect(journal(w)).toEqual(["PlanPublished", "ApprovalAccepted", "RunFinished Applied", "Verified InSync"]);
    expect(w.status.lastRun).toMatchObject({
      outcome: "Applied",
      authorization: "Approval",
      approval: { name: "approval", approver: { username: "alice" } },
      appliedVersions: [1, 2],
      targetIdentityDigest: TARGET,
      verification: { outcome: "InSync", historyFingerprint: w.status.history?.fingerprint ?? "" },
    });
    const ids = w.status.journal?.entries?.flatMap((e) => e.operationID ?? []);
    expect(new Set(ids)).toEqual(new Set([w.status.lastRun?.operationID ?? ""]));
    expect(w.status.unresolvedRun).toBeUndefined();
    expect(w.status.plan).toBeUndefined();
    expect(w.lease?.holder).toBe("");
    expect(w.finalizer).toBe(false);
    expect(w.annotations["operator.ptah.run/unsettled-apply"]).toBeUndefined();
  });

  test("takes exactly these moves from its approval to its reading back", () => {
    const w = world(directory([1, 2]));
    w.settle();
    const before = w.moves.length;
    w.approve();
    w.settle();
    expect(w.rules().slice(before).join(" ")).toBe(
      "11/approvals 17 6/realm 6/realm/epoch 6/envelope 6/mirror 6/consume 6/dispatch 4/confirm 4/pods 4/gate 4/pods " +
        "4/result 4/ttl 4/success 2/remove 3 3 11/approvals 15/history 6/envelope 6/dispatch 6/confirm 6/result 6/ttl " +
        "6/converged 10 18",
    );
  });

  test("carries the approved sequence, its digest and its history into claim and Job", () => {
    const w = world(directory([1, 2]));
    w.settle();
    const plan = w.status.plan;
    w.approve();
    w.settle();
    const move = w.moves.find((m) => m.kind === "dispatch" && m.job.work.type === "Apply");
    const work = move?.kind === "dispatch" ? move.job.work : undefined;
    expect(work).toMatchObject({
      family: "migration",
      plan: {
        fingerprint: plan?.fingerprint ?? "",
        sequenceDigest: plan?.contentDigest ?? "",
        migrations: [
          { version: 1, checksum: "h1:1" },
          { version: 2, checksum: "h1:2" },
        ],
      },
    });
    const claim = move?.kind === "dispatch" ? move.status.activeOperation : undefined;
    expect(claim?.expectedSequence?.map((step) => step.version)).toEqual([1, 2]);
    expect(claim?.historyFingerprint).toBe(
      plan !== undefined && "historyFingerprint" in plan ? plan.historyFingerprint : "",
    );
  });

  test("runs by itself under Always, and takes no Lease to read", () => {
    const dir = directory([1]);
    const w = world(dir, ALWAYS);
    const seen = phases(w);
    w.settle();
    expect(seen).toEqual(["Reading", "Planning", "Applying", "VerifyingHistory", "Reading", "InSync"]);
    expect(w.status.lastRun?.authorization).toBe("Policy");
    const leases = w.moves.flatMap((m) => (m.kind === "writeLease" ? [m.purpose] : []));
    expect(leases).toEqual(["acquire", "release"]);
  });

  test("rests in Planning under Never, and says that applying is disabled", () => {
    const dir = directory([1]);
    const w = world(dir, { apply: "Never" });
    const move = w.settle();
    expect(w.status.phase).toBe("Planning");
    expect(w.condition("Ready")).toBe("False ApplyDisabled");
    expect(w.condition("Stalled")).toBeUndefined();
    expect(move).toMatchObject({ kind: "rest", verdict: "Planning" });
    expect(dir.state.runs).toBe(0);
  });

  test("keeps its plan and its approval over the interval, and gives both up when the history moved", () => {
    const dir = directory([1, 2]);
    const w = world(dir);
    w.settle();
    const name = w.status.plan?.name;
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.status.plan?.name).toBe(name ?? "");
    dir.state.applied = 1;
    w.wallMs += 3_600_000;
    w.settle();
    expect(w.status.plan?.name).not.toBe(name);
    expect(w.status.phase).toBe("AwaitingApproval");
  });

  test("resolves its source anew when that moved while a plan waits", () => {
    const w = world(directory([1]));
    w.settle();
    const seen = phases(w);
    w.source = sourceOf("two");
    w.settle();
    expect(seen).toEqual(["Pending", "Reading", "Planning", "AwaitingApproval"]);
  });
});

describe("what never runs", () => {
  test("is a plan whose stored versions are not those of its digest", () => {
    const dir = directory([1, 2]);
    const w = world(dir);
    w.settle();
    const plan = [...w.plans.values()][0];
    const object = plan?.facts.object;
    if (plan === undefined || object === null || object === undefined || !("migrations" in object.spec)) {
      throw new Error("no plan");
    }
    const migrations = object.spec.migrations.map((step) => ({ ...step, checksum: "h1:another" }));
    plan.facts = { ...plan.facts, object: { ...object, spec: { ...object.spec, migrations } } };
    w.approve();
    w.settle();
    expect(w.rules()).toContain("14");
    expect(dir.state.runs).toBe(0);
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.status.plan?.name).not.toBe(plan.facts.name);
  });

  test("is an unsupported source or engine: refused by name, without a Job", () => {
    const git = { git: { repository: "https://git.example/x", ref: "main" } };
    const w = new TestWorld(tools, { ...RUN_SPEC, artifact: git }, () => ({}), "migration");
    w.settle();
    expect(w.condition("Blocked")).toBe("True UnsupportedSource");
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toContain("spec.artifact names git");
    const oracle = { ...RUN_SPEC, target: { ...RUN_SPEC.target, engine: "Oracle" } };
    const other = new TestWorld(tools, oracle, () => ({}), "migration");
    other.settle();
    expect(other.condition("Ready")).toBe("False UnsupportedEngine");
    expect(message(other)).toContain("which runs a migration on PostgreSQL, MySQL and MariaDB.");
    expect(w.jobs.size + other.jobs.size).toBe(0);
  });

  test("outlives its Lease: that lasts two minutes longer than the run may, and never longer than the API stores", () => {
    for (const [deadline, lease] of [
      [900, 1020],
      [86_400, 86_460],
    ] as const) {
      const w = new TestWorld(
        tools,
        { ...RUN_SPEC, policy: ALWAYS, execution: { activeDeadlineSeconds: deadline } },
        directory([1]).answer,
        "migration",
      );
      w.stepTo(({ status }) => status.activeOperation?.dispatchNotAfter !== undefined);
      const claim = w.status.activeOperation;
      expect(claim?.leaseDurationSeconds).toBe(lease);
      const endMs = Date.parse(claim?.executionNotAfter ?? "");
      expect(endMs + 30_000).toBeLessThanOrEqual((w.lease?.acquiredAtMs ?? 0) + lease * 1000);
    }
  });
});

describe("a verdict over a history", () => {
  const record = (version: number, state: "applied" | "modified" | "dirty" | "pending" | "out-of-order") => ({
    version,
    checksum: `h1:${version}`,
    state,
  });

  test.each([
    [
      "HistoryDirty",
      { dirtyRevision: { version: 2, applied: 1, total: 3 }, migrations: [record(1, "modified"), record(2, "dirty")] },
    ],
    ["HistoryModified", { migrations: [record(1, "modified"), record(2, "out-of-order")] }],
    ["HistoryOutOfOrder", { migrations: [record(1, "out-of-order"), record(2, "applied")], currentVersion: 2 }],
    ["HistoryAhead", { migrations: [record(1, "applied"), record(2, "applied")], currentVersion: 9 }],
    [
      "HistoryAhead",
      { migrations: [record(1, "applied"), record(3, "applied")], unknownVersions: [2], currentVersion: 3 },
    ],
  ] as const)("is %s and blocks, without a plan", (reason, odd) => {
    const dir = directory([1, 2]);
    dir.state.odd = odd as never;
    const w = world(dir, ALWAYS);
    const move = w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Blocked")).toBe(`True ${reason}`);
    expect(w.condition("Stalled")).toBe(`True ${reason}`);
    expect(move).toMatchObject({ kind: "rest", verdict: "Blocked" });
    expect(dir.state.runs).toBe(0);
    expect(w.plans.size).toBe(0);
    dir.state.odd = {};
    w.run(() => w.status.phase === "InSync");
  });

  test("is nothing pending where the executor selects nothing, whatever the counts say", () => {
    const dir = directory([1, 2, 3]);
    dir.state.odd = {
      migrations: [
        { version: 1, state: "checkpoint-covered" },
        { version: 2, state: "checkpoint-covered" },
        { version: 3, state: "applied" },
      ],
      pendingMigrations: [],
      hasPendingChanges: false,
      currentVersion: 3,
      checkpointVersion: 3,
    };
    const w = world(dir, ALWAYS);
    w.settle();
    expect(w.status.phase).toBe("InSync");
    expect(w.status.history).toMatchObject({ appliedCount: 1, pendingCount: 0, totalCount: 3 });
  });

  test("of more pending versions than a plan holds is refused by name", () => {
    const w = world(directory(Array.from({ length: 257 }, (_, i) => i + 1)), ALWAYS);
    w.settle();
    expect(w.status.phase).toBe("Blocked");
    expect(w.condition("Ready")).toBe("False PlanTooLarge");
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toContain("257");
  });
});

describe("a reading of a history that fails", () => {
  const broken = { error: { code: "connection_failed", message: "No route." }, migrationHistory: undefined };

  test("stays in its phase with the reason, and runs again under the same claim", () => {
    let failing = true;
    const dir = directory([1]);
    const w = new TestWorld(tools, RUN_SPEC, (job) => (failing ? broken : dir.answer(job)), "migration");
    w.settle();
    expect(w.status.phase).toBe("Reading");
    expect(w.condition("Progressing")).toBe("True OperationFailed");
    expect(w.condition("Ready")).toBe("False OperationFailed");
    const id = w.status.activeOperation?.id;
    expect(w.status.activeOperation?.attempt).toBe(2);
    failing = false;
    w.run(() => w.status.phase === "AwaitingApproval");
    expect(w.moves.flatMap((m) => (m.kind === "claim" ? [m.status.activeOperation?.id] : []))).toEqual([id]);
  });

  test("and whose Job cannot be built is Failed without a claim, and resolves anew", () => {
    const w = world(directory([1]));
    const { envelope } = w;
    w.envelope = { state: "unresolved", sentence: "ServiceAccount default does not exist." };
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.status.activeOperation).toBeUndefined();
    expect(w.status.cycle?.next).toBe("Resolve");
    w.envelope = envelope;
    w.run(() => w.status.phase === "AwaitingApproval");
  });

  test("goes to Pending, then to Suspended when spec.suspend asks for it", () => {
    const w = world(directory([1]));
    w.holdJobs = true;
    w.settle();
    const seen = phases(w);
    w.edit((spec) => ({ ...spec, suspend: true }));
    w.settle();
    expect(seen).toEqual(["Pending", "Suspended"]);
  });
});

describe("a run that failed", () => {
  test("before it selected anything is Failed, and starts again from the source after the retry delay", () => {
    const dir = directory([1]);
    dir.state.run = ended("failed", []);
    const w = world(dir, ALWAYS);
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.status.lastRun).toMatchObject({ outcome: "Failed", appliedVersions: [] });
    expect(message(w)).toBe(
      "The run failed before its first statement (migration_failed: The run did not end as it should); nothing was run.",
    );
    expect(w.status.unresolvedRun).toBeUndefined();
    expect(dir.state.runs).toBe(1);
    dir.state.run = undefined;
    w.run(() => w.status.phase === "InSync");
    expect(dir.state.runs).toBe(2);
  });

  test("because its file was refused says where in the file, and that nothing was run", () => {
    const dir = directory([1]);
    const refused = "0000000001_accounts.up.sql: syntax error at line 2";
    dir.state.run = { ...ended("failed", []), error: { code: "apply_refused", message: refused } };
    const w = world(dir, ALWAYS);
    w.settle();
    const sentence = `The run was refused before its first statement: ${refused}; nothing was run.`;
    expect(w.status.lastRun?.message).toBe(sentence);
    expect(message(w)).toBe(sentence);
  });

  test("before its child started ran nothing", () => {
    const dir = directory([1]);
    const refused = { code: "target_identity_mismatch", message: "The Secret names another database." };
    dir.state.run = {
      error: refused,
      childStarted: false,
      childExitCode: -1,
      mutationStarted: false,
      targetIdentityDigest: `sha256:${"e".repeat(64)}`,
    };
    const w = world(dir, ALWAYS);
    w.settle();
    expect(w.status.phase).toBe("Failed");
    expect(w.status.unresolvedRun).toBeUndefined();
    expect(w.status.lastRun?.targetIdentityDigest).toBe(`sha256:${"e".repeat(64)}`);
  });

  test("past its selection is read back, and is not run again before the retry delay", () => {
    const dir = directory([1, 2]);
    const failure = { version: 1, statement: 3, sqlState: "42000", mysqlErrno: 1064 };
    dir.state.run = ended("failed", [1, 2], { failure });
    const w = world(dir, ALWAYS);
    const seen = phases(w);
    w.settle();
    expect(seen.slice(0, 5)).toEqual(["Reading", "Planning", "Applying", "VerifyingHistory", "Reading"]);
    expect(dir.state.runs).toBe(1);
    expect(w.status.lastRun).toMatchObject({ outcome: "Failed", failure, verification: { outcome: "Pending" } });
    expect(journal(w)?.slice(1, 3)).toEqual(["RunFinished Failed", "Verified Pending"]);
    expect(w.status.journal?.entries?.[1]?.stoppedAt).toEqual({ version: 1, statement: 3 });
    dir.state.run = undefined;
    w.run(() => w.status.phase === "InSync");
    expect(dir.state.runs).toBe(2);
  });

  test("and left a dirty row holds the resource Blocked until a person clears it", () => {
    const dir = directory([1, 2]);
    dir.state.run = ended("failed", [1, 2]);
    const w = world(dir);
    w.settle();
    w.approve();
    dir.state.odd = { dirtyRevision: { version: 1, applied: 1, total: 2 } };
    w.stepTo(({ status }) => status.lastRun !== undefined);
    w.settle();
    expect(w.condition("Blocked")).toBe("True HistoryDirty");
    expect(w.status.lastRun?.verification).toMatchObject({ outcome: "Blocked", reason: "HistoryDirty" });
    dir.state.odd = {};
    dir.state.run = undefined;
    w.run(() => w.status.phase === "AwaitingApproval");
    expect(dispatched(w)).toBe(1);
  });
});
