import { expect, test } from "bun:test";
import { json } from "../kube/testing.ts";
import { condition, run } from "./testing.ts";
import { heldMigration, heldRun, lastRun } from "./testing-migration.ts";

const TERMINATING = "unable to create new content in namespace shop because it is being terminated";
const PLURAL = "ptahmigrations";

test("calls open whether a statement took effect only where the engine cannot know", async () => {
  const world = heldMigration();
  expect((await run(world, ["acknowledge", "orders", "--yes"])).stdout).not.toContain("took effect");
  world.status({ lastRun: lastRun({ outcome: "Unknown" }) }, PLURAL);
  const { stdout } = await run(world, ["acknowledge", "orders", "--yes"]);
  expect(stdout).toContain("Not known:\n  - whether statement 2 of version 4 took effect\n");
});

test("says until when somebody may write only while somebody may", async () => {
  const world = heldMigration();
  expect((await run(world, ["acknowledge", "orders", "--yes"])).stdout).not.toContain("May write until");
  world.status({ unresolvedRun: heldRun({ job: { name: "ptah-m-apply-orders-1" } }) }, PLURAL);
  expect((await run(world, ["acknowledge", "orders", "--yes"])).stdout).toContain("May write until:");
});

test("a run that stopped in its first version applied no whole version, which is not nothing", async () => {
  const world = heldMigration();
  world.status({ lastRun: lastRun({ appliedVersions: [] }) }, PLURAL);
  expect((await run(world, ["acknowledge", "orders", "--yes"])).stdout).toContain("as applied: no whole version\n");
  expect((await run(world, ["migration", "orders"])).stdout).toContain("Run applied:    no whole version\n");
});

test("in a namespace that is being deleted it names the command that still works there", async () => {
  const world = heldMigration();
  world.before = ({ method }) =>
    method === "POST"
      ? json({ kind: "Status", status: "Failure", message: TERMINATING, reason: "Forbidden", code: 403 }, 403)
      : undefined;
  const ran = await run(world, ["acknowledge", "orders", "--yes"]);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain("kubectl ptah settle migration/orders -n shop");
});

test("--wait has what it waited for where the migration itself goes with the hold", async () => {
  const world = heldMigration();
  const ran = await run(world, ["acknowledge", "orders", "--yes", "--wait"], {
    onSleep: () => world.drop(PLURAL, "orders"),
  });
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/the hold of .* is over, and orders is gone\n$/)]);
});

test("approving where the reading keeps failing says why and what to do, and promises no end by itself", async () => {
  const world = heldMigration();
  const message = "History ended with authentication_failed: the server refused the password.";
  const status = {
    phase: "Reading",
    unresolvedRun: undefined,
    cycle: { next: "History", startedAt: "2026-01-01T00:00:00Z", generation: 1 },
    conditions: [condition("Ready", "False", "OperationFailed", message)],
  };
  world.status(status, PLURAL);
  for (const command of ["approve", "plan"]) {
    const ran = await run(world, [command, "migration/orders"]);
    expect([ran.code, ran.stderr]).toEqual([3, expect.not.stringContaining("under way")]);
    expect(ran.stderr).toContain(`orders is Reading (OperationFailed): ${message} Next: Correct the database URL`);
  }
});

test("approving while a plan is still being made points to the wait for it", async () => {
  const world = heldMigration();
  world.status(
    { phase: "Reading", cycle: { next: "History", startedAt: "2026-01-01T00:00:00Z", generation: 1 } },
    PLURAL,
  );
  const ran = await run(world, ["approve", "migration/orders", "--yes"]);
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain("under way; kubectl ptah wait migration/orders -n shop");
});
