import { describe, expect, test } from "bun:test";
import { refusal } from "../kube/testing.ts";
import { contentDigest } from "../sql/index.ts";
import { digest, planDocument, run, type Stored, type World, waitingWorld } from "./testing.ts";

const PLAN = `ptah-plan-${"a".repeat(24)}`;

/** The parts of plans and chunks that the tests change. */
interface Parts {
  readonly metadata: { uid: string; ownerReferences: unknown[] };
  readonly spec: { fingerprint: string; schemaRef: { uid: string }; statementCount: number; data: string };
  readonly status: { conditions: unknown[] };
}

/** Changes one part of a stored plan or chunk. */
function tamper(world: World, plural: string, name: string, change: (object: Parts) => void): void {
  const copy = structuredClone(world.get(plural, name));
  change(copy as unknown as Parts);
  world.put(plural, copy as Stored);
}

describe("kubectl ptah plan", () => {
  test("prints what the plan is and every statement with its class and reason", async () => {
    const ran = await run(waitingWorld(), ["plan", "orders"]);
    expect(ran.stderr).toBe("");
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("Schema:         shop/orders\n");
    expect(ran.stdout).toContain(`Plan:           current (${PLAN})\n`);
    expect(ran.stdout).toContain(`Fingerprint:    ${digest("a")}\n`);
    expect(ran.stdout).toContain("Statements:     1\nDestructive:    false\nPrivileges:     none\n");
    expect(ran.stdout).toContain("Stored:         2026-01-01T00:00:00Z\n");
    expect(ran.stdout).toEndWith('-- 1/1 safe: the table is new\nCREATE TABLE "orders" (id bigint);\n');
  });

  test("-o sql prints the statements alone, never re-split", async () => {
    const document = planDocument([
      { sql: "DO $$ BEGIN PERFORM 1; PERFORM 2; END $$;" },
      { sql: "CREATE TABLE a (id int) -- last" },
    ]);
    const ran = await run(waitingWorld(document), ["plan", "orders", "-o", "sql"]);
    expect(ran.stdout).toBe("DO $$ BEGIN PERFORM 1; PERFORM 2; END $$;\nCREATE TABLE a (id int) -- last\n;\n");
  });

  test("-o json is the stored document, byte for byte", async () => {
    const world = waitingWorld();
    const { spec } = world.get("ptahschemaplans", PLAN) as unknown as { spec: { contentDigest: string } };
    const ran = await run(world, ["plan", "schema/orders", "-o", "json"]);
    expect(contentDigest(new TextEncoder().encode(ran.stdout))).toBe(spec.contentDigest);
  });

  test("reads the statements itself and says what the record leaves out", async () => {
    const world = waitingWorld(planDocument([{ sql: "GRANT SELECT ON t TO jo" }, { sql: "DROP TABLE t" }]));
    const ran = await run(world, ["plan", "orders"]);
    expect(ran.stdout).toContain("Destructive:    true (unrecorded)\n");
    expect(ran.stdout).toContain("Privileges:     Grant (unrecorded)\n");
  });

  test("shows what a terminal would hide or reorder", async () => {
    const document = planDocument([{ sql: "CREATE TABLE a (id int) -- \u001b[2K\u202eDROP\r" }]);
    const ran = await run(waitingWorld(document), ["plan", "orders"], {
      outputIsTerminal: true,
      env: { NO_COLOR: "1" },
    });
    expect(ran.stdout).toContain("-- \\u{1b}[2K\\u{202e}DROP");
    expect(ran.stdout).not.toContain("\u001b");
  });

  test("colours only a terminal without NO_COLOR", async () => {
    const world = waitingWorld();
    const escapes = async (terminal: object) =>
      (await run(world, ["plan", "orders"], terminal)).stdout.includes("\u001b[");
    expect(await escapes({})).toBe(false);
    expect(await escapes({ outputIsTerminal: true })).toBe(true);
    expect(await escapes({ outputIsTerminal: true, env: { NO_COLOR: "1" } })).toBe(false);
  });

  test("shows a table one column to a line; -o sql stays the stored bytes", async () => {
    const sql =
      'CREATE TABLE "public"."t" ("a,(" numeric(10,2) DEFAULT 1, b text DEFAULT \'x, (y\', PRIMARY KEY ("a,("))';
    const world = waitingWorld(planDocument([{ sql }]));
    const shown = (await run(world, ["plan", "orders"])).stdout;
    expect(shown).toEndWith(
      [
        'CREATE TABLE "public"."t" (',
        '  "a,(" numeric(10,2) DEFAULT 1,',
        "  b text DEFAULT 'x, (y',",
        '  PRIMARY KEY ("a,(")',
        ");\n",
      ].join("\n"),
    );
    expect((await run(world, ["plan", "orders", "-o", "sql"])).stdout).toBe(`${sql};\n`);
  });

  test("a plan of several chunks is put together in order", async () => {
    const many = Array.from({ length: 60 }, (_, i) => ({ sql: `COMMENT ON TABLE t IS '${String(i).repeat(6000)}'` }));
    const world = waitingWorld(planDocument(many));
    expect(world.all("ptahschemaplanchunks").length).toBeGreaterThan(1);
    const ran = await run(world, ["plan", "orders", "-o", "sql"]);
    expect(ran.code).toBe(0);
    expect(ran.stdout.split(";\n")).toHaveLength(61);
  });

  test("a namespace that does not exist is named as such, unless the user may not know that", async () => {
    const world = waitingWorld();
    for (const argv of [
      ["schema", "orders"],
      ["plan", "orders"],
    ]) {
      const ran = await run(world, [...argv, "-n", "nons"]);
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining(": namespace nons does not exist\n")]);
    }
    world.before = ({ path }) => (path === "/api/v1/namespaces/nons" ? refusal(403, "Forbidden") : undefined);
    const kept = await run(world, ["schema", "orders", "-n", "nons"]);
    expect(kept.stderr).toBe("kubectl-ptah: there is no PtahSchema orders in namespace nons\n");
  });

  test.each([
    [
      "nothing of that name",
      (w: World) => w.drop("ptahschemas", "orders"),
      "there is no PtahSchema or PtahMigration orders",
    ],
    ["no plan", (w: World) => w.status({ plan: undefined, phase: "InSync" }), "has no current plan (phase InSync)"],
    ["a plan that is gone", (w: World) => w.drop("ptahschemaplans", PLAN), "is no longer stored"],
  ])("%s ends with 3 and prints nothing", async (_, change, message) => {
    const world = waitingWorld();
    change(world);
    const ran = await run(world, ["plan", "orders"]);
    expect([ran.code, ran.stdout]).toEqual([3, ""]);
    expect(ran.stderr).toStartWith("kubectl-ptah: ");
    expect(ran.stderr).toContain(message);
  });

  test.each([
    [
      "another object under the plan's name",
      "ptahschemaplans",
      PLAN,
      (o) => (o.metadata.uid = "other"),
      "another object",
    ],
    ["another fingerprint", "ptahschemaplans", PLAN, (o) => (o.spec.fingerprint = digest("b")), "another fingerprint"],
    ["a plan of another schema", "ptahschemaplans", PLAN, (o) => (o.spec.schemaRef.uid = "x"), "another PtahSchema"],
    ["a plan without its owner", "ptahschemaplans", PLAN, (o) => (o.metadata.ownerReferences = []), "not owned"],
    ["a plan still being published", "ptahschemaplans", PLAN, (o) => (o.status.conditions = []), "not completely"],
    [
      "a statement count that does not fit",
      "ptahschemaplans",
      PLAN,
      (o) => (o.spec.statementCount = 2),
      "number of stat",
    ],
    ["a replaced chunk", "ptahschemaplanchunks", `${PLAN}-000`, (o) => (o.metadata.uid = "other"), "another object"],
    [
      "a chunk of another plan",
      "ptahschemaplanchunks",
      `${PLAN}-000`,
      (o) => (o.metadata.ownerReferences = []),
      "not owned",
    ],
    ["a longer chunk", "ptahschemaplanchunks", `${PLAN}-000`, (o) => (o.spec.data = "AAAA"), "another size"],
    [
      "a chunk with one byte flipped",
      "ptahschemaplanchunks",
      `${PLAN}-000`,
      (o) => (o.spec.data = `A${o.spec.data.slice(1)}`),
      "another digest",
    ],
  ] as [string, string, string, (o: Parts) => unknown, string][])(
    "%s ends with 1 and prints nothing",
    async (_, plural, name, change, message) => {
      const world = waitingWorld();
      tamper(world, plural, name, (object) => void change(object));
      const ran = await run(world, ["plan", "orders"]);
      expect([ran.code, ran.stdout]).toEqual([1, ""]);
      expect(ran.stderr).toContain(message);
    },
  );

  test("--applied prints the plan of the last proved Apply", async () => {
    const world = waitingWorld();
    world.status({
      phase: "InSync",
      plan: undefined,
      applied: {
        operationID: digest("e"),
        planRef: { name: PLAN, uid: "plan-uid" },
        planFingerprint: digest("a"),
        coordinationDigest: digest("3"),
        targetIdentityDigest: digest("4"),
        executionBindingID: `v1-${"3".repeat(32)}`,
        completedAt: "2026-01-01T00:05:00Z",
      },
    });
    const ran = await run(world, ["plan", "--applied", "orders"]);
    expect(ran.stdout).toContain(`Plan:           applied (${PLAN})`);
    expect(ran.stdout).toContain("Applied:        2026-01-01T00:05:00Z");
  });

  test("asks for its own objects alone", async () => {
    const ran = await run(waitingWorld(), ["plan", "schema/orders"]);
    const plurals = new Set(ran.requests.map((request) => request.path.split("/")[6]));
    expect(plurals).toEqual(new Set(["ptahschemas", "ptahschemaplans", "ptahschemaplanchunks"]));
    expect(ran.requests[0]?.headers.get("user-agent")).toStartWith("kubectl-ptah/");
  });
});

