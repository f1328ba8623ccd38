import { describe, expect, test } from "bun:test";
import { refusal } from "../kube/testing.ts";
import { condition, digest, planDocument, run, type World, waitingWorld } from "./testing.ts";

const REQUEST = "operator.ptah.run/read-requested-at";
const SETTLED = "operator.ptah.run/settled-apply";
const writes = (requests: readonly { method: string; path: string }[]) =>
  requests
    .filter((request) => request.method !== "GET")
    .map((request) => `${request.method} ${request.path.split("/").at(-1)}`);
const ready = (reason: string, status = "False") => condition("Ready", status, reason);
const annotationsOf = (world: World) => world.get("ptahschemas", "orders").metadata.annotations ?? {};

describe("kubectl ptah approve", () => {
  test("shows the plan, asks, and stores the three identifiers", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders"], { answers: ["yes"] });
    expect(ran.stderr).toBe("");
    expect(ran.code).toBe(0);
    expect(ran.questions).toEqual(["Run this statement on the database of shop/orders? Type yes to go on: "]);
    expect(ran.stdout).toContain('CREATE TABLE "orders" (id bigint);');
    expect(ran.stdout).toEndWith(`approved: orders-qcaibaea for ptah-plan-${"a".repeat(24)}\n`);
    const sent = JSON.parse(ran.requests.find((request) => request.method === "POST")?.body ?? "{}");
    expect(sent.spec).toEqual({
      schemaRef: { name: "orders", uid: "schema-uid" },
      planRef: { name: `ptah-plan-${"a".repeat(24)}`, uid: "plan-uid" },
      planFingerprint: digest("a"),
    });
  });

  test("asks for the schema's name before a plan that may lose data", async () => {
    const world = waitingWorld(planDocument([{ sql: "DROP TABLE t", severity: "destructive" }]));
    const wrong = await run(world, ["approve", "orders"], { answers: ["yes"] });
    expect(wrong.questions[0]).toContain("LOSE DATA");
    expect([wrong.code, writes(wrong.requests)]).toEqual([1, []]);
    const right = await run(world, ["approve", "orders"], { answers: ["orders"] });
    expect([right.code, writes(right.requests)]).toEqual([0, ["POST ptahschemaapprovals"]]);
  });

  test("writes nothing when the answer is another", async () => {
    for (const answer of ["no", "y", "YES", ""]) {
      const no = await run(waitingWorld(), ["approve", "orders"], { answers: [answer] });
      expect([no.code, writes(no.requests)]).toEqual([1, []]);
      expect(no.stderr).toContain('the answer was not "yes"; nothing was changed');
    }
  });

  test("refuses before it prints the plan where nobody can be asked, and says first what there is to say", async () => {
    const nobody = await run(waitingWorld(), ["approve", "orders"]);
    expect([nobody.code, nobody.stdout, writes(nobody.requests)]).toEqual([2, "", []]);
    expect(nobody.stderr).toBe("kubectl-ptah: nobody can be asked here; pass --yes to go on without a question\n");
    const world = waitingWorld();
    world.status({ phase: "Blocked", conditions: [ready("PolicyBlocked")] });
    const blocked = await run(world, ["approve", "orders"]);
    expect([blocked.code, blocked.stdout]).toEqual([1, ""]);
    expect(blocked.stderr).toContain("no plan waits for an approval");
  });

  test("approves nothing when the plan was replaced while it was read", async () => {
    const world = waitingWorld();
    world.before = (request) => {
      const reads = request.path.endsWith("ptahschemas/orders");
      if (reads && world.all("seen").length === 1) {
        const { plan } = world.get("ptahschemas", "orders")["status"] as { plan: object };
        world.status({ plan: { ...plan, uid: "plan-2", fingerprint: digest("b") } });
      }
      if (reads) world.put("seen", { metadata: { name: String(world.all("seen").length), uid: "-" } });
      return undefined;
    };
    const ran = await run(world, ["approve", "schema/orders", "--yes"]);
    expect([ran.code, writes(ran.requests)]).toEqual([1, []]);
    expect(ran.stderr).toContain("the plan was replaced while it was read; nothing was approved");
  });

  test("approves nothing when no plan waits", async () => {
    const world = waitingWorld();
    world.status({ phase: "Blocked", conditions: [ready("PolicyBlocked")] });
    const ran = await run(world, ["approve", "orders", "--yes"]);
    expect([ran.code, ran.stdout, writes(ran.requests)]).toEqual([1, "", []]);
    expect(ran.stderr).toContain("orders is Blocked (PolicyBlocked)");
  });

  test("names the role that has the right which is missing", async () => {
    const world = waitingWorld();
    const forbidden = (right: string) =>
      new Response(
        JSON.stringify({
          kind: "Status",
          reason: "Forbidden",
          message: `x is forbidden: User "jo" cannot ${right} in API group "operator.ptah.run" in the namespace "shop"`,
        }),
        { status: 403 },
      );
    world.before = (request) =>
      request.path.includes("planchunks") ? forbidden('get resource "ptahschemaplanchunks"') : undefined;
    const read = await run(world, ["plan", "orders"]);
    expect(read.stderr).toEndWith(
      'namespace "shop". Ask for the ClusterRole ptah-operator-plan-reader in namespace shop.\n',
    );
    world.before = (request) =>
      request.method === "POST" ? forbidden('create resource "ptahschemaapprovals"') : undefined;
    expect((await run(world, ["approve", "orders", "--yes"])).stderr).toContain("ptah-operator-approver");
  });

  test("says what admission said when it refuses", async () => {
    const world = waitingWorld();
    world.before = (request) => (request.method === "POST" ? refusal(403, "Forbidden") : undefined);
    const ran = await run(world, ["approve", "orders", "--yes"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("kubectl-ptah: Forbidden it is");
  });

  test("reads back a create whose answer was lost instead of repeating it", async () => {
    const world = waitingWorld();
    world.before = (request) => {
      if (request.method !== "POST") return undefined;
      world.before = () => undefined;
      world.answer(request);
      return refusal(500, "InternalError");
    };
    const ran = await run(world, ["approve", "orders", "--yes"]);
    expect(ran.code).toBe(0);
    expect(world.all("ptahschemaapprovals")).toHaveLength(1);
  });

  const spent = (world: World) => {
    const approval = world.all("ptahschemaapprovals")[0];
    if (approval === undefined) throw new Error("nothing was approved");
    const consumedBy = { operationID: digest("e"), jobName: "ptah-apply-orders-1", at: "2026-01-01T00:03:00Z" };
    world.put("ptahschemaapprovals", { ...approval, status: { consumedBy } });
  };
  const claim = {
    type: "Apply",
    id: digest("e"),
    inputFingerprint: digest("d"),
    attempt: 1,
    generation: 2,
    startedAt: "2026-01-01T00:03:00Z",
    executionBindingID: `v1-${"3".repeat(32)}`,
    jobName: "ptah-apply-orders-1",
  };
  const applied = {
    operationID: digest("e"),
    planRef: { name: `ptah-plan-${"a".repeat(24)}`, uid: "plan-uid" },
    planFingerprint: digest("a"),
    coordinationDigest: digest("3"),
    targetIdentityDigest: digest("4"),
    executionBindingID: `v1-${"3".repeat(32)}`,
    completedAt: "2026-01-01T00:05:00Z",
  };

  test("--wait ends well once a fresh read has proved the plan", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: (n) => {
        if (n === 1) world.status({ activeOperation: claim });
        if (n === 1) spent(world);
        if (n === 2) world.status({ phase: "Applying", plan: undefined, conditions: [ready("OperationInProgress")] });
        if (n === 3)
          world.status({ phase: "InSync", activeOperation: undefined, applied, conditions: [ready("InSync", "True")] });
      },
    });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toEndWith("orders is in sync: the plan was applied, and a fresh read proved it\n");
    expect(ran.stderr).toBe(
      ["approved; it is about to be dispatched", "dispatched", "Applying: so it is", "InSync: so it is"]
        .map((line) => `kubectl-ptah: orders: ${line}\n`)
        .join(""),
    );
  });

  test("--wait tells a convergence nobody attributed from a proved Apply", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: () => {
        spent(world);
        world.status({ phase: "InSync", plan: undefined, conditions: [ready("ConvergedAfterUnknownOutcome", "True")] });
      },
    });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("was not established");
  });

  test("--wait stops when the plan went stale before it ran", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: () => {
        const approval = world.all("ptahschemaapprovals")[0];
        const conditions = [{ ...ready("PlanNoLongerCurrent"), type: "Stale", status: "True" }];
        if (approval !== undefined) world.put("ptahschemaapprovals", { ...approval, status: { conditions } });
      },
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("nothing ran");
  });

  test("--wait stops when the attempt was withdrawn before it ran, and not for a claim it has not seen yet", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: (n) => {
        // The claim and the mark appear between the two reads of one look.
        if (n === 1) {
          world.before = (request) => {
            if (request.method !== "GET" || !request.path.includes("ptahschemaapprovals")) return undefined;
            world.before = () => undefined;
            world.status({ activeOperation: claim });
            spent(world);
            return undefined;
          };
        }
        if (n === 3) world.status({ activeOperation: undefined });
      },
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("withdrawn before it ran anything; approve again");
    expect(ran.requests.filter((request) => request.path.includes("ptahschemaapprovals/")).length).toBe(4);
  });

  const failedApply = (message: string) => ({
    ...condition("ReconciliationFailed", "True", "ApplyOutcomeUnknown", message),
  });
  const endsWith = async (message: string) => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: () => {
        spent(world);
        const { plan } = world.get("ptahschemas", "orders")["status"] as { plan: object };
        world.status({
          plan: { ...plan, uid: "plan-2", fingerprint: digest("b") },
          unproven: { applies: 1, desiredStateFingerprint: digest("6") },
          conditions: [{ ...ready("AwaitingApproval"), message: "The plan waits." }, failedApply(message)],
        });
      },
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).not.toContain("the plan ran");
    return { ran, world };
  };

  test("--wait says first that the Apply failed and why, and then what comes before another approval", async () => {
    const message = "Apply ended with apply_failed: statement 1 of 3 failed (SQLSTATE 23502); nothing is kept.";
    const { ran, world } = await endsWith(message);
    expect(ran.stderr).toContain(
      `the plan failed: orders is AwaitingApproval (AwaitingApproval): ${message} The plan waits.`,
    );
    const step = "Next: Correct the rows or the declaration that the message speaks of";
    expect(ran.stderr).toContain(step);
    expect(ran.stderr).toEndWith("kubectl ptah plan orders -n shop, then kubectl ptah approve orders -n shop\n");
    expect((await run(world, ["wait", "orders"])).stderr).toContain(`${message} The plan waits. ${step}`);
    const shown = (await run(world, ["schema", "orders"])).stdout;
    expect(shown).toContain(`Last Apply:     ${message}\n`);
    expect(shown.split(message)).toHaveLength(2);
    expect(shown).toContain("Who acts:       author\nNext:           Correct the rows or the declaration");
    expect(shown.match(/kubectl ptah \w+/g)?.slice(-3)).toEqual([
      "kubectl ptah refresh",
      "kubectl ptah plan",
      "kubectl ptah approve",
    ]);
  });

  test("--wait says that a plan was refused because the database had moved, and where to look", async () => {
    const message = "Apply ended with stale_plan: the database is no longer what the plan was made from.";
    const { ran } = await endsWith(message);
    expect(ran.stderr).toContain("the plan was refused and nothing of it ran: orders is AwaitingApproval");
    expect(ran.stderr).toEndWith("Look at the new plan before it is approved: kubectl ptah plan orders -n shop\n");
  });

  test("an earlier Apply is told apart from the plan of another declaration that waits now", async () => {
    const message = "Apply ended with apply_failed: statement 1 of 1 failed (SQLSTATE 23502); nothing is kept.";
    const { world } = await endsWith(message);
    world.status({ unproven: { applies: 1, desiredStateFingerprint: digest("7") } });
    expect((await run(world, ["wait", "orders"])).stderr).toContain(
      `orders is AwaitingApproval (AwaitingApproval): Of what was declared before: ${message} The plan waits.`,
    );
  });

  test("an earlier Apply is not what a later refusal of the declaration is told with", async () => {
    const { world } = await endsWith("Apply ended with apply_failed: statement 1 of 3 failed.");
    const refusal = { ...ready("PlanRefused"), message: "Plan was refused with plan_refused: a.sql line 3." };
    const { conditions } = world.get("ptahschemas", "orders")["status"] as { conditions: readonly object[] };
    world.status({ phase: "Blocked", plan: undefined, conditions: [refusal, ...conditions.slice(1)] });
    const said = (await run(world, ["wait", "orders"])).stderr;
    expect(said).toContain(refusal.message);
    expect(said).not.toContain("apply_failed");
  });

  test("--wait stops when the plan ran and changes remain", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: () => {
        spent(world);
        const { plan } = world.get("ptahschemas", "orders")["status"] as { plan: object };
        world.status({ plan: { ...plan, uid: "plan-2", fingerprint: digest("b") } });
      },
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("the plan ran and changes remain; a new plan waits: kubectl ptah plan orders -n shop");
  });
});

