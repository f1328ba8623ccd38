import { describe, expect, test } from "bun:test";
import { limits } from "./limits.ts";
import { condition, digest, EPOCH, run, type World, waitingWorld } from "./testing.ts";

const AT = "2026-01-01T00:00:00Z";

const claim = (change: Record<string, unknown> = {}) => ({
  type: "Observe",
  id: digest("9"),
  attempt: 2,
  inputFingerprint: digest("b"),
  generation: 2,
  executionBindingID: EPOCH,
  jobName: "ptah-s-observe-orders-2",
  startedAt: "2026-01-01T00:01:00Z",
  ...change,
});

/** A schema whose reading failed and is to be tried again. */
function failing(code: string, change: Record<string, unknown> = {}): World {
  const world = waitingWorld();
  fail(world, code, change);
  return world;
}

const fail = (world: World, code: string, change: Record<string, unknown> = {}) =>
  world.status({
    phase: "Failed",
    plan: undefined,
    activeOperation: claim(change),
    conditions: [condition("Ready", "False", "OperationFailed", `Observe ended with ${code}: why. It is tried again.`)],
  });

describe("waiting for a reading that fails", () => {
  test("ends at once where only a person mends it, with the message", async () => {
    const ran = await run(failing("authentication_failed"), ["wait", "orders"], {
      onSleep: () => {
        throw new Error("it slept");
      },
    });
    expect([ran.code, ran.stdout]).toEqual([1, ""]);
    expect(ran.stderr).toStartWith(
      "kubectl-ptah: orders is Failed (OperationFailed): Observe ended with authentication_failed: why.",
    );
    expect(ran.stderr).toEndWith("Once it is mended: kubectl ptah refresh schema/orders -n shop --wait\n");
  });

  test("ends after a bounded time where it may pass by itself", async () => {
    let slept = 0;
    const ran = await run(failing("connection_failed"), ["wait", "orders"], { onSleep: (n) => (slept = n) });
    expect([ran.code, slept]).toEqual([1, limits.troubleMs / limits.pollMs]);
  });

  test("ends at the third attempt that fails alike", async () => {
    const world = failing("connection_failed");
    let slept = 0;
    const ran = await run(world, ["wait", "orders"], {
      onSleep: (n) => {
        slept = n;
        if (n === 5) fail(world, "connection_failed", { attempt: 4 });
      },
    });
    expect(slept).toBe(5);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("Once it is mended (it takes the role ptah-operator-author): kubectl ptah refresh");
    expect(ran.stderr).not.toContain("gave up");
  });

  test("waits for the answer of an attempt that is under way", async () => {
    const world = failing("authentication_failed", { dispatchStarted: true });
    const ran = await run(world, ["wait", "orders"], {
      onSleep: (n) =>
        n === 3 &&
        world.status({
          phase: "InSync",
          activeOperation: undefined,
          conditions: [condition("Ready", "True", "InSync")],
        }),
    });
    expect([ran.code, ran.stdout]).toEqual([0, "orders is in sync\n"]);
  });

  test("does not end on a failure about files that were edited since", async () => {
    const world = failing("plan_failed", { attempt: 5 });
    const resolved = { identity: "cm-uid", contentDigest: digest("2"), digest: digest("2") };
    const source = { kind: "ConfigMap", requestedReference: "ConfigMap/orders", resolvedAt: AT, ...resolved };
    world.status({ source });
    world.put("configmaps", { metadata: { name: "orders", uid: "cm-uid" }, data: { "orders.sql": "SELECT 1" } });
    const ran = await run(world, ["wait", "orders", "--wait-timeout", "3s"]);
    expect(ran.stderr).toContain("gave up after 3s");
    world.drop("configmaps", "orders");
    expect((await run(world, ["wait", "orders", "--wait-timeout", "3s"])).stderr).not.toContain("gave up");
  });

  test("a read asked for does not end on the failure from before it, but on its own", async () => {
    const world = failing("authentication_failed");
    const ran = await run(world, ["refresh", "orders", "--wait"], {
      onSleep: (n) => n === 4 && fail(world, "database_missing", { attempt: 3 }),
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("orders is Failed (OperationFailed): Observe ended with database_missing: why.");
  });
});
