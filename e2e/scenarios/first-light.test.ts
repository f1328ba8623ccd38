import { describe, expect, test } from "bun:test";
import { startDatabase } from "../lab/database.ts";
import { freshNamespace, openLab } from "../lab/lab.ts";
import { approve, conditionOf, declareResource, onDatabase, waitForCondition, waitForPhase } from "../lab/subject.ts";

const V1 = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(10,2) NOT NULL);" };
const V2 = {
  "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(10,2) NOT NULL, note text);",
};

describe.each([15, 17] as const)("a declared schema on PostgreSQL %d", (major) => {
  const namespace = `first-light-${major}`;
  const at = { namespace, name: "orders" };

  test("waits for a person, applies once, is proved, and waits again for the next change", async () => {
    const lab = await openLab();
    await freshNamespace(lab, namespace);
    const database = await startDatabase(lab, { namespace, major });
    const options = onDatabase(database, at.name, V1);
    await declareResource(lab, options);
    await approve(lab, at, "orders-v1");
    const synced = await waitForCondition(lab, at, { type: "InSync", status: "True", reason: "ScopedConverged" });
    expect(synced.status.applied.planRef.name).toStartWith("ptah-plan-");
    expect(synced.status.target.serverMajor).toBe(major);
    await database.sql("insert into orders values (1, 9.5)");

    await declareResource(lab, { ...options, files: V2 });
    const waiting = await waitForPhase(lab, at, "AwaitingApproval");
    expect(waiting.status.plan.fingerprint).not.toBe(synced.status.applied.planFingerprint);
    const spent = await lab.get("ptahschemaapproval", "orders-v1", namespace);
    expect(conditionOf(spent, "Consumed")).toMatchObject({ status: "True", reason: "DispatchCommitted" });
    expect(conditionOf(spent, "Stale")).toMatchObject({ status: "True", reason: "PlanNoLongerCurrent" });
    const columns = "select count(*) from information_schema.columns where table_name = 'orders'";
    expect((await database.sql(columns)).trim()).toBe("2");

    await approve(lab, at, "orders-v2");
    await waitForPhase(lab, at, "InSync");
    expect((await database.sql("select id, total, note is null from orders")).trim()).toBe("1|9.50|t");
  });
});
