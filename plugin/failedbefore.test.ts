import { describe, expect, test } from "bun:test";
import { HELD_RUN } from "../crds/reason.ts";
import { condition, digest, run, waitingWorld } from "./testing.ts";
import { lastRun, waitingMigration } from "./testing-migration.ts";

const MESSAGE = "The run failed before its first statement (lock_timeout: the lock was held); nothing was run.";
const SOURCE = { kind: "ConfigMap", identity: "cm-uid", contentDigest: digest("2") };

/** A plan of two versions waits, and the run of an earlier plan ended so. */
function afterRun(change: Record<string, unknown>) {
  const world = waitingMigration();
  const plan = { name: "earlier", uid: "earlier-uid", fingerprint: digest("9") };
  const ended = { outcome: "Failed", plan, source: SOURCE, appliedVersions: [], failure: undefined, message: MESSAGE };
  world.status({ lastRun: lastRun({ ...ended, ...change }) }, "ptahmigrations");
  return world;
}

describe("a plan of files whose last run failed", () => {
  test.each(["plan", "approve"])("is shown by %s with what that run said", async (command) => {
    const ran = await run(afterRun({}), [command, "migration/orders", ...(command === "approve" ? ["--yes"] : [])]);
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    expect(ran.stdout).toContain(
      `Warning:        the last run of these very files failed: ${MESSAGE} Mend the cause before it is approved, else the same statements may fail the same way.\n`,
    );
  });

  test("has the same in the next step of migration and wait", async () => {
    const next =
      `The last run of these very files failed: ${MESSAGE} Correct the file, or the cause, that the message names, else the ` +
      "same statements may fail the same way. Then kubectl ptah plan migration/orders -n shop, then kubectl ptah approve migration/orders -n shop\n";
    const { stdout } = await run(afterRun({}), ["migration", "orders"]);
    expect(stdout).toEndWith(`Who acts:       author\nNext:           ${next}`);
    expect((await run(afterRun({}), ["wait", "orders"])).stderr).toEndWith(` Next: ${next}`);
  });

  test.each([
    ["of other files", { source: { ...SOURCE, contentDigest: digest("1") } }],
    ["of another database", { targetIdentityDigest: digest("1") }],
    ["that applied all", { outcome: "Applied" }],
    ["that stopped in a version the database has by now", { failure: { version: 2, statement: 1 } }],
    ["whose source is not recorded", { source: undefined }],
  ])("is not meant by a run %s", async (_, change) => {
    const world = afterRun(change);
    expect((await run(world, ["plan", "orders"])).stdout).not.toContain("Warning:");
    expect((await run(world, ["migration", "orders"])).stdout).not.toContain("very files");
  });

  test("is not said to hold anything any more, once a plan stands again", async () => {
    const said = "The run stopped half-way at statement 2 of version 3.";
    const world = afterRun({ outcome: "Partial", message: `${said} ${HELD_RUN}` });
    const { stdout } = await run(world, ["plan", "orders"]);
    expect(stdout).toContain(`these very files failed: ${said} Mend the cause`);
    expect(stdout).not.toContain("never replayed");
  });

  test("is told of the files, whatever source holds them now", async () => {
    const world = afterRun({ source: { ...SOURCE, identity: "the-uid-before" } });
    expect((await run(world, ["plan", "orders"])).stdout).toContain("these very files failed");
  });
});

describe("a plan of a declaration whose last Apply failed", () => {
  const failed = (message: string, desiredStateFingerprint: string) => {
    const world = waitingWorld();
    const conditions = [
      condition("Ready", "False", "AwaitingApproval", "a plan waits"),
      condition("ApprovalRequired", "True", "Waiting"),
      condition("ReconciliationFailed", "True", "ApplyOutcomeUnknown", message),
    ];
    world.status({ conditions, unproven: { desiredStateFingerprint, applies: 1 } });
    return world;
  };
  const MISSED = "Apply ended with apply_failed: statement 1 failed (SQLSTATE 23505).";

  test.each(["plan", "approve"])("is shown by %s with what it said", async (command) => {
    const world = failed(MISSED, digest("6"));
    const ran = await run(world, [command, "schema/orders", ...(command === "approve" ? ["--yes"] : [])]);
    expect([ran.code, ran.stdout]).toEqual([
      0,
      expect.stringContaining(`the last Apply of this very declaration failed: ${MISSED} Mend the cause`),
    ]);
  });

  test("is not meant by a failure of another declaration, or by a plan that was refused unsent", async () => {
    for (const world of [failed(MISSED, digest("1")), failed("Apply ended with stale_plan: it moved.", digest("6"))])
      expect((await run(world, ["plan", "orders"])).stdout).not.toContain("Warning:");
  });
});
