import { beforeAll, describe, expect, test } from "bun:test";
import { waitFor } from "../cluster/wait.ts";
import { addDatabase, type Database, startDatabase } from "../lab/database.ts";
import { LOGGED, statementsOn } from "../lab/evidence.ts";
import { holdTable } from "../lab/held-table.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import { approve, conditionOf, declareResource, waitForPhase, waitForResource } from "../lab/subject.ts";

/** A person changes their mind while an Apply runs: it is seen to its end, and what it did is proved before anything else. */

const NAMESPACE = "running-apply";
const at = (name: string) => ({ namespace: NAMESPACE, name });
const BEFORE = "create table orders (id bigint primary key)";
const FILES = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, note text);" };

let lab: Lab;
let server: Database;

const change = (name: string, suspend: boolean) =>
  lab.must(["patch", "ptahschema", name, "-n", NAMESPACE, "--type=merge", "-p", `{"spec":{"suspend":${suspend}}}`]);

/** An Apply that stands at its one statement until the table is let go. */
async function standingApply(name: string): Promise<{ database: Database; letGo: () => Promise<void> }> {
  const database = await addDatabase(lab, server, name);
  await database.sql(BEFORE);
  await declareResource(lab, { ...at(name), files: FILES, secret: database.secret, policy: { lockTimeout: "120s" } });
  await waitForPhase(lab, at(name), "AwaitingApproval");
  const held = await holdTable(database, "orders");
  await approve(lab, at(name), name);
  await held.waitedFor();
  return { database, letGo: held.letGo };
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
}, LAB_LIMITS.setUpMs);

describe("suspended while its Apply runs", () => {
  test("the Apply ends, the proof is owed and said so, and is given once resumed", async () => {
    const { letGo } = await standingApply("suspended");
    await change("suspended", true);
    await waitForResource(lab, at("suspended"), "the Apply going on", (s) => s.status.phase === "Applying");
    await letGo();
    const owing = await waitForPhase(lab, at("suspended"), "Suspended");
    expect(owing.status.pendingObservation).toBeDefined();
    await change("suspended", false);
    await waitForPhase(lab, at("suspended"), "InSync");
    expect(await statementsOn(server, /ADD COLUMN/i, "suspended")).toHaveLength(1);
  });
});

describe("deleted while what its Apply did is not proved", () => {
  test("it stays until a person settles it, says how, and undoes nothing", async () => {
    const { database, letGo } = await standingApply("deleted");
    await change("deleted", true);
    await letGo();
    await waitForPhase(lab, at("deleted"), "Suspended");
    await lab.must(["delete", "ptahschema", "deleted", "-n", NAMESPACE, "--wait=false"]);
    const told = await waitForResource(lab, at("deleted"), "how to end it", (s) =>
      /settle/.test(conditionOf(s, "Ready")?.message ?? ""),
    );
    expect(told.metadata.deletionTimestamp).toBeDefined();
    const settled = await lab.ptah(["settle", "deleted", "-n", NAMESPACE, "--yes"]);
    expect([settled.code, settled.stderr]).toEqual([0, expect.any(String)]);
    await waitFor("the resource to go", async () => (await lab.get("ptahschema", "deleted", NAMESPACE)) === undefined, {
      timeoutMs: 60_000,
    });
    expect(await statementsOn(server, /ADD COLUMN/i, "deleted")).toHaveLength(1);
    expect((await database.sql("select count(*) from orders where note is null")).trim()).toBe("0");
  });
});
