import { expect, test } from "bun:test";
import { startDatabase } from "../lab/database.ts";
import { freshNamespace, openLab } from "../lab/lab.ts";
import { declareResource, onDatabase, waitForPhase } from "../lab/subject.ts";

/** The whole path of a change driven by kubectl ptah alone, on a real cluster and a real database. */

const NAMESPACE = "plugin-path";
const WAIT_MS = 200_000;
const FILES = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(10,2) NOT NULL);" };

test("a person reads, approves, refreshes and looks back with kubectl ptah", async () => {
  const lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  const database = await startDatabase(lab, { namespace: NAMESPACE, major: 15 });
  const at = { namespace: NAMESPACE, name: "orders" };
  const ptah = (...args: readonly string[]) => lab.ptah([...args, "-n", NAMESPACE], { timeoutMs: WAIT_MS });
  await declareResource(lab, onDatabase(database, at.name, FILES));

  const waited = await ptah("wait", "orders", "--for", "AwaitingApproval", "--wait-timeout", "3m");
  expect([waited.code, waited.stdout]).toEqual([0, "orders is AwaitingApproval\n"]);
  const plan = await ptah("plan", "orders");
  expect(plan.stdout).toContain("Destructive:    false");
  expect(plan.stdout).toContain('CREATE TABLE "public"."orders"');
  expect((await ptah("wait", "orders")).stderr).toContain("kubectl ptah approve orders");

  const script = await ptah("plan", "orders", "-o", "sql");
  expect(script.code).toBe(0);
  const stranger = await ptah("approve", "orders", "--yes", "--as", "nobody");
  expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining('User "nobody" cannot get resource')]);
  const unasked = await ptah("approve", "orders");
  expect([unasked.code, await lab.list("ptahschemaapproval", NAMESPACE)]).toEqual([2, []]);
  const approved = await ptah("approve", "orders", "--yes", "--wait", "--wait-timeout", "3m");
  expect(approved.stderr).toContain("orders: InSync");
  expect(approved.stdout).toEndWith("orders is in sync: the plan was applied, and a fresh read proved it\n");
  expect(approved.code).toBe(0);
  expect((await database.sql("select count(*) from orders")).trim()).toBe("0");

  const applied = await ptah("plan", "orders", "--applied", "-o", "sql");
  expect(applied.stdout).toBe(script.stdout);
  expect((await ptah("plan", "orders")).code).toBe(3);

  await database.sql("alter table orders add column surprise text");
  const refreshed = await ptah("refresh", "schema/orders", "--wait", "--wait-timeout", "3m");
  expect(refreshed.code).toBe(0);
  expect(refreshed.stdout).toContain("the database was read: orders is Blocked (PolicyBlocked)");
  const drifted = await waitForPhase(lab, at, "Blocked");
  expect(drifted.status.conditions).toContainEqual(
    expect.objectContaining({ type: "Ready", reason: "PolicyBlocked", status: "False" }),
  );
  const shown = await ptah("schema", "orders");
  expect(shown.stdout).toContain("destructive");
  const refused = await ptah("approve", "orders", "--yes");
  expect([refused.code, (await lab.list("ptahschemaapproval", NAMESPACE)).length]).toEqual([1, 1]);

  const journal = JSON.parse((await ptah("journal", "orders", "-o", "json")).stdout);
  const types = journal.entries.map((entry: { type: string }) => entry.type);
  expect(types).toEqual(["PlanPublished", "ApprovalAccepted", "ApplyFinished", "Verified", "PlanPublished"]);
});