describe("kubectl ptah refresh", () => {
  const annotate = (world: World, value: string) => {
    const schema = world.get("ptahschemas", "orders");
    world.put("ptahschemas", { ...schema, metadata: { ...schema.metadata, annotations: { [REQUEST]: value } } });
  };

  test("asks with the present instant", async () => {
    const world = waitingWorld();
    const ran = await run(world, ["refresh", "schema/orders"]);
    expect([ran.code, ran.stdout]).toEqual([
      0,
      "a read of the database of orders is requested (2026-01-01T00:10:00Z); kubectl ptah schema orders -n shop shows what it finds\n",
    ]);
    expect(annotationsOf(world)).toEqual({ [REQUEST]: "2026-01-01T00:10:00.000Z" });
  });

  test("asks later than any value held or answered, so that it is not taken for an answered one", async () => {
    const world = waitingWorld();
    annotate(world, "2026-01-01T00:20:00Z");
    world.status({ lastReadRequest: "2026-01-01T00:30:00Z" });
    await run(world, ["refresh", "orders"]);
    expect(annotationsOf(world)).toEqual({ [REQUEST]: "2026-01-01T00:30:00.001Z" });
    annotate(world, "no instant");
    world.status({ lastReadRequest: digest("f") });
    await run(world, ["refresh", "orders"]);
    expect(annotationsOf(world)).toEqual({ [REQUEST]: "2026-01-01T00:10:00.000Z" });
  });

  test("tries again on the version that is stored now", async () => {
    const world = waitingWorld();
    world.before = (request) => {
      if (request.method !== "PATCH") return undefined;
      world.before = () => undefined;
      return refusal(409, "Conflict");
    };
    const ran = await run(world, ["refresh", "orders"]);
    expect([ran.code, writes(ran.requests)]).toEqual([0, ["PATCH orders", "PATCH orders"]]);
  });

  test("--wait ends when the read that the request started has ended", async () => {
    const world = waitingWorld();
    const steps: Record<number, object> = {
      1: { lastReadRequest: "2026-01-01T00:10:00.000Z" },
      2: { phase: "Observing", cycle: { startedAt: "2026-01-01T00:10:01Z", generation: 2, next: "Plan" } },
      3: {
        phase: "InSync",
        cycle: { startedAt: "2026-01-01T00:10:01Z", generation: 2, endedAt: "2026-01-01T00:11:00Z" },
      },
    };
    const ran = await run(world, ["refresh", "orders", "--wait"], { onSleep: (n) => world.status(steps[n] ?? {}) });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toEndWith("orders was read: InSync\n");
  });

  test("--wait is done once the database was read, and says what somebody has to do about what was found", async () => {
    const world = waitingWorld();
    const cycle = { startedAt: "2026-01-01T00:10:01Z", generation: 2, endedAt: "2026-01-01T00:11:00Z" };
    const ran = await run(world, ["refresh", "orders", "--wait"], {
      onSleep: () => world.status({ lastReadRequest: "2026-01-01T00:10:00.000Z", cycle }),
    });
    expect([ran.code, ran.stdout]).toEqual([
      0,
      expect.stringContaining(
        "the database was read: orders is AwaitingApproval (AwaitingApproval): a plan waits. Next:",
      ),
    ]);
  });

  test("--wait stops where the request waits for somebody", async () => {
    const world = waitingWorld();
    world.status({ phase: "Suspended", conditions: [ready("Suspended")] });
    const ran = await run(world, ["refresh", "orders", "--wait"]);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("the request waits: orders is Suspended")]);
  });
});