describe("kubectl ptah schema", () => {
  test("says where a schema is and what to do next", async () => {
    const ran = await run(waitingWorld(), ["schema", "orders"]);
    expect(ran.stdout).toContain("Phase:          AwaitingApproval\n");
    expect(ran.stdout).toContain("Ready:          False (AwaitingApproval)\n");
    expect(ran.stdout).toContain(
      "Who acts:       approver\nNext:           kubectl ptah plan orders -n shop, then kubectl ptah approve orders",
    );
  });

  test("has a versioned JSON form", async () => {
    const ran = await run(waitingWorld(), ["schema", "orders", "-o", "json"]);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      version: 1,
      kind: "Schema",
      name: "orders",
      phase: "AwaitingApproval",
    });
  });

  test("without a name lists all of them", async () => {
    const ran = await run(waitingWorld(), ["schema"]);
    expect(ran.stdout).toBe(
      "NAME    PHASE             REASON            NEXT READ\norders  AwaitingApproval  AwaitingApproval\n",
    );
    const empty = waitingWorld();
    empty.drop("ptahschemas", "orders");
    expect((await run(empty, ["schema"])).code).toBe(3);
  });
});

describe("kubectl ptah journal", () => {
  test("prints names and reasons, oldest first", async () => {
    const world = waitingWorld();
    const plan = { name: PLAN, uid: "plan-uid", fingerprint: digest("a") };
    world.status({
      journal: {
        coveredSince: "2026-01-01T00:00:00Z",
        entries: [
          { type: "PlanPublished", time: "2026-01-01T00:00:01Z", plan, approvalRequired: true },
          {
            type: "OperationFailed",
            time: "2026-01-01T00:00:02Z",
            operation: "Observe",
            reason: "OperationFailed",
            count: 3,
          },
        ],
      },
    });
    const ran = await run(world, ["journal", "orders"]);
    expect(ran.stdout).toBe(
      [
        "Covered since:  2026-01-01T00:00:00Z",
        "",
        "TIME                  ENTRY            WHAT",
        `2026-01-01T00:00:01Z  PlanPublished    ${PLAN}, asks for approval`,
        "2026-01-01T00:00:02Z  OperationFailed  Observe, OperationFailed, 3 times until now",
        "",
      ].join("\n"),
    );
    expect((await run(waitingWorld(), ["journal", "orders"])).code).toBe(3);
  });

  test("says of the plan that stands that policy refuses it", async () => {
    const world = waitingWorld();
    const entry = (uid: string, time: string) => ({
      type: "PlanPublished",
      time,
      plan: { name: PLAN, uid, fingerprint: digest("a") },
      approvalRequired: false,
    });
    const entries = [entry("older", "2026-01-01T00:00:01Z"), entry("plan-uid", "2026-01-01T00:00:02Z")];
    const ready = { type: "Ready", status: "False", reason: "PolicyBlocked", message: "no" };
    world.status({
      phase: "Blocked",
      conditions: [{ ...ready, lastTransitionTime: "2026-01-01T00:00:02Z" }],
      journal: { coveredSince: "2026-01-01T00:00:00Z", entries },
    });
    const lines = (await run(world, ["journal", "orders"])).stdout.split("\n");
    expect(lines.filter((line) => line.includes("refused by policy (PolicyBlocked)"))).toEqual([
      `2026-01-01T00:00:02Z  PlanPublished  ${PLAN}, refused by policy (PolicyBlocked)`,
    ]);
  });
});

