import { beforeAll, describe, expect, test } from "bun:test";
import { addDatabase, type Database, startDatabase } from "../lab/database.ts";
import { LOGGED, statementsOn } from "../lab/evidence.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  approvalObject,
  approve,
  conditionOf,
  declareResource,
  sourceObject,
  waitForCondition,
  waitForPhase,
  waitForResource,
} from "../lab/subject.ts";

/** An approval is of one plan: whatever moves between the decision and the Apply, nothing of another plan runs. */

const NAMESPACE = "approvals";
const at = (name: string) => ({ namespace: NAMESPACE, name });
const A = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY);" };
const B = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, note text);" };

let lab: Lab;
let server: Database;
let drifted: Database;

const declare = (name: string, files: Readonly<Record<string, string>>) =>
  declareResource(lab, { ...at(name), files, secret: `${name}-url` });

const suspend = (name: string, suspended: boolean) =>
  lab.must(["patch", "ptahschema", name, "-n", NAMESPACE, "--type=merge", "-p", `{"spec":{"suspend":${suspended}}}`]);

/** Approves the plan that waits while nothing can start, so that what follows surely falls between approval and Apply. */
async function approveSuspended(name: string, approval: string): Promise<KubeObject> {
  await waitForPhase(lab, at(name), "AwaitingApproval");
  await suspend(name, true);
  const schema = await waitForPhase(lab, at(name), "Suspended");
  await lab.must(["create", "-f", "-"], { input: JSON.stringify(approvalObject(schema, approval)) });
  return schema;
}

/** Another plan than the one that was approved waits for a person. */
function anotherWaits(name: string, before: KubeObject): Promise<KubeObject> {
  return waitForResource(
    lab,
    at(name),
    "a new plan waiting for approval",
    (s) =>
      s.status.phase === "AwaitingApproval" &&
      s.status.observedGeneration === s.metadata.generation &&
      s.status.plan.uid !== before.status.plan.uid,
  );
}

async function expectVoid(approval: string): Promise<void> {
  const object = await lab.get("ptahschemaapproval", approval, NAMESPACE);
  expect(conditionOf(object, "Stale")).toMatchObject({ status: "True", reason: "PlanNoLongerCurrent" });
  expect(conditionOf(object, "Consumed")).toBeUndefined();
}

const ranOn = (name: string) => statementsOn(server, /CREATE TABLE|ALTER TABLE|DROP/i, name);

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  for (const name of ["edited", "deleted"]) await addDatabase(lab, server, name);
  drifted = await addDatabase(lab, server, "drifted_by_hand");
  await drifted.sql(A["orders.sql"]);
  await declare("edited", A);
  await declare("deleted", A);
  await declare("drifted-by-hand", B);
}, LAB_LIMITS.setUpMs);

describe("the declaration is edited between approval and Apply", () => {
  let first: KubeObject;

  test("nothing of the approved plan runs, and the new plan waits for its own approval", async () => {
    first = await approveSuspended("edited", "edited-a");
    await lab.apply(sourceObject({ ...at("edited"), files: B }));
    await suspend("edited", false);
    const second = await anotherWaits("edited", first);
    expect(second.status.plan.fingerprint).not.toBe(first.status.plan.fingerprint);
    await expectVoid("edited-a");
    expect(await ranOn("edited")).toEqual([]);
  });

  test("an approval of the replaced plan is refused, and says which plan stands", async () => {
    const stale = { ...(approvalObject(first, "edited-late") as object) };
    const refused = await lab.kubectl(["create", "-f", "-"], { input: JSON.stringify(stale) });
    expect(refused.code).not.toBe(0);
    const now = await lab.get("ptahschema", "edited", NAMESPACE);
    expect(refused.stderr).toContain(`plan "${now?.status.plan.name}" stands now`);
  });

  test("edited back, the old approval still authorises nothing; a new one runs the plan once", async () => {
    const second = (await lab.get("ptahschema", "edited", NAMESPACE)) as KubeObject;
    await lab.apply(sourceObject({ ...at("edited"), files: A }));
    const third = await anotherWaits("edited", second);
    expect(third.status.plan.contentDigest).toBe(first.status.plan.contentDigest);
    expect(third.status.plan.fingerprint).not.toBe(first.status.plan.fingerprint);
    await expectVoid("edited-a");
    expect(await ranOn("edited")).toEqual([]);
    await approve(lab, at("edited"), "edited-a-again");
    await waitForPhase(lab, at("edited"), "InSync");
    expect(await ranOn("edited")).toHaveLength(1);
  });
});

test("a deleted plan object is rebuilt under another identity, and its approval is void", async () => {
  const before = await approveSuspended("deleted", "deleted-a");
  await lab.must(["delete", "ptahschemaplan", before.status.plan.name, "-n", NAMESPACE]);
  await suspend("deleted", false);
  const after = await anotherWaits("deleted", before);
  expect(await lab.get("ptahschemaplan", after.status.plan.name, NAMESPACE)).toBeDefined();
  await expectVoid("deleted-a");
  expect(await ranOn("deleted")).toEqual([]);
});

test("a table changed by hand between plan and Apply makes the plan stale: the executor refuses before its first statement", async () => {
  const before = await waitForPhase(lab, at("drifted-by-hand"), "AwaitingApproval");
  await drifted.sql("alter table orders add column by_hand int");
  await approve(lab, at("drifted-by-hand"), "drifted-a");
  const blocked = await waitForCondition(lab, at("drifted-by-hand"), {
    type: "Ready",
    status: "False",
    reason: "PolicyBlocked",
  });
  expect(blocked.status.plan.uid).not.toBe(before.status.plan.uid);
  const ran = await ranOn("drifted_by_hand");
  expect(ran.filter((line) => /note/.test(line))).toEqual([]);
  const approval = await lab.get("ptahschemaapproval", "drifted-a", NAMESPACE);
  expect(conditionOf(approval, "Consumed")).toMatchObject({ status: "True" });
});
