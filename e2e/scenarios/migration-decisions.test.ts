import { beforeAll, describe, expect, test } from "bun:test";
import { waitFor } from "../cluster/wait.ts";
import { addDatabase, type Database, secretObject, startDatabase } from "../lab/database.ts";
import { LOGGED } from "../lab/evidence.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import { applied, byHand, declareMigration, type Files, migration, runsOf, sent } from "../lab/migrations.ts";
import { approvalObject, approve, conditionOf, waitForPhase, waitForResource } from "../lab/subject.ts";

/** An approval is of one sequence on one history of one database: whatever moves before the run, nothing else is run. */

const NAMESPACE = "migration-decisions";
const at = (name: string) => migration(NAMESPACE, name);
const TWO: Files = {
  1: "CREATE /* step-1 */ TABLE one (id bigint PRIMARY KEY);\n",
  2: "CREATE /* step-2 */ TABLE two (id bigint PRIMARY KEY);\n",
};
const THREE: Files = { ...TWO, 3: "CREATE /* step-3 */ TABLE three (id bigint PRIMARY KEY);\n" };
/** Long enough that the phase Failed is seen before the next attempt. */
const EXECUTION = { failureRetryInterval: "15s" };
/** What the executor locks under on PostgreSQL. */
const MIGRATION_LOCK = "2705505214";

let lab: Lab;
let server: Database;

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
}, LAB_LIMITS.setUpMs);

/** The run was refused before it selected anything: Failed, nothing applied, nothing held. */
async function refused(name: string, why: string): Promise<KubeObject> {
  const failed = await waitForResource(lab, at(name), "the refused run", ({ status }) => {
    return status.phase === "Failed" && status.lastRun !== undefined;
  });
  expect(failed.status.lastRun).toMatchObject({ outcome: "Failed", message: expect.stringContaining(why) });
  expect(failed.status.lastRun.appliedVersions ?? []).toEqual([]);
  expect(failed.status.lastRun.failure).toBeUndefined();
  expect(failed.status.unresolvedRun).toBeUndefined();
  expect(conditionOf(failed, "Ready")).toMatchObject({ status: "False", reason: "OperationFailed" });
  return failed;
}

/** After a refusal the database is read anew: another plan waits for a decision of its own. */
async function anotherWaits(name: string, before: KubeObject): Promise<KubeObject> {
  const next = await waitForResource(lab, at(name), "another plan that waits", ({ status, metadata }) => {
    const another = status.plan !== undefined && status.plan.uid !== before.status.plan.uid;
    return status.phase === "AwaitingApproval" && status.observedGeneration === metadata.generation && another;
  });
  expect(next.status.plan.fingerprint).not.toBe(before.status.plan.fingerprint);
  return next;
}

describe("a database restored backwards after the approval", () => {
  test.concurrent("is found out under the lock: nothing of the approved sequence runs", async () => {
    const name = "backwards";
    const database = await addDatabase(lab, server, name);
    await byHand(lab, database, TWO, "up");
    await declareMigration(lab, at(name), database, THREE, { execution: EXECUTION });
    const waiting = await waitForPhase(lab, at(name), "AwaitingApproval");
    expect(waiting.status.plan).toMatchObject({ stepCount: 1, currentVersion: 2 });

    const counts = (sql: string) => async () => Number((await database.sql(`select count(*) from ${sql}`)).trim()) > 0;
    const within = { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs };
    const holder = database
      .sql(`set application_name = 'holder'; select pg_advisory_lock(${MIGRATION_LOCK}); select pg_sleep(600)`)
      .catch(() => undefined);
    await waitFor("the migration lock", counts("pg_locks where locktype = 'advisory' and granted"), within);
    await approve(lab, at(name), name);
    const asking = `pg_stat_activity where datname = '${name}' and application_name <> 'holder' and query ~ 'advisory_lock'`;
    await waitFor("the run at the lock", counts(`${asking} and pid <> pg_backend_pid()`), within);
    await database.sql("drop table two; delete from schema_migrations where version = 2");
    await database.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holder'");
    await holder;

    await refused(name, "was approved for");
    expect(await sent(server, "step-3 ", name)).toEqual([]);
    const next = await anotherWaits(name, waiting);
    expect(next.status.plan).toMatchObject({ stepCount: 2, currentVersion: 1 });
    const synced = await applied(lab, at(name), `${name}-again`);
    expect(runsOf(synced).map((run) => run.outcome)).toEqual(["Failed", "Applied"]);
    expect(await sent(server, "step-3 ", name)).toHaveLength(1);
  });

  test.concurrent("from a backup of its files carries no lock and no right to run (T19 X-Road#3076)", async () => {
    const name = "backup";
    const mariadb = await startDatabase(lab, { namespace: NAMESPACE, engine: "mariadb", name });
    await byHand(lab, mariadb, { 1: TWO[1] ?? "" }, "up");
    const restore = await mariadb.backup();
    await byHand(lab, mariadb, TWO, "up");
    await declareMigration(lab, at(name), mariadb, THREE, { execution: EXECUTION });
    const waiting = await waitForPhase(lab, at(name), "AwaitingApproval");
    await restore();
    await approve(lab, at(name), name);
    await refused(name, "was approved for");
    expect(await sent(mariadb, "step-3 ")).toEqual([]);
    await anotherWaits(name, waiting);
    const synced = await applied(lab, at(name), `${name}-again`);
    expect(synced.status.history).toMatchObject({ currentVersion: 3, pendingCount: 0 });
    expect(await sent(mariadb, "step-3 ")).toHaveLength(1);
  });
});

