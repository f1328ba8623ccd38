import { describe, expect, test } from "bun:test";
import { contentDigest, sourceManifest } from "../crds/fingerprints.ts";
import { condition, digest, run, waitingWorld } from "./testing.ts";

const ready = (reason: string, status = "False") => condition("Ready", status, reason);

/** An approval of the plan that waits. */
const approval = (...conditions: ReturnType<typeof condition>[]) => ({
  metadata: { name: "mine", uid: "approval-uid", creationTimestamp: "2026-01-01T00:02:00Z" },
  spec: {
    schemaRef: { name: "orders", uid: "schema-uid" },
    planRef: { name: "the-plan", uid: "plan-uid" },
    planFingerprint: digest("a"),
    approver: { username: "ann" },
    approvedAt: "2026-01-01T00:02:00Z",
    mutationRequestUID: "request",
  },
  status: { conditions },
});

describe("kubectl ptah wait", () => {
  test("ends well when the schema is in sync for its present generation", async () => {
    const world = waitingWorld();
    world.status({ phase: "InSync", observedGeneration: 1, conditions: [ready("InSync", "True")] });
    const ran = await run(world, ["wait", "orders"], { onSleep: () => world.status({ observedGeneration: 2 }) });
    expect([ran.code, ran.stdout]).toEqual([0, "orders is in sync\n"]);
  });

  test("is not content with a verdict about files that were edited since", async () => {
    const world = waitingWorld();
    const file = { "orders.sql": "CREATE TABLE orders (id bigint);" };
    world.put("configmaps", { metadata: { name: "orders", uid: "cm-uid" }, data: file });
    const resolved = (content: string) => ({
      kind: "ConfigMap",
      identity: "cm-uid",
      contentDigest: content,
      digest: content,
      requestedReference: "ConfigMap/orders",
      resolvedAt: "2026-01-01T00:00:00Z",
    });
    const synced = { phase: "InSync", observedGeneration: 2, conditions: [ready("InSync", "True")] };
    world.status({ ...synced, source: resolved(digest("2")) });
    const files = [{ path: "orders.sql", bytes: Buffer.from(file["orders.sql"]) }];
    const source = resolved(contentDigest(sourceManifest(files)));
    let looks = 0;
    const ran = await run(world, ["wait", "orders"], {
      onSleep: () => {
        looks += 1;
        if (looks === 3) world.status({ source });
      },
    });
    expect([ran.code, looks]).toEqual([0, 3]);
  });

  test("tells a person who has to provide something, and does not sit until its time is over", async () => {
    const world = waitingWorld();
    world.status({
      phase: "Observing",
      observedGeneration: 2,
      conditions: [ready("PodCannotStart")],
      activeOperation: undefined,
      cycle: { next: "Plan", startedAt: "2026-01-01T00:00:00Z", generation: 2 },
    });
    const ran = await run(world, ["wait", "orders"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("orders is Observing (PodCannotStart)");
  });

  test("goes on where somebody has just approved the plan that waits", async () => {
    const world = waitingWorld();
    world.put("ptahschemaapprovals", approval());
    const ran = await run(world, ["wait", "orders"], {
      onSleep: () => world.status({ phase: "InSync", conditions: [ready("InSync", "True")] }),
    });
    expect([ran.code, ran.stdout]).toEqual([0, "orders is in sync\n"]);
    expect(ran.stderr).toContain("orders: approved; it is about to be dispatched");
  });

  test.each(["Consumed", "Stale"])("is not kept waiting by an approval that is %s", async (type) => {
    const world = waitingWorld();
    world.put("ptahschemaapprovals", approval(condition(type, "True", type)));
    const ran = await run(world, ["wait", "orders"]);
    expect([ran.code, ran.stderr]).toEqual([1, expect.not.stringContaining("approved;")]);
  });

  test("does not wait for ever for an approval that no manager spends", async () => {
    const world = waitingWorld();
    world.put("ptahschemaapprovals", approval());
    const ran = await run(world, ["wait", "orders"]);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("orders is AwaitingApproval")]);
  });

  test("stops where only a person moves it on, and says how", async () => {
    const ran = await run(waitingWorld(), ["wait", "schema/orders"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      "orders is AwaitingApproval (AwaitingApproval): a plan waits. Next: kubectl ptah plan orders -n shop, then kubectl ptah approve orders -n shop",
    );
  });

  test.each([
    [
      "PlanRefused",
      "Refused with invalid_schema: orders.sql:3: syntax error",
      "kubectl ptah explain invalid_schema tells",
    ],
    [
      "PodCannotStart",
      "Pod x of Observe cannot start: Secret nosuch-url does not exist.",
      "Create or correct what the message",
    ],
    ["ApplyDisabled", "spec.policy.apply is Never", "Set spec.policy.apply to OnApproval"],
    [
      "RealmConflict",
      "Remove or suspend one, or set spec.target.sharedRealm.",
      "Set spec.target.sharedRealm on every resource",
    ],
  ])("says of %s the next step that schema prints", async (reason, message, next) => {
    const world = waitingWorld();
    world.status({ phase: "Blocked", conditions: [{ ...ready(reason), message }] });
    const waited = await run(world, ["wait", "orders"]);
    expect(waited.stderr).toContain(`(${reason}): ${message}`);
    const shown = (await run(world, ["schema", "orders"])).stdout;
    const [, step = "lost"] = /Next: {11}(.*)/.exec(shown) ?? [];
    expect(step).toContain(next);
    expect(waited.stderr).toContain(` Next: ${step}`);
  });

  test("waits for a phase where one is named", async () => {
    expect((await run(waitingWorld(), ["wait", "orders", "--for", "awaitingapproval"])).code).toBe(0);
  });

  test("gives up in time and says where things stand", async () => {
    const world = waitingWorld();
    world.status({ phase: "Planning", conditions: [ready("OperationInProgress")] });
    const ran = await run(world, ["wait", "orders", "--wait-timeout", "5s"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("gave up after 5s: orders is Planning (OperationInProgress)");
  });

  test("is not fooled by another object under the name, and ends when it is deleted", async () => {
    const world = waitingWorld();
    world.status({ phase: "Planning", conditions: [] });
    const replace = () => {
      const schema = world.get("ptahschemas", "orders");
      world.put("ptahschemas", { ...schema, metadata: { ...schema.metadata, uid: "other" } });
    };
    const replaced = await run(world, ["wait", "orders"], { onSleep: replace });
    expect([replaced.code, replaced.stderr]).toEqual([1, expect.stringContaining("replaced by another object")]);
    const deleted = await run(world, ["wait", "orders"], { onSleep: () => world.drop("ptahschemas", "orders") });
    expect(deleted.code).toBe(3);
  });
});
