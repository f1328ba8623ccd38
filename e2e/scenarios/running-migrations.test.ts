import { beforeAll, describe, expect, test } from "bun:test";
import { waitFor } from "../cluster/wait.ts";
import { addDatabase, type Database, secretObject, startDatabase } from "../lab/database.ts";
import { LOGGED } from "../lab/evidence.ts";
import { type HeldTable, holdTable } from "../lab/held-table.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  byHand,
  declareMigration,
  type Files,
  inSync,
  type Migration,
  migration,
  refresh,
  runEnded,
  runsOf,
  sent,
} from "../lab/migrations.ts";
import { applyPod, killExecutor } from "../lab/operation-pod.ts";
import { approve, conditionOf, type ResourceOptions, waitForPhase, waitForResource } from "../lab/subject.ts";

/** What people do while a run is under way, or before one is accounted for: the run is seen to its end, and never forgotten. */

const NAMESPACE = "running-migrations";
const LEAVING = "leaving-migrations";
const MANAGER = "system:serviceaccount:ptah-system:ptah-operator-manager";
const at = (name: string) => migration(NAMESPACE, name);
const BASE = "create table orders (id bigint primary key)";
const VERSIONS: Files = { 1: "ALTER /* run-1 */ TABLE orders ADD COLUMN note varchar(40);\n" };
/** A restored record holds for the whole Lease of its run. */
const SHORT = { execution: { activeDeadlineSeconds: 60 }, policy: { lockTimeout: "30s" } };
const WITHIN = { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs };

let lab: Lab;
let server: Database;

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  await freshNamespace(lab, LEAVING);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
}, LAB_LIMITS.setUpMs);

/** A run that stands at its one statement, on a database of its own. */
async function standing(
  subject: Migration,
  more: Partial<ResourceOptions> = {},
): Promise<{ readonly database: Database; readonly held: HeldTable }> {
  const database = await addDatabase(lab, server, subject.name);
  await database.sql(BASE);
  if (subject.namespace !== NAMESPACE) await lab.apply(secretObject(subject.namespace, database.secret, database.url));
  await declareMigration(lab, subject, database, VERSIONS, more);
  await waitForPhase(lab, subject, "AwaitingApproval");
  const held = await holdTable(database, "orders");
  await approve(lab, subject, subject.name);
  await held.waitedFor();
  return { database, held };
}

const once = async (name: string) => expect(await sent(server, "run-1 ", name)).toHaveLength(1);
const gone = (subject: Migration) => async () =>
  (await lab.get("ptahmigration", subject.name, subject.namespace)) === undefined;

test.concurrent("suspended while it runs: the run ends and is told, and is read back once resumed", async () => {
  const name = "suspended";
  const suspend = (suspended: boolean) =>
    lab.must([
      "patch",
      "ptahmigration",
      name,
      "-n",
      NAMESPACE,
      "--type=merge",
      "-p",
      `{"spec":{"suspend":${suspended}}}`,
    ]);
  const { held } = await standing(at(name));
  await suspend(true);
  await waitForResource(lab, at(name), "the run going on", ({ status }) => status.phase === "Applying");
  await held.letGo();
  const told = await waitForPhase(lab, at(name), "Suspended");
  expect(told.status.lastRun).toMatchObject({ outcome: "Applied", appliedVersions: [1] });
  expect(told.status.lastRun.verification).toBeUndefined();
  await suspend(false);
  const synced = await inSync(lab, at(name));
  expect(synced.status.lastRun.verification).toMatchObject({ outcome: "InSync", reason: "HistoryMatched" });
  await once(name);
});

describe("deleted while it runs", () => {
  test.concurrent("it stays until the run has ended, and undoes nothing", async () => {
    const name = "deleted";
    const { database, held } = await standing(at(name));
    await lab.must(["delete", "ptahmigration", name, "-n", NAMESPACE, "--wait=false"]);
    await waitForResource(
      lab,
      at(name),
      "the deletion asked",
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    await held.letGo();
    await waitFor("the resource to go", gone(at(name)), WITHIN);
    expect((await database.sql("select state from schema_migrations where version = 1")).trim()).toBe("applied");
    await once(name);
  });

  test.concurrent("with its namespace, and unknown: both stay until a person settles it", async () => {
    const subject = migration(LEAVING, "leaving");
    const { held } = await standing(subject);
    killExecutor(await applyPod(lab, subject));
    await lab.must(["delete", "namespace", LEAVING, "--wait=false"]);
    await held.letGo();
    const unknown = await waitForResource(lab, subject, "the record of the run", ({ status }) => status.unresolvedRun);
    expect(unknown.status.unresolvedRun.outcome).toBe("Unknown");
    await waitForResource(lab, subject, "how to end it", (resource) => {
      const told = /kubectl ptah settle/.test(conditionOf(resource, "Ready")?.message ?? "");
      return resource.metadata.deletionTimestamp !== undefined && told;
    });
    expect((await lab.get("namespace", LEAVING))?.metadata.deletionTimestamp).toBeDefined();
    const settled = await lab.ptah(["settle", `migration/${subject.name}`, "-n", LEAVING, "--yes"]);
    expect([settled.code, settled.stderr]).toEqual([0, expect.any(String)]);
    await waitFor("the namespace to go", async () => (await lab.get("namespace", LEAVING)) === undefined, WITHIN);
    await once(subject.name);
  });
});

test.concurrent("restored without its status while a run is not accounted for: the hold is there again, until a reading settles it", async () => {
  const name = "restored";
  const { database, held } = await standing(at(name), SHORT);
  killExecutor(await applyPod(lab, at(name)));
  await held.letGo();
  const before = await runEnded(lab, at(name), "Unknown");
  const { operationID } = before.status.unresolvedRun;

  await lab.must(["delete", "ptahmigration", name, "-n", NAMESPACE, "--wait=false"]);
  const bare = [
    "patch",
    "ptahmigration",
    name,
    "-n",
    NAMESPACE,
    "--type=merge",
    "-p",
    '{"metadata":{"finalizers":null}}',
  ];
  await lab.must([...bare, `--as=${MANAGER}`, "--as-group=system:masters"]);
  await waitFor("the loss of the resource", gone(at(name)), WITHIN);
  const { apiVersion, kind, spec, metadata } = before as typeof before & { apiVersion: string };
  const { annotations } = metadata;
  const restored = { apiVersion, kind, spec, metadata: { name, namespace: NAMESPACE, annotations } };
  await lab.must(["create", "-f", "-"], { input: JSON.stringify(restored) });

  const again = await waitForResource(lab, at(name), "the hold put back", ({ status }) => status?.unresolvedRun);
  expect(again.metadata.uid).not.toBe(before.metadata.uid);
  expect(again.status.unresolvedRun).toMatchObject({ operationID, outcome: "Unknown", restored: true });
  expect(runsOf(again)).toMatchObject([{ operationID, outcome: "Unknown" }]);
  await waitForPhase(lab, at(name), "Blocked");
  await database.sql("alter table orders add column if not exists note varchar(40)");
  await byHand(lab, database, VERSIONS, "repair", "--version", "1", "--force");
  await refresh(lab, at(name));
  const synced = await inSync(lab, at(name));
  expect(synced.status.unresolvedRun).toBeUndefined();
  expect(synced.status.resolvedRun).toMatchObject({ operationID, resolution: "Reading" });
  await once(name);
});