test.concurrent("versions applied by hand between plan and approval are not applied again (T15 schemahero#140)", async () => {
  const name = "by_hand";
  const database = await addDatabase(lab, server, name);
  const resource = "by-hand";
  await declareMigration(lab, at(resource), database, THREE, { execution: EXECUTION });
  const waiting = await waitForPhase(lab, at(resource), "AwaitingApproval");
  await byHand(lab, database, TWO, "up");
  await approve(lab, at(resource), resource);
  await refused(resource, "was approved for");
  const next = await anotherWaits(resource, waiting);
  expect(next.status.plan).toMatchObject({ stepCount: 1, currentVersion: 2 });
  await applied(lab, at(resource), `${resource}-again`);
  for (const step of ["step-1 ", "step-2 ", "step-3 "]) expect(await sent(server, step, name)).toHaveLength(1);
});

test.concurrent("a Secret that points at another database after the approval: neither database is touched", async () => {
  const name = "repointed";
  const database = await addDatabase(lab, server, name);
  const other = await addDatabase(lab, server, "another");
  await declareMigration(lab, at(name), database, TWO, { execution: EXECUTION });
  const waiting = await waitForPhase(lab, at(name), "AwaitingApproval");
  await lab.apply(secretObject(NAMESPACE, database.secret, other.url));
  await approve(lab, at(name), name);
  const failed = await refused(name, "target");
  expect(failed.status.lastRun.targetIdentityDigest).not.toBe(waiting.status.plan.targetIdentityDigest);
  const next = await anotherWaits(name, waiting);
  expect(next.status.plan.targetIdentityDigest).not.toBe(waiting.status.plan.targetIdentityDigest);
  const spent = await lab.get("ptahmigrationapproval", name, NAMESPACE);
  expect(conditionOf(spent, "Stale")).toMatchObject({ status: "True", reason: "PlanNoLongerCurrent" });
  for (const untouched of [database, other]) expect(await sent(server, "step-", untouched.database)).toEqual([]);
});

test.concurrent("a deleted plan is made again under another identity, and its approval is void (T13 schemahero#1363)", async () => {
  const name = "plan_deleted";
  const resource = "plan-deleted";
  const database = await addDatabase(lab, server, name);
  const suspend = (suspended: boolean) =>
    lab.must([
      "patch",
      "ptahmigration",
      resource,
      "-n",
      NAMESPACE,
      "--type=merge",
      "-p",
      `{"spec":{"suspend":${suspended}}}`,
    ]);
  await declareMigration(lab, at(resource), database, TWO);
  await waitForPhase(lab, at(resource), "AwaitingApproval");
  await suspend(true);
  const before = await waitForPhase(lab, at(resource), "Suspended");
  await lab.must(["create", "-f", "-"], { input: JSON.stringify(approvalObject(before, resource)) });
  await lab.must(["delete", "ptahmigrationplan", before.status.plan.name, "-n", NAMESPACE]);
  await suspend(false);
  const after = await anotherWaits(resource, before);
  expect(await lab.get("ptahmigrationplan", after.status.plan.name, NAMESPACE)).toBeDefined();
  const approval = await lab.get("ptahmigrationapproval", resource, NAMESPACE);
  expect(conditionOf(approval, "Stale")).toMatchObject({ status: "True", reason: "PlanNoLongerCurrent" });
  expect(conditionOf(approval, "Consumed")).toBeUndefined();
  expect(await sent(server, "step-", name)).toEqual([]);
});
