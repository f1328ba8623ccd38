import { beforeAll, expect, test } from "bun:test";
import { type Database, startDatabase } from "../lab/database.ts";
import { LOGGED, statementsOn } from "../lab/evidence.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import { declareResource, waitForPhase, waitForResource } from "../lab/subject.ts";

/** apply: Always, in a namespace with a LimitRange and under restricted Pod security. */

const NAMESPACE = "automatic-changes";
const at = { namespace: NAMESPACE, name: "orders" };
const FILES = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, note text);" };

let lab: Lab;
let database: Database;

const declare = (files: Readonly<Record<string, string>>) =>
  declareResource(lab, { ...at, files, secret: database.secret, policy: { apply: "Always" } });

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  await lab.apply({
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "limits", namespace: NAMESPACE },
    spec: {
      limits: [
        {
          type: "Container",
          default: { cpu: "1", memory: "512Mi" },
          defaultRequest: { cpu: "10m", memory: "32Mi" },
          max: { cpu: "2", memory: "2Gi" },
        },
      ],
    },
  });
  database = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  await declare(FILES);
}, LAB_LIMITS.setUpMs);

test("a plan that nothing speaks against runs without a person, once", async () => {
  await waitForPhase(lab, at, "InSync");
  expect(await lab.list("ptahschemaapproval", NAMESPACE)).toEqual([]);
  expect(await statementsOn(database, /CREATE TABLE/i)).toHaveLength(1);
});

test("drift is found by a read that somebody asked for, and put right", async () => {
  await database.sql("drop table orders");
  await lab.must([
    "annotate",
    "ptahschema",
    at.name,
    "-n",
    NAMESPACE,
    `operator.ptah.run/read-requested-at=${new Date().toISOString()}`,
  ]);
  await waitForResource(
    lab,
    at,
    "the table back and proved",
    async (s) =>
      s.status.phase === "InSync" && (await database.sql("select to_regclass('orders') is not null")).trim() === "t",
  );
  expect(await statementsOn(database, /CREATE TABLE "public"/i)).toHaveLength(2);
});

test("who may do what still waits for a person", async () => {
  await database.sql("create role reader");
  await declare({ "orders.sql": `${FILES["orders.sql"]} GRANT SELECT ON orders TO reader;` });
  const waiting = await waitForPhase(lab, at, "AwaitingApproval");
  expect(waiting.status.plan.privilegeChanges).not.toEqual([]);
  expect(await statementsOn(database, /GRANT/i)).toEqual([]);
});
