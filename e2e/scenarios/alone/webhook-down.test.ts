import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Database, startDatabase } from "../../lab/database.ts";
import { LOGGED, statementsOn } from "../../lab/evidence.ts";
import { scaleOperator } from "../../lab/host-manager.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../../lab/lab.ts";
import { approvalObject, approve, conditionOf, declareResource, onDatabase, waitForPhase } from "../../lab/subject.ts";

/** Without the webhook nobody can approve and nothing new starts; once it is back everything goes on by itself. */

const NAMESPACE = "webhook-down";
const REPLICAS = 2;
const at = { namespace: NAMESPACE, name: "orders" };

let lab: Lab;
let database: Database;

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  database = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  const files = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY);" };
  await declareResource(lab, onDatabase(database, at.name, files));
  await waitForPhase(lab, at, "AwaitingApproval");
  await scaleOperator(lab, "webhook", 0);
}, LAB_LIMITS.setUpMs);

afterAll(() => scaleOperator(lab, "webhook", REPLICAS), LAB_LIMITS.setUpMs);

test("an approval is refused, fail-closed, and nothing runs", async () => {
  const schema = await waitForPhase(lab, at, "AwaitingApproval");
  const refused = await lab.kubectl(["create", "-f", "-"], { input: JSON.stringify(approvalObject(schema, "early")) });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("failed calling webhook");
  expect(await lab.list("ptahschemaapproval", NAMESPACE)).toEqual([]);
  expect(await statementsOn(database, /CREATE TABLE/i)).toEqual([]);
});

test("a declaration cannot be changed meanwhile, nor can one slip past", async () => {
  const edit = '{"spec":{"policy":{"apply":"Always"}}}';
  const refused = await lab.kubectl(["patch", "ptahschema", at.name, "-n", NAMESPACE, "--type=merge", "-p", edit]);
  expect(refused.stderr).toContain("failed calling webhook");
});

test("a Job that cannot be admitted is said, and the webhook's return is enough", async () => {
  await lab.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "orders-sql", namespace: NAMESPACE },
    data: { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, note text);" },
  });
  const failed = await waitForPhase(lab, at, "Failed");
  expect(conditionOf(failed, "Ready")).toMatchObject({ status: "False", reason: "OperationFailed" });
  expect(conditionOf(failed, "Ready")?.message).toContain("a webhook that it asks did not answer");
  await scaleOperator(lab, "webhook", REPLICAS);
  await approve(lab, at, "orders");
  await waitForPhase(lab, at, "InSync");
  expect(await statementsOn(database, /CREATE TABLE/i)).toHaveLength(1);
});
