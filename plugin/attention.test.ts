import { describe, expect, test } from "bun:test";
import { json, refusal } from "../kube/testing.ts";
import { run, type World, waitingWorld } from "./testing.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/ptah-system/leases/ptah-operator-manager";

/** What the API server answers to a look at the leader's Lease. */
function leaseAnswers(world: World, answer: () => Response): void {
  world.before = (request) => (request.path === LEASE ? answer() : undefined);
}

const renewed =
  (renewTime: string, holderIdentity = "one") =>
  () =>
    json({
      metadata: { name: "ptah-operator-manager", uid: "l", resourceVersion: "1" },
      spec: { holderIdentity, renewTime },
    });

/** A schema whose newest spec, ten minutes old, nobody has looked at; the tests' clock stands at 00:10. */
function unseenWorld(changedAt = "2026-01-01T00:00:00Z"): World {
  const world = waitingWorld();
  const schema = world.get("ptahschemas", "orders");
  const managedFields = [
    { manager: "kubectl", operation: "Apply", time: changedAt },
    { manager: "ptah", operation: "Apply", time: "2026-01-01T00:09:59Z", subresource: "status" },
  ];
  world.put("ptahschemas", { ...schema, metadata: { ...schema.metadata, generation: 3, managedFields } });
  return world;
}

describe("a manager that does not run", () => {
  test("is told by schema, with the age of its Lease and where to look", async () => {
    const world = unseenWorld();
    leaseAnswers(world, renewed("2026-01-01T00:01:00Z"));
    const ran = await run(world, ["schema", "orders"]);
    expect(ran.stdout).toContain(
      "Manager:        no manager has looked at generation 3 of orders for 10m: none seems to run " +
        "(its Lease ptah-system/ptah-operator-manager was last renewed 9m ago), and nothing happens until one does. " +
        "Look at kubectl get pods -n ptah-system.\n",
    );
    expect(JSON.parse((await run(world, ["schema", "orders", "-o", "json"])).stdout).manager).toContain("none seems");
  });

  test("is told even where the Lease may not be read, is given back, or does not exist", async () => {
    const world = unseenWorld();
    const manager = async () => (await run(world, ["schema", "orders"])).stdout;
    leaseAnswers(world, () => refusal(403, "Forbidden"));
    expect(await manager()).toContain("for 10m: nothing happens until one does. Ask whoever runs the operator");
    leaseAnswers(world, renewed("2026-01-01T00:09:59Z", ""));
    expect(await manager()).toContain("none seems to run");
    leaseAnswers(world, () => refusal(404, "NotFound"));
    expect(await manager()).toContain("set PTAH_OPERATOR_NAMESPACE");
  });

  test("is not confused with one that runs and is slow", async () => {
    const world = unseenWorld();
    leaseAnswers(world, renewed("2026-01-01T00:09:58Z"));
    const ran = await run(world, ["schema", "orders"]);
    expect(ran.stdout).toContain("one runs and renews its Lease; its log says why: kubectl logs -n ptah-system");
  });

  test("is not suspected where nothing is due, or only for a moment", async () => {
    for (const world of [waitingWorld(), unseenWorld("2026-01-01T00:09:55Z")]) {
      const ran = await run(world, ["schema", "orders"]);
      expect(ran.stdout).not.toContain("Manager:");
      expect(ran.requests.map((request) => request.path)).not.toContain(LEASE);
    }
  });

  test("shows in an overdue read and in a request nobody answers, also below the list", async () => {
    const world = waitingWorld();
    world.status({ nextReconciliationTime: "2026-01-01T00:05:00Z" });
    const listed = await run(world, ["schema"]);
    expect(listed.stdout).toContain("5m overdue");
    expect(listed.stderr).toContain("no manager has looked at orders, whose read is overdue, for 5m");
    expect((await run(world, ["schema", "-A"])).stderr).toContain("looked at shop/orders, whose read is overdue,");
    world.status({ phase: "Suspended" });
    expect((await run(world, ["schema"])).stderr).toBe("");
    world.status({ phase: "InSync", nextReconciliationTime: "2026-01-01T01:00:00Z" });
    const schema = world.get("ptahschemas", "orders");
    const annotations = { "operator.ptah.run/read-requested-at": "2026-01-01T00:07:00Z" };
    world.put("ptahschemas", { ...schema, metadata: { ...schema.metadata, annotations } });
    expect((await run(world, ["schema"])).stderr).toContain("the read that was asked for of orders for 3m");
  });

  test.each(["1m", "10s"])("is the only next step of a refresh that nobody answers within %s", async (limit) => {
    const world = waitingWorld();
    leaseAnswers(world, renewed("2026-01-01T00:01:00Z"));
    const ran = await run(world, ["refresh", "orders", "--wait", "--wait-timeout", limit]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(/orders is AwaitingApproval; no manager has looked at the read that was asked for/);
    expect(ran.stderr).not.toContain("approve");
    expect(ran.stderr).not.toContain("Next:");
  });

  test("is told once while waiting, and again when the time is over", async () => {
    const world = unseenWorld();
    leaseAnswers(world, renewed("2026-01-01T00:01:00Z"));
    const ran = await run(world, ["wait", "orders", "--wait-timeout", "1m"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr.split("none seems to run")).toHaveLength(3);
    expect(ran.stderr).toMatch(/gave up after 60s: orders is AwaitingApproval; no manager has looked at generation 3/);
  });
});

describe("an API server that does not answer", () => {
  test("is told at once, asked again, and told when it is back", async () => {
    const world = waitingWorld();
    world.status({ phase: "InSync" });
    world.before = () => refusal(503, "ServiceUnavailable");
    const ran = await run(world, ["wait", "orders"], {
      onSleep: (n) => {
        if (n === 20) world.before = () => undefined;
      },
    });
    expect(ran.code).toBe(0);
    expect(ran.stderr).toStartWith("kubectl-ptah: orders cannot be read: ");
    expect(ran.stderr.split("cannot be read")).toHaveLength(2);
    expect(ran.stderr).toContain("orders can be read again");
  });

  test("is told while its answer is still waited for", async () => {
    const world = waitingWorld();
    world.status({ phase: "InSync" });
    const ran = await run(world, ["wait", "orders"], { quiet: () => true });
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain("the API server has not answered for 5s; still trying");
  });

  test("is not waited for without end", async () => {
    const world = waitingWorld();
    world.before = () => refusal(503, "ServiceUnavailable");
    const sleeps: number[] = [];
    const ran = await run(world, ["wait", "orders", "--wait-timeout", "2h"], { onSleep: (n) => sleeps.push(n) });
    expect([ran.code, sleeps.length]).toEqual([1, 300]);
    expect(ran.stderr).toContain("gave up: orders cannot be read");
    const short = await run(world, ["wait", "orders", "--wait-timeout", "5s"]);
    expect(short.stderr).toContain("gave up after 5s: orders cannot be read: ");
  });
});
