import { beforeAll, describe, expect, test } from "bun:test";
import { addDatabase, type Database, startDatabase } from "../lab/database.ts";
import { LOGGED, statementsOn } from "../lab/evidence.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  approvalObject,
  approve,
  conditionOf,
  declareResource,
  type ResourceOptions,
  resourceObject,
  waitForCondition,
  waitForPhase,
  waitForResource,
} from "../lab/subject.ts";

/** What is declared and cannot, may not or must not be done: Blocked by name, before any statement. */

const NAMESPACE = "refused-declarations";
const at = (name: string) => ({ namespace: NAMESPACE, name });
const ORDERS = "CREATE TABLE orders (id bigint PRIMARY KEY, note text);";
const WITHOUT_NOTE = "CREATE TABLE orders (id bigint PRIMARY KEY);";

let lab: Lab;
let server: Database;

async function declare(name: string, files: Record<string, string>, more: Partial<ResourceOptions> = {}, before = "") {
  const database = await addDatabase(lab, server, name);
  if (before !== "") await database.sql(before);
  await declareResource(lab, { namespace: NAMESPACE, name, files, secret: database.secret, ...more });
  return database;
}

/** What Ready says once the schema stands Blocked for this reason. */
async function blocked(name: string, reason: string): Promise<string> {
  const schema = await waitForCondition(lab, at(name), { type: "Ready", status: "False", reason });
  expect(schema.status.phase).toBe("Blocked");
  // apply: Never is a choice, not a fault: nothing is stalled.
  if (reason !== "ApplyDisabled") expect(conditionOf(schema, "Stalled")).toMatchObject({ status: "True", reason });
  expect(
    await lab.list("job", NAMESPACE, `operator.ptah.run/operation=apply,operator.ptah.run/schema=${name}`),
  ).toEqual([]);
  return conditionOf(schema, "Ready")?.message ?? "";
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  await declare("syntax", { "a-tables.sql": "CREATE TABLE fine (id int);\n\nCREATE TABEL orders (id int);\n" });
  await declare("extension", { "geo.sql": "CREATE EXTENSION postgis;" });
  const fenced = { policy: { protectedTables: ["orders"], allowDestructive: true } };
  await declare("protected", { "orders.sql": WITHOUT_NOTE }, fenced, ORDERS);
  await declare("destructive", { "orders.sql": WITHOUT_NOTE }, {}, `${ORDERS} insert into orders values (1, 'kept');`);
  await declare("never", { "orders.sql": ORDERS }, { policy: { apply: "Never" } });
}, LAB_LIMITS.setUpMs);

describe("a declaration that cannot be planned", () => {
  test("a syntax error is named by file and line", async () => {
    const said = await blocked("syntax", "PlanRefused");
    expect(said).toContain('a-tables.sql:3: syntax error at or just before "TABEL"; correct the file');
  });

  test("an extension that the scratch image lacks is named", async () => {
    const said = await blocked("extension", "PlanRefused");
    expect(said).toContain("postgis");
    expect(said).toContain("use a scratch image that has it, or set spec.dev");
  });
});

describe("a change that policy refuses", () => {
  test("a protected table is named, and no plan of it exists", async () => {
    const said = await blocked("protected", "ProtectedTable");
    expect(said).toContain("public.orders");
    const plans = await lab.list("ptahschemaplan", NAMESPACE);
    expect(plans.filter((plan) => plan.spec.schemaRef.name === "protected")).toEqual([]);
  });

  test("apply: Never records the plan, and nobody's approval runs it", async () => {
    await blocked("never", "ApplyDisabled");
    const schema = (await lab.get("ptahschema", "never", NAMESPACE)) as KubeObject;
    const refused = await lab.kubectl(["create", "-f", "-"], {
      input: JSON.stringify(approvalObject(schema, "never")),
    });
    expect(refused.stderr).toContain("spec.policy.apply is Never");
  });

  test("a destructive plan is blocked, then allowed, then still needs a person", async () => {
    const said = await blocked("destructive", "PolicyBlocked");
    expect(said).toContain("allowDestructive");
    const files = { "orders.sql": WITHOUT_NOTE };
    const allowed = { apply: "Always", allowDestructive: true };
    await declareResource(lab, { ...at("destructive"), files, secret: "destructive-url", policy: allowed });
    const waiting = await waitForPhase(lab, at("destructive"), "AwaitingApproval");
    expect(waiting.status.plan.destructive).toBe(true);
    expect(await statementsOn(server, /DROP COLUMN/i, "destructive")).toEqual([]);
    await approve(lab, at("destructive"), "destructive");
    await waitForPhase(lab, at("destructive"), "InSync");
    expect(await statementsOn(server, /DROP COLUMN/i, "destructive")).toHaveLength(1);
  });
});

describe("what this version does not run", () => {
  const target = (engine: string) => ({ engine, coordinationKey: "unsupported", urlFrom: { name: "x", key: "url" } });
  const declared = (name: string, engine: string, desired: object) => ({
    ...resourceObject({ namespace: NAMESPACE, name, files: {}, secret: "x" }),
    spec: { target: target(engine), desired },
  });

  test.each([
    ["mysql", declared("mysql", "MySQL", { configMap: { name: "x" } }), "UnsupportedEngine", "MySQL"],
    [
      "oci",
      declared("oci", "PostgreSQL", {
        ociRef: "oci://registry.example/schema:v1",
        verificationPolicyFrom: { name: "policy", key: "policy" },
      }),
      "UnsupportedSource",
      "ociRef",
    ],
    [
      "git",
      declared("git", "PostgreSQL", { git: { repository: "https://git.example/schema", ref: "main" } }),
      "UnsupportedSource",
      "git",
    ],
  ])("%s is refused by its name", async (name, object, reason, word) => {
    await lab.apply(object);
    expect(await blocked(name, reason)).toContain(word);
  });
});

describe("two resources on one database realm", () => {
  const shared = (name: string, more: Partial<ResourceOptions> = {}) =>
    declareResource(lab, {
      ...at(name),
      files: { "t.sql": `CREATE TABLE ${name} (id int);` },
      secret: "shared-realm-url",
      coordinationKey: "one-database",
      ...more,
    });

  test("block each other by name until one of them gives way", async () => {
    await addDatabase(lab, server, "shared_realm");
    await shared("first", { suspend: true });
    await waitForPhase(lab, at("first"), "Suspended");
    await shared("second");
    await waitForPhase(lab, at("second"), "AwaitingApproval");
    await shared("first");
    expect(await blocked("first", "RealmConflict")).toContain(`${NAMESPACE}/second`);
    await waitForCondition(lab, at("second"), { type: "Ready", status: "False", reason: "RealmConflict" });
    await shared("second", { suspend: true });
    await waitForPhase(lab, at("second"), "Suspended");
    await waitForResource(lab, at("first"), "going on alone", (s) => s.status.phase === "AwaitingApproval");
  });
});