describe("kubectl ptah settle", () => {
  const record = {
    outcome: "OutcomeUnknown",
    operationID: digest("e"),
    generation: 2,
    job: { name: "ptah-apply-orders-1" },
    coordinationDigest: digest("3"),
    leaseDurationSeconds: 960,
    recordedAt: "2026-01-01T00:03:00Z",
    observeAfter: "2026-01-01T00:19:00Z",
  };

  test("shows the record, asks for the schema's name, and names that very operation", async () => {
    const world = waitingWorld();
    world.status({ phase: "Blocked", pendingObservation: record });
    const ran = await run(world, ["settle", "orders"], { answers: ["orders"] });
    expect(ran.stderr).toBe("");
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("Outcome:        OutcomeUnknown\nJob:            ptah-apply-orders-1\n");
    expect(annotationsOf(world)).toEqual({ [SETTLED]: digest("e") });
  });

  test("settles nothing without a word, without a record, or when the record changed", async () => {
    const world = waitingWorld();
    expect((await run(world, ["settle", "orders", "--yes"])).code).toBe(3);
    world.status({ pendingObservation: record });
    expect((await run(world, ["settle", "orders"], { answers: ["yes"] })).code).toBe(1);
    const first = { seen: false };
    world.before = () => {
      if (first.seen) world.status({ pendingObservation: { ...record, operationID: digest("d") } });
      first.seen = true;
      return undefined;
    };
    const ran = await run(world, ["settle", "schema/orders", "--yes"]);
    expect([ran.code, writes(ran.requests)]).toEqual([1, []]);
    expect(annotationsOf(world)).toEqual({});
  });

  test("--wait ends when the record is gone", async () => {
    const world = waitingWorld();
    world.status({ phase: "Blocked", pendingObservation: record });
    const ran = await run(world, ["settle", "orders", "--yes", "--wait"], {
      onSleep: () => world.status({ pendingObservation: undefined, phase: "Pending" }),
    });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("is ended")]);
  });

  test.each([
    ["is gone", (world: World) => world.drop("ptahschemas", "orders")],
    [
      "has another object under its name",
      (world: World) => {
        const schema = world.get("ptahschemas", "orders");
        world.put("ptahschemas", { ...schema, metadata: { ...schema.metadata, uid: "other" } });
      },
    ],
  ])("--wait has what it waited for where the resource %s, because that is what was settled for", async (_, act) => {
    const world = waitingWorld();
    world.status({ phase: "Blocked", pendingObservation: record });
    const ran = await run(world, ["settle", "orders", "--yes", "--wait"], { onSleep: () => act(world) });
    expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining("there is no")]);
    expect(ran.stdout).toEndWith(`the record of ${digest("e")} is ended, and orders is gone\n`);
  });
});
