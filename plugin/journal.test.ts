import { describe, expect, test } from "bun:test";
import { condition, digest, run, waitingWorld } from "./testing.ts";
import { heldMigration, lastRun, MIGRATION_PLAN, PLAN_REFERENCE, RUN } from "./testing-migration.ts";

const PLURAL = "ptahmigrations";
const at = (minute: number) => `2026-01-01T00:0${minute}:00Z`;
const END = { type: "RunFinished", time: at(4), operationID: RUN, plan: PLAN_REFERENCE, outcome: "Partial" };
const READ = { type: "Verified", time: at(5), operationID: RUN, outcome: "Blocked", reason: "HistoryDirty" };
const ACKNOWLEDGED = { type: "RunAcknowledged", time: at(6), operationID: RUN, outcome: "Partial" };
const resolved = (change: object = {}) => ({
  operationID: RUN,
  outcome: "Partial",
  resolution: "Reading",
  resolvedAt: at(7),
  ...change,
});

/** A migration whose run was held and is settled. */
function settledWorld(entries: readonly object[], resolvedRun: object = resolved()) {
  const world = heldMigration();
  world.status(
    {
      phase: "InSync",
      unresolvedRun: undefined,
      resolvedRun,
      lastRun: lastRun(),
      conditions: [condition("Ready", "True", "HistoryMatched")],
      journal: { coveredSince: at(0), entries },
    },
    PLURAL,
  );
  return world;
}
const journal = async (world: ReturnType<typeof settledWorld>, ...more: string[]) =>
  (await run(world, ["journal", "orders", ...more])).stdout;

describe("the journal of a run that was held", () => {
  test("ends with how it was settled, where no entry says so", async () => {
    const text = await journal(settledWorld([END, READ]));
    expect(text).toEndWith(`${at(7)}    RunResolved  Partial, settled by a reading (Reading)\n`);
    const json = JSON.parse(await journal(settledWorld([END, READ]), "-o", "json"));
    expect(json.resolvedRun).toEqual(resolved());
    expect(json.entries).toHaveLength(2);
  });

  test("names who settled it", async () => {
    const by = { username: "erin" };
    const text = await journal(settledWorld([END, READ], resolved({ resolution: "Settled", by })));
    expect(text).toEndWith("Partial, settled by a person's word (Settled), by erin\n");
  });

  test("does not say an acknowledgment twice, nor the reading that settled it", async () => {
    const by = { username: "dora" };
    const acknowledged = settledWorld([END, READ, ACKNOWLEDGED], resolved({ resolution: "Acknowledged", by }));
    expect(await journal(acknowledged)).not.toContain("RunResolved");
    const read = settledWorld([END, { ...READ, time: at(7), outcome: "InSync" }]);
    expect(await journal(read)).not.toContain("RunResolved");
  });

  test("is shown by time, whatever clock an entry has", async () => {
    const late = { type: "ApprovalAccepted", time: at(3), plan: PLAN_REFERENCE, approvalName: "ok" };
    const lines = (await journal(settledWorld([END, late, READ]))).split("\n").slice(3, -1);
    const times = lines.map((line) => line.slice(0, 20));
    expect(times).toEqual([...times].sort());
    expect(times).toHaveLength(4);
  });
});

test("what a settled run said when it ended is marked as over", async () => {
  const message = "The run stopped half-way. It is never replayed: nothing runs until a reading settles it.";
  const verification = {
    outcome: "Blocked",
    reason: "HistoryDirty",
    historyFingerprint: digest("5"),
    observedAt: at(5),
  };
  const world = settledWorld([END]);
  world.status({ lastRun: lastRun({ message, verification }) }, PLURAL);
  const byReading = (await run(world, ["migration", "orders"])).stdout;
  expect(byReading).toContain(`Run message:    ${message} (That is over: settled ${at(7)} by a reading.)\n`);
  expect(byReading).toContain(
    `Run verified:   Blocked (HistoryDirty), read ${at(5)} (settled ${at(7)} by a reading)\n`,
  );
  world.status({ resolvedRun: resolved({ resolution: "Acknowledged", by: { username: "dora" } }) }, PLURAL);
  expect((await run(world, ["migration", "orders"])).stdout).toContain(`(settled ${at(7)} by dora)`);
  world.status({ resolvedRun: resolved({ operationID: digest("d") }) }, PLURAL);
  expect((await run(world, ["migration", "orders"])).stdout).not.toContain("over");
});

test("a list and a question for the applied plan say of a settled run that it is settled", async () => {
  const world = settledWorld([END]);
  expect((await run(world, ["migration"])).stdout).toContain("  Partial (settled)\n");
  const asked = await run(world, ["plan", "orders", "--applied"]);
  expect([asked.code, asked.stdout]).toEqual([3, ""]);
  expect(asked.stderr).toContain(
    "did not apply its plan whole: it ended Partial and is settled (Reading). kubectl ptah migration orders -n shop shows what the " +
      "database holds, kubectl ptah journal migration/orders -n shop what happened\n",
  );
  expect(asked.stderr).toContain("kubectl ptah journal migration/orders -n shop");
});

