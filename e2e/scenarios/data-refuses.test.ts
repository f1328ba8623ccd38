import { expect, test } from "bun:test";
import { startDatabase } from "../lab/database.ts";
import { LOGGED, statementsOn } from "../lab/evidence.ts";
import { freshNamespace, openLab } from "../lab/lab.ts";
import {
  approvalObject,
  approve,
  conditionOf,
  declareResource,
  onDatabase,
  waitForPhase,
  waitForResource,
} from "../lab/subject.ts";

/** A plan that only the rows can refuse: no reading of definitions knows it, so the Apply finds out and rolls back. */

const NAMESPACE = "data-refuses";
const at = { namespace: NAMESPACE, name: "orders" };
const BEFORE =
  "create table orders (id bigint primary key, note text); insert into orders values (1, null), (2, 'kept');";
const STRICT = {
  "a.sql": "CREATE TABLE audit (id bigint PRIMARY KEY);",
  "b.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, note text NOT NULL);",
};

test("NOT NULL over NULLs is rolled back whole, said by name, never run again, and decided anew", async () => {
  const lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  const database = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  await database.sql(BEFORE);
  await declareResource(lab, onDatabase(database, at.name, STRICT));
  const first = await approve(lab, at, "first");

  const again = await waitForResource(
    lab,
    at,
    "a fresh reading of what the Apply left, and a plan that waits again",
    (s) => s.status.phase === "AwaitingApproval" && s.status.plan.uid !== first.status.plan.uid,
  );
  expect(conditionOf(again, "ReconciliationFailed")).toMatchObject({ status: "True", reason: "ApplyOutcomeUnknown" });
  expect(conditionOf(again, "ReconciliationFailed")?.message).toContain("existing rows violate");
  const spent = await lab.get("ptahschemaapproval", "first", NAMESPACE);
  expect(conditionOf(spent, "Consumed")).toMatchObject({ status: "True" });
  const reused = await lab.kubectl(["create", "-f", "-"], { input: JSON.stringify(approvalObject(first, "reused")) });
  expect(reused.code).not.toBe(0);
  const left = "select to_regclass('audit') is null, (select count(*) from orders)";
  expect((await database.sql(left)).trim()).toBe("t|2");
  const tried = await statementsOn(database, /SET NOT NULL/i);
  expect(tried).toHaveLength(1);

  await database.sql("update orders set note = '' where note is null");
  await approve(lab, at, "second");
  await waitForPhase(lab, at, "InSync");
  expect(await statementsOn(database, /SET NOT NULL/i)).toHaveLength(2);
  expect((await database.sql("select to_regclass('audit') is null, (select count(*) from orders)")).trim()).toBe("f|2");
});