describe("kubectl ptah explain", () => {
  const explained = async (word: string) => (await run(waitingWorld(), ["explain", word])).stdout;

  test("knows phases, condition types, reasons, codes and Events, each from its table", async () => {
    expect(await explained("blocked")).toContain("Phase:          Blocked\nMeaning:        Nothing changes until");
    expect(await explained("Stalled")).toContain("Condition:      Stalled (on PtahSchema");
    expect(await explained("Reconciling")).toContain("Wanted:         either\n");
    expect(await explained("plan_refused")).toContain("Next:           Change what the message names: file and line");
    expect(await explained("unmanaged_kind")).toContain("Code:           unmanaged_kind\n");
    expect(await explained("OperationFailed")).not.toContain("ptahschema");
    expect(await explained("ResultMissing")).toContain("For a migration: kubectl events --for ptahmigration/NAME");
    const both = await explained("Suspended");
    for (const part of ["Phase:", "Condition:", "Reason:"]) expect(both).toContain(part);
    expect(await explained("ReadRequested")).toContain("Event:          ReadRequested (Normal, on PtahSchema");
  });

  test("knows the words of the journal, of runs, of plans and of drift", async () => {
    for (const [word, said] of [
      ["Partial", "Word:           Partial (outcome of a migration's run)"],
      ["RunFinished", "Word:           RunFinished (journal entry)"],
      ["DriftRemains", "the database still differs"],
      ["safe", "Word:           safe (class of a statement in a plan)"],
      ["columns_removed", "What the database has and the declaration does not"],
      ["invalid_schema", "Code:           invalid_schema"],
    ] as const)
      expect((await explained(word)).toLowerCase()).toContain(said.toLowerCase());
    expect(await explained("Failed")).toContain("Phase:          Failed\n");
    expect(await explained("Failed")).toContain("Word:           Failed (outcome of a migration's run)\n");
  });

  test("lists every word, and suggests one where it knows none", async () => {
    const all = await run(waitingWorld(), ["explain"]);
    for (const word of ["AwaitingApproval", "Stalled", "plan_refused", "not_managed", "Settled"]) {
      expect(all.stdout).toContain(`\n  ${word} `);
    }
    const none = await run(waitingWorld(), ["explain", "AwaitingApprov"]);
    expect([none.code, none.stdout]).toEqual([3, ""]);
    const slip = await run(waitingWorld(), ["explain", "polcyblocked"]);
    expect(slip.stderr).toContain("did you mean PolicyBlocked");
    expect(none.stderr).toContain("did you mean AwaitingApproval");
  });
});