test("a plan that another took the place of, and of which nothing ran, says so", async () => {
  const world = waitingWorld();
  const published = (uid: string, minute: number) => ({
    type: "PlanPublished",
    time: at(minute),
    plan: { name: `plan-${uid}`, uid, fingerprint: digest("a") },
    approvalRequired: false,
  });
  const ran = { type: "ApplyFinished", time: at(4), plan: published("b", 3).plan, outcome: "Succeeded" };
  const entries = [published("a", 1), published("b", 3), ran, published("plan-uid", 5)];
  world.status({ journal: { coveredSince: at(0), entries } });
  const lines = (await run(world, ["journal", "orders"])).stdout.split("\n");
  expect(lines.filter((line) => line.includes("never ran"))).toEqual([`${at(1)}  PlanPublished  plan-a, never ran`]);
});

test("the verdict on an Apply stands at it, before the plan that came of the same reading and was stored a moment earlier", async () => {
  const world = waitingWorld();
  const plan = (uid: string) => ({ name: `plan-${uid}`, uid, fingerprint: digest("a") });
  const entries = [
    { type: "ApplyFinished", time: at(4), operationID: RUN, plan: plan("a"), outcome: "Unknown" },
    { type: "Verified", time: "2026-01-01T00:05:01Z", operationID: RUN, plan: plan("a"), outcome: "DriftRemains" },
    { type: "PlanPublished", time: at(5), plan: plan("plan-uid") },
  ];
  world.status({ journal: { coveredSince: at(0), entries } });
  const lines = (await run(world, ["journal", "orders"])).stdout.split("\n").slice(3, -1);
  expect(lines.map((line) => /^\S+( +\w+)/.exec(line)?.[1])).toEqual([
    "  ApplyFinished",
    "    Verified",
    "  PlanPublished",
  ]);
});

test("a drift line is not taken for the risk of the statements", async () => {
  const world = waitingWorld();
  const target = {
    highestDriftSeverity: "safe",
    driftFindingCount: 3,
    driftFindings: [{ category: "columns_added", count: 3, severity: "safe" }],
  };
  world.status({ target });
  expect((await run(world, ["schema", "orders"])).stdout).toContain(
    "Drift:          the last read found 3 differences, the gravest of severity safe: 3 of columns_added. What a statement risks is its class, in the plan.\n",
  );
});

describe("kubectl ptah journal of a migration", () => {
  test("keeps the order of time, and joins what follows a run to it", async () => {
    const world = heldMigration();
    const entries = [
      { type: "PlanPublished", time: at(1), plan: PLAN_REFERENCE },
      { type: "ApprovalAccepted", time: at(2), plan: PLAN_REFERENCE, approvalName: "ok", approver: { username: "jo" } },
      {
        type: "RunFinished",
        time: at(4),
        operationID: RUN,
        plan: PLAN_REFERENCE,
        approvalName: "ok",
        approver: { username: "jo" },
        authorization: "Approval",
        jobName: "ptah-m-apply-orders-1",
        outcome: "Partial",
        appliedCount: 1,
        stoppedAt: { version: 4, statement: 2 },
      },
      { type: "OperationFailed", time: at(6), operation: "History", reason: "OperationFailed" },
      {
        type: "Verified",
        time: at(5),
        operationID: RUN,
        plan: PLAN_REFERENCE,
        outcome: "Blocked",
        reason: "HistoryDirty",
      },
      { type: "Verified", time: at(7), operationID: digest("d"), outcome: "InSync" },
      {
        type: "RunAcknowledged",
        time: at(8),
        operationID: RUN,
        outcome: "Partial",
        jobName: "ptah-m-apply-orders-1",
        acknowledgment: { name: "ack", uid: "ack-uid" },
        acknowledgedBy: { username: "dora" },
      },
    ];
    world.status({ journal: { coveredSince: at(0), entries } }, PLURAL);
    const { stdout } = await run(world, ["journal", "orders"]);
    expect(
      stdout
        .split("\n")
        .slice(3)
        .map((line) => line.replaceAll(MIGRATION_PLAN, "PLAN")),
    ).toEqual([
      "2026-01-01T00:01:00Z  PlanPublished     PLAN",
      "2026-01-01T00:02:00Z  ApprovalAccepted  PLAN, approval ok, by jo",
      "2026-01-01T00:04:00Z  RunFinished       Partial, PLAN, 1 applied, stopped at version 4, statement 2, approval ok, by jo, Job ptah-m-apply-orders-1",
      "2026-01-01T00:05:00Z    Verified        Blocked, HistoryDirty, PLAN",
      "2026-01-01T00:06:00Z  OperationFailed   History, OperationFailed",
      "2026-01-01T00:07:00Z  Verified          InSync",
      "2026-01-01T00:08:00Z  RunAcknowledged   Partial, acknowledgment ack, by dora, Job ptah-m-apply-orders-1",
      "",
    ]);
  });
});
