import { describe, expect, test } from "bun:test";
import { refusal } from "../kube/testing.ts";
import { condition, digest, run, type Stored, type World, waitingWorld } from "./testing.ts";
import {
  FINGERPRINT,
  heldMigration,
  heldRun,
  lastRun,
  MIGRATION_PLAN,
  PLAN_REFERENCE,
  RUN,
  waitingMigration,
} from "./testing-migration.ts";

const PLURAL = "ptahmigrations";
const writes = (requests: readonly { method: string; path: string }[]) =>
  requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path.split("/").at(-1)}`);
const bodyOf = (requests: readonly { method: string; body: string }[]) =>
  JSON.parse(requests.find(({ method }) => method === "POST")?.body ?? "{}");
const ready = (reason: string, status = "False") => condition("Ready", status, reason);
const files = (world: World, ...names: string[]) =>
  world.put("configmaps", {
    metadata: { name: "orders-sql", uid: "cm-uid" },
    data: Object.fromEntries(names.map((name) => [name, "SELECT 1;"])),
  });

describe("kubectl ptah migration", () => {
  test("shows what is pending, in order, with checksum and transaction mode, and no SQL", async () => {
    const { code, stdout, stderr } = await run(waitingMigration(), ["migration", "orders"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Migration:      shop/orders\nPhase:          AwaitingApproval\n");
    expect(stdout).toContain("Current version: 2\nSource version: 4\nApplied:        2 of 4\nPending:        2\n");
    expect(stdout).toContain(
      [
        "Pending after version 2, in this order:",
        "  VERSION  DESCRIPTION  TRANSACTION  CHECKSUM",
        `  3        Add Status   file         ${"c3".repeat(32)}`,
        `  4        Index        none         ${"c4".repeat(32)}`,
        "A plan of migrations holds versions and checksums, no SQL",
      ].join("\n"),
    );
    expect(stdout).toContain("  2        applied  1/1         2025-12-01T00:00:00Z  12 ms  Orders");
    expect(stdout).toEndWith(
      "Who acts:       approver\n" +
        "Next:           kubectl ptah plan migration/orders -n shop, then kubectl ptah approve migration/orders -n shop\n",
    );
  });

  test("shows the last run with its failure, the run that is held, and everything the verdict is made of", async () => {
    const { stdout } = await run(heldMigration(), ["migration", "orders"]);
    for (const line of [
      "Last run:       Partial, ended 2026-01-01T00:04:00Z\n",
      `Run plan:       ${MIGRATION_PLAN}\n`,
      "Run let by:     approval ok by jo\n",
      "Run applied:    3\nRun stopped at: version 4, statement 2 (SQLSTATE 42000, MySQL error 1061)\n",
      "Run verified:   not yet",
      "Unresolved run: Partial, Job ptah-m-apply-orders-1, recorded 2026-01-01T00:04:00Z\nHeld until:     a read with nothing pending",
      "Dirty:          version 4, 1 of 3 statements recorded as done\nModified:       1\n",
      "Who acts:       database administrator\n",
      "kubectl ptah acknowledge orders -n shop",
    ])
      expect(stdout).toContain(line);
  });

  test("says how the first reading after a run judged it", async () => {
    const world = waitingMigration();
    const verification = {
      outcome: "Blocked",
      reason: "HistoryDirty",
      historyFingerprint: digest("5"),
      observedAt: "2026-01-01T00:05:00Z",
    };
    world.status({ lastRun: lastRun({ outcome: "Failed", verification }) }, PLURAL);
    const { stdout } = await run(world, ["migration", "orders"]);
    expect(stdout).toContain("Run verified:   Blocked (HistoryDirty), read 2026-01-01T00:05:00Z\n");
  });

  test("shows no plan that does not agree with its digests, and says so", async () => {
    const world = waitingMigration();
    const plan = world.get("ptahmigrationplans", MIGRATION_PLAN) as Stored & { spec: { migrations: object[] } };
    world.put("ptahmigrationplans", {
      ...plan,
      spec: { ...plan.spec, migrations: [...plan.spec.migrations].reverse() },
    });
    const shown = await run(world, ["migration", "orders"]);
    expect(shown.stdout).toContain(`the plan is not shown: plan ${MIGRATION_PLAN} has another sequence`);
    expect(shown.stdout).not.toContain("Pending after");
    const printed = await run(world, ["plan", "orders"]);
    expect([printed.code, printed.stdout]).toEqual([1, ""]);
  });

  test("is shown without its plan where the user may not read that", async () => {
    const world = waitingMigration();
    world.before = ({ path }) => (path.includes("ptahmigrationplans") ? refusal(403, "Forbidden") : undefined);
    const ran = await run(world, ["migration", "orders"]);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("the plan is not shown: Forbidden it is")]);
  });

  test("warns of files by whose names the executor refuses the directory", async () => {
    const world = waitingMigration();
    files(world, "0000000003_add.up.sql", "0000000003_add.down.sql", "V1__a.up.sql", "0000000000_x.up.sql", "notes.md");
    const warning = "the source holds 0000000000_x.up.sql, V1__a.up.sql, which the executor refuses";
    expect((await run(world, ["migration", "orders"])).stdout).toContain(`Warning:        ${warning}`);
    for (const argv of [
      ["plan", "orders"],
      ["approve", "orders", "--yes"],
    ])
      expect((await run(world, argv)).stderr).toStartWith(`kubectl-ptah: WARNING: ${warning}`);
    files(world, "0000000003_add.up.sql", "0000000004_x.down.sql", "0000000004_x.up.sql");
    expect((await run(world, ["plan", "orders"])).stderr).toContain(
      "0000000003_add.up.sql without its .down.sql, which the executor refuses",
    );
    files(world, "0000000003_add.up.sql", "0000000003_add.down.sql");
    expect((await run(world, ["plan", "orders"])).stderr).toBe("");
  });

  test("has a versioned JSON form", async () => {
    const { stdout } = await run(heldMigration(), ["migration", "orders", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      kind: "Migration",
      lastRun: { outcome: "Partial", failure: { mysqlErrno: 1061 } },
      unresolvedRun: { operationID: RUN },
      history: { dirtyRevision: { version: 4 } },
    });
    const planned = JSON.parse((await run(waitingMigration(), ["migration", "orders", "-o", "json"])).stdout);
    expect(planned.plan.migrations.map(({ version }: { version: number }) => version)).toEqual([3, 4]);
  });

  test("without a name lists all of them", async () => {
    expect((await run(waitingMigration(), ["migration"])).stdout).toBe(
      "NAME    PHASE             REASON            CURRENT  PENDING  LAST RUN  NEXT READ\n" +
        "orders  AwaitingApproval  AwaitingApproval  2        2\n",
    );
    expect((await run(waitingWorld(), ["migration"])).code).toBe(3);
  });
});

describe("kubectl ptah plan of a migration", () => {
  test("prints versions and checksums, and says where the SQL is", async () => {
    const { code, stdout } = await run(waitingMigration("MySQL"), ["plan", "migration/orders"]);
    expect(code).toBe(0);
    expect(stdout).toStartWith(
      `Migration:      shop/orders\nPlan:           current (${MIGRATION_PLAN})\nFingerprint:    ${FINGERPRINT}\n`,
    );
    expect(stdout).toContain("it stays in the source");
    expect(stdout).toContain("a file that fails half-way stays half-way");
  });

  test("has no SQL form, and the JSON form holds the sequence", async () => {
    const sql = await run(waitingMigration(), ["plan", "migration/orders", "-o", "sql"]);
    expect([sql.code, sql.stdout]).toEqual([2, ""]);
    const { stdout } = await run(waitingMigration(), ["plan", "migration/orders", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, kind: "MigrationPlan", plan: { fingerprint: FINGERPRINT } });
  });

  test("--applied is the plan that the last run applied", async () => {
    const world = waitingMigration();
    expect((await run(world, ["plan", "orders", "--applied"])).code).toBe(3);
    world.status({ plan: undefined, lastRun: lastRun({ outcome: "Applied", failure: undefined }) }, PLURAL);
    const { stdout } = await run(world, ["plan", "orders", "--applied"]);
    expect(stdout).toContain(`applied (${MIGRATION_PLAN})`);
    expect(stdout).toContain("Applied:        2026-01-01T00:04:00Z\n");
  });

  test.each([
    ["another object", { metadata: { uid: "x" } }, "another object"],
    ["of another migration", { spec: { migrationRef: { name: "orders", uid: "x" } } }, "another PtahMigration"],
    ["not owned", { metadata: { ownerReferences: [] } }, "not owned"],
    ["bound to another history", { spec: { historyFingerprint: digest("9") } }, "something else"],
    ["not published", { status: {} }, "not completely published"],
  ])("a plan %s is not printed", async (_, change: Record<string, object>, message) => {
    const world = waitingMigration();
    const { metadata, spec, status } = world.get("ptahmigrationplans", MIGRATION_PLAN) as Stored & {
      spec: object;
      status: object;
    };
    world.put("ptahmigrationplans", {
      metadata: { ...metadata, ...change["metadata"] },
      spec: { ...spec, ...change["spec"] },
      status: change["status"] ?? status,
    });
    const ran = await run(world, ["plan", "migration/orders"]);
    expect([ran.code, ran.stdout]).toEqual([1, ""]);
    expect(ran.stderr).toContain(message);
  });
});

describe("the name of a resource", () => {
  const both = (): World => {
    const world = waitingWorld();
    const other = waitingMigration();
    for (const plural of [PLURAL, "ptahmigrationplans"]) for (const o of other.all(plural)) world.put(plural, o);
    return world;
  };

  test("is enough where one kind has it", async () => {
    expect((await run(waitingMigration(), ["plan", "orders"])).stdout).toStartWith("Migration:");
    expect((await run(waitingWorld(), ["plan", "orders"])).stdout).toStartWith("Schema:");
  });

  test("asks for the kind where both have it, and does nothing", async () => {
    const ran = await run(both(), ["approve", "orders", "--yes"]);
    expect([ran.code, ran.stdout, writes(ran.requests)]).toEqual([2, "", []]);
    expect(ran.stderr).toBe(
      "kubectl-ptah: a schema and a migration are both called orders; write schema/orders or migration/orders\n",
    );
    expect((await run(both(), ["plan", "migration/orders"])).stdout).toStartWith("Migration:");
    expect((await run(both(), ["plan", "ptahschema/orders"])).stdout).toStartWith("Schema:");
  });

  test("is looked for in the kinds the user may read", async () => {
    const world = waitingWorld();
    world.before = ({ path }) => (path.includes(PLURAL) ? refusal(403, "Forbidden") : undefined);
    expect((await run(world, ["plan", "orders"])).code).toBe(0);
    world.drop("ptahschemas", "orders");
    expect((await run(world, ["plan", "orders"])).code).toBe(1);
  });
});

describe("kubectl ptah approve of a migration", () => {
  test("shows the sequence, asks, and stores the three identifiers", async () => {
    const ran = await run(waitingMigration(), ["approve", "migration/orders"], { answers: ["yes"] });
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    expect(ran.questions).toEqual(["Run these 2 migrations on the database of shop/orders? Type yes to go on: "]);
    expect(writes(ran.requests)).toEqual(["POST ptahmigrationapprovals"]);
    expect(bodyOf(ran.requests).spec).toEqual({
      migrationRef: { name: "orders", uid: "migration-uid" },
      planRef: { name: MIGRATION_PLAN, uid: "mplan-uid" },
      planFingerprint: FINGERPRINT,
    });
  });

  const spend = (world: World) => {
    const [approval] = world.all("ptahmigrationapprovals");
    if (approval === undefined) throw new Error("nothing was approved");
    const consumedBy = { operationID: RUN, jobName: "ptah-m-apply-orders-1", at: "2026-01-01T00:03:00Z" };
    world.put("ptahmigrationapprovals", { ...approval, status: { consumedBy } });
  };
  const after = async (change: Record<string, unknown>) => {
    const world = waitingMigration();
    return run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: (n) => {
        if (n > 1) return;
        spend(world);
        world.status({ plan: undefined, ...change }, PLURAL);
      },
    });
  };

  test("--wait ends well once a fresh read of the history has proved the run", async () => {
    const verification = { outcome: "InSync", historyFingerprint: digest("6"), observedAt: "2026-01-01T00:05:00Z" };
    const ran = await after({
      phase: "InSync",
      conditions: [ready("HistoryMatched", "True")],
      lastRun: lastRun({ outcome: "Applied", failure: undefined, verification }),
    });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toEndWith("the plan was run, and a fresh read of the history proved it\n");
  });

  test("--wait says where the run stopped", async () => {
    const ran = await after({
      phase: "Blocked",
      conditions: [ready("HistoryDirty")],
      lastRun: lastRun({ outcome: "Failed" }),
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      "the run of this plan ended Failed at version 4, statement 2 (SQLSTATE 42000, MySQL error 1061), 1 whole version applied. orders is Blocked (HistoryDirty)",
    );
  });

  test("--wait gives the run's own reading a moment before it says that a person has to look", async () => {
    const held = { phase: "Blocked", conditions: [ready("OutcomeUnknown")], lastRun: lastRun() };
    const settled = await after({ ...held, unresolvedRun: heldRun() });
    expect([settled.code, settled.stderr]).toEqual([1, expect.stringContaining("ended Partial")]);
    const world = waitingMigration();
    const ran = await run(world, ["approve", "orders", "--yes", "--wait"], {
      onSleep: (n) => {
        if (n === 1) {
          spend(world);
          world.status({ ...held, plan: undefined, unresolvedRun: heldRun({ next: "History" }) }, PLURAL);
        }
        if (n === 4)
          world.status(
            { phase: "InSync", unresolvedRun: undefined, conditions: [ready("HistoryMatched", "True")] },
            PLURAL,
          );
      },
    });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("found nothing pending; the plan's own run ended Partial");
  });
});

describe("kubectl ptah wait and refresh of a migration", () => {
  test("stops where policy records plans and runs none", async () => {
    const world = waitingMigration();
    world.status({ phase: "Planning", conditions: [ready("ApplyDisabled")] }, PLURAL);
    const ran = await run(world, ["wait", "orders"]);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("orders is Planning (ApplyDisabled)")]);
  });

  test("names the next command of a migration", async () => {
    const { stderr } = await run(waitingMigration(), ["wait", "migration/orders"]);
    expect(stderr).toContain("then kubectl ptah approve migration/orders -n shop");
    expect(
      (await run(waitingMigration(), ["wait", "orders", "--for", "VerifyingHistory", "--wait-timeout", "2s"])).code,
    ).toBe(1);
    expect((await run(waitingMigration(), ["wait", "orders", "--for", "Observing"])).code).toBe(2);
  });

  test("asks for a read of the history", async () => {
    const world = waitingMigration();
    const ran = await run(world, ["refresh", "migration/orders"]);
    expect(ran.stdout).toContain("kubectl ptah migration orders -n shop shows what it finds");
    expect(world.get(PLURAL, "orders").metadata.annotations).toEqual({
      "operator.ptah.run/read-requested-at": "2026-01-01T00:10:00.000Z",
    });
  });
});

describe("kubectl ptah settle of a migration", () => {
  test("counts only while it is being deleted, and says what does else", async () => {
    const world = heldMigration();
    const early = await run(world, ["settle", "migration/orders", "--yes"]);
    expect([early.code, writes(early.requests)]).toEqual([1, []]);
    expect(early.stderr).toContain("use kubectl ptah acknowledge orders");
    const migration = world.get(PLURAL, "orders");
    const deletionTimestamp = "2026-01-01T00:09:00Z";
    world.put(PLURAL, { ...migration, metadata: { ...migration.metadata, deletionTimestamp } });
    const ran = await run(world, ["settle", "migration/orders"], { answers: ["orders"] });
    expect(ran.code).toBe(0);
    expect(world.get(PLURAL, "orders").metadata.annotations).toEqual({ "operator.ptah.run/settled-apply": RUN });
    for (const part of [
      `Operation:      ${RUN}\nOutcome:        Partial\nPlan:           ${MIGRATION_PLAN}\n`,
      "Known:\n  - the run reported as applied: 3\n  - it stopped at version 4, statement 2",
      "Look in the database before you answer:\n  1. SHOW FULL PROCESSLIST;",
    ])
      expect(ran.stdout).toContain(part);
    // Nothing is read on request any more.
    expect(ran.stdout).not.toContain("kubectl ptah refresh");
  });
});

describe("kubectl ptah acknowledge", () => {
  test("shows the run, what is known and not, what to check, asks for the name, and names that very run", async () => {
    const ran = await run(heldMigration(), ["acknowledge", "orders"], { answers: ["orders"] });
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    for (const part of [
      `Operation:      ${RUN}\nOutcome:        Partial\nPlan:           ${MIGRATION_PLAN}\n`,
      "Job:            ptah-m-apply-orders-1\nEngine:         MySQL\n",
      "  - the run reported as applied: 3\n  - it stopped at version 4, statement 2 (SQLSTATE 42000, MySQL error 1061)\n",
      "dirty: version 4, 1 of 3 statements recorded as done",
      "SHOW FULL PROCESSLIST",
      "FROM schema_migrations ORDER BY version",
      "compare the file of version 4",
      "may have taken effect, also in transaction mode file",
    ])
      expect(ran.stdout).toContain(part);
    expect(ran.questions).toEqual(["Have you established in the database what this run did? Type orders to go on: "]);
    expect(writes(ran.requests)).toEqual(["POST ptahmigrationrunacknowledgments"]);
    const sent = bodyOf(ran.requests);
    expect(sent).toMatchObject({ kind: "PtahMigrationRunAcknowledgment" });
    expect(sent.spec).toEqual({ migrationRef: { name: "orders", uid: "migration-uid" }, operationID: RUN });
  });

  test("says other things to look at in PostgreSQL, and what a run without an account leaves open", async () => {
    const world = heldMigration("PostgreSQL");
    const unresolvedRun = heldRun({ outcome: "Unknown", job: { name: "ptah-m-apply-orders-1" } });
    world.status({ lastRun: undefined, history: undefined, unresolvedRun }, PLURAL);
    const { stdout } = await run(world, ["acknowledge", "orders", "--yes"]);
    expect(stdout).toContain("pg_stat_activity");
    expect(stdout).not.toContain("PROCESSLIST");
    expect(stdout).toContain("which versions it applied: it left no account of itself");
    expect(stdout).toContain("what the revision table says: no read of it followed the run yet");
    expect(stdout).toContain("whether its Pod still writes: it may until 2026-01-01T00:20:00Z");
    expect(stdout).toContain("which database it opened: the one above is the planned one");
  });

  test("takes nothing of another run for this one's account", async () => {
    const world = heldMigration();
    world.status({ lastRun: lastRun({ operationID: digest("d") }) }, PLURAL);
    const { stdout } = await run(world, ["acknowledge", "orders", "--yes"]);
    expect(stdout).not.toContain("reported as applied");
  });

  test("writes nothing without the name, nor where nobody can be asked", async () => {
    const no = await run(heldMigration(), ["acknowledge", "orders"], { answers: ["yes"] });
    expect([no.code, writes(no.requests)]).toEqual([1, []]);
    const nobody = await run(heldMigration(), ["acknowledge", "orders"]);
    expect([nobody.code, writes(nobody.requests)]).toEqual([2, []]);
  });

  test.each([
    ["another run", heldRun({ operationID: digest("d") })],
    ["another Job", heldRun({ job: { name: "ptah-m-apply-orders-2" } })],
    ["another plan", heldRun({ plan: { ...PLAN_REFERENCE, uid: "other" } })],
    ["no run any more", undefined],
  ])("writes nothing where %s is held than the one shown", async (_, unresolvedRun) => {
    const world = heldMigration();
    let reads = 0;
    world.before = ({ path }) => {
      if (path.endsWith("ptahmigrations/orders")) reads += 1;
      if (reads === 2) world.status({ unresolvedRun }, PLURAL);
      return undefined;
    };
    const ran = await run(world, ["acknowledge", "orders", "--yes"]);
    expect([ran.code, writes(ran.requests)]).toEqual([1, []]);
    expect(ran.stderr).toContain("nothing was acknowledged");
  });

  test("ends with 3 where no run is held, and says how the last one was settled", async () => {
    const world = waitingMigration();
    const resolvedRun = {
      operationID: RUN,
      outcome: "Partial",
      resolution: "Reading",
      resolvedAt: "2026-01-01T00:06:00Z",
    };
    world.status({ resolvedRun }, PLURAL);
    const ran = await run(world, ["acknowledge", "orders", "--yes"]);
    expect([ran.code, ran.stdout]).toEqual([3, ""]);
    expect(ran.stderr).toContain("was settled at 2026-01-01T00:06:00Z (Reading)");
    expect((await run(waitingWorld(), ["acknowledge", "schema/orders"])).code).toBe(2);
  });

  test("reads back a create whose answer was lost instead of repeating it", async () => {
    const world = heldMigration();
    world.before = (request) => {
      if (request.method !== "POST") return undefined;
      world.before = () => undefined;
      world.answer(request);
      return refusal(500, "InternalError");
    };
    expect((await run(world, ["acknowledge", "orders", "--yes"])).code).toBe(0);
    expect(world.all("ptahmigrationrunacknowledgments")).toHaveLength(1);
  });

  test("--wait ends when the hold is over", async () => {
    const world = heldMigration();
    const ran = await run(world, ["acknowledge", "orders", "--yes", "--wait"], {
      onSleep: () => world.status({ unresolvedRun: undefined, phase: "Pending" }, PLURAL),
    });
    const over = `the hold of ${RUN} is over; kubectl ptah wait migration/orders -n shop follows what comes\n`;
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining(over)]);
  });
});

test("what holds a migration is printed once by wait and once by the view, with the commands for it", async () => {
  const world = heldMigration();
  const message = "Version 4 is not finished in the revision table, 1 of 3 statements recorded as done.";
  const blocked = (type: string, status: string) => condition(type, status, "HistoryDirty", message);
  const conditions = [blocked("Ready", "False"), blocked("Blocked", "True"), blocked("Stalled", "True")];
  world.status({ conditions, unresolvedRun: heldRun({ next: "History" }) }, PLURAL);
  for (const ran of [await run(world, ["wait", "orders"]), await run(world, ["migration", "orders"])]) {
    const text = ran.stdout + ran.stderr;
    expect(text.split(message)).toHaveLength(2);
    expect(text).not.toContain("orders: Blocked\n");
    expect(text).toContain("--version 4 --resume-from 2");
    expect(text).toContain("kubectl ptah refresh migration/orders -n shop --wait");
  }
});