test("a name that only another kind has is told with the command that shows it", async () => {
  const ran = await run(waitingWorld(), ["migration", "orders"]);
  expect([ran.code, ran.stderr]).toEqual([
    3,
    "kubectl-ptah: there is no PtahMigration orders in namespace shop, but a PtahSchema: kubectl ptah schema orders -n shop\n",
  ]);
});

describe("usage", () => {
  test.each([
    [[], "Usage: kubectl ptah COMMAND"],
    [["bogus"], "unknown command 'bogus'\nsee kubectl ptah --help\n"],
    [["--bogus"], "unknown option '--bogus'\nsee kubectl ptah --help\n"],
    [["plan"], "missing required argument 'name'\nsee kubectl ptah plan --help\n"],
    [["explain", "a", "b"], "see kubectl ptah explain --help\n"],
    [["plan", "orders", "-o", "yaml"], "Allowed choices are text, sql, json"],
    [["plan", "orders", "--current", "--applied"], "cannot be used with"],
    [["plan", "pod/orders"], "this command knows no pod; write schema/orders or migration/orders"],
    [
      ["schema", "migration/ledger"],
      "this command knows no migration, which kubectl ptah migration ledger shows; write schema/ledger",
    ],
    [["plan", "../../x"], "write schema/NAME or migration/NAME"],
    [["schema", "/orders"], "write schema/orders"],
    [["schema", "schema/Or ders"], 'a name is at most 253 lowercase letters, digits, "-" and "."'],
    [["schema", "orders", "-A"], "-A lists the schemas of every namespace; leave the name out"],
    [["plan", "orders", "--timeout", "soon"], "--timeout needs a duration"],
    [["wait", "orders", "--for", "Happiness"], "--for needs a phase"],
  ])("%j ends with 2 and says why on standard error", async (argv, message) => {
    const ran = await run(waitingWorld(), argv);
    expect([ran.code, ran.stdout]).toEqual([2, ""]);
    expect(ran.stderr).toContain(message);
  });

  test("help is no error", async () => {
    for (const argv of [["-h"], ["plan", "--help"], ["help"]]) {
      const ran = await run(waitingWorld(), argv);
      expect([ran.code, ran.stderr]).toEqual([0, ""]);
      expect(ran.stdout).toContain("Usage: kubectl ptah");
      expect(ran.stdout).not.toContain("kubectl-ptah");
    }
  });

  test("help says what the exit codes mean", async () => {
    expect((await run(waitingWorld(), ["--help"])).stdout).toContain("Exit codes:\n  0  printed or done\n");
  });

  test("flags of the cluster may stand before or behind the command", async () => {
    const world = waitingWorld();
    for (const argv of [
      ["-n", "shop", "plan", "orders"],
      ["plan", "orders", "-n", "shop"],
    ]) {
      expect((await run(world, argv)).code).toBe(0);
    }
    expect((await run(world, ["plan", "orders", "-n", "elsewhere"])).code).toBe(3);
  });

  test("explain and version need no cluster", async () => {
    const ran = await run(waitingWorld(), ["explain", "AwaitingApproval"]);
    expect(ran.stdout).toContain("Next:           kubectl ptah plan NAME, then kubectl ptah approve NAME");
    const version = await run(waitingWorld(), ["version", "-o", "json"]);
    expect(JSON.parse(version.stdout)).toMatchObject({ version: 1, kind: "Version" });
    expect([...ran.requests, ...version.requests]).toEqual([]);
    expect((await run(waitingWorld(), ["explain", "Nonsense"])).code).toBe(3);
  });
});
