import { afterAll, beforeAll, expect, test } from "bun:test";
import { waitFor } from "../../cluster/wait.ts";
import { type Database, startDatabase } from "../../lab/database.ts";
import { LOGGED } from "../../lab/evidence.ts";
import { holdTable } from "../../lab/held-table.ts";
import { type HostManagers, takeOver } from "../../lab/host-manager.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../../lab/lab.ts";
import { declareMigration, inSync, journalOf, migration, runEnded, sent } from "../../lab/migrations.ts";
import { applyPod } from "../../lab/operation-pod.ts";
import { approve, waitForPhase } from "../../lab/subject.ts";

/** A finished Job and its Pod are gone before any manager looked at them. */

const NAMESPACE = "job-gone";
const at = migration(NAMESPACE, "orders");
const VERSIONS = { 1: "ALTER /* run-1 */ TABLE orders ADD COLUMN note text;\n" };
const SHORT = { execution: { activeDeadlineSeconds: 60 }, policy: { lockTimeout: "30s" } };
const WITHIN = { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs };

let lab: Lab;
let server: Database;
let managers: HostManagers;

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  await server.sql("create table orders (id bigint primary key)");
  managers = await takeOver(lab, { namespace: NAMESPACE });
  managers.start();
}, LAB_LIMITS.setUpMs);

afterAll(async () => {
  await managers.close();
}, LAB_LIMITS.setUpMs);

test("the run is unknown, is not repeated and not waited for without end: a reading settles it (T23 argo-cd#21055)", async () => {
  await declareMigration(lab, at, server, VERSIONS, SHORT);
  await waitForPhase(lab, at, "AwaitingApproval");
  const held = await holdTable(server, "orders");
  await approve(lab, at, "orders");
  await held.waitedFor();
  const pod = await applyPod(lab, at);
  const job = pod.metadata.labels?.["batch.kubernetes.io/job-name"] ?? "";
  await managers.kill();
  await held.letGo();
  await waitFor("the Job to end", async () => (await lab.get("job", job, NAMESPACE))?.status?.succeeded === 1, WITHIN);
  await lab.must(["delete", "job", job, "-n", NAMESPACE, "--wait=true"]);
  await waitFor("its Pod to go", async () => !(await lab.get("pod", pod.metadata.name, NAMESPACE)), WITHIN);
  managers.start();

  const unknown = await runEnded(lab, at, "Unknown");
  const { operationID } = unknown.status.lastRun;
  const synced = await inSync(lab, at);
  expect(synced.status.resolvedRun).toMatchObject({ operationID, resolution: "Reading" });
  expect(synced.status.history).toMatchObject({ currentVersion: 1, pendingCount: 0 });
  expect(journalOf(synced).filter((type) => type === "RunFinished")).toHaveLength(1);
  expect(await sent(server, "run-1 ")).toHaveLength(1);
  expect(managers.said()).not.toContain(server.password);
});
