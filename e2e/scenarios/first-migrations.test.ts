import { beforeAll, describe, expect, test } from "bun:test";
import { ENGINES } from "../cluster/database-pod.ts";
import { addDatabase, type Database, startDatabase } from "../lab/database.ts";
import { LOGGED } from "../lab/evidence.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  applied,
  byHand,
  declareMigration,
  type Files,
  journalOf,
  migration,
  refresh,
  runsOf,
  sent,
} from "../lab/migrations.ts";
import { approve, conditionOf, waitForPhase, waitForResource } from "../lab/subject.ts";

/** Pending versions wait for a person, run once, and are believed from a fresh reading: on every server there is. */

const NAMESPACE = "first-migrations";
const at = (name: string) => migration(NAMESPACE, name);

const VERSIONS: Files = {
  1: "CREATE /* step-1 */ TABLE accounts (id bigint PRIMARY KEY, name varchar(100) NOT NULL);\n",
  2: "CREATE /* step-2a */ TABLE postings (id bigint PRIMARY KEY, amount decimal(12, 2) NOT NULL);\nINSERT /* step-2b */ INTO accounts VALUES (1, 'cash');\n",
};
const NEXT: Files = { ...VERSIONS, 3: "ALTER /* step-3 */ TABLE accounts ADD COLUMN note varchar(40);\n" };
const STEPS = ["step-1 ", "step-2a ", "step-2b ", "step-3 "];

const SERVERS = [
  { name: "postgresql-15", engine: "postgresql", major: 15 },
  { name: "postgresql-17", engine: "postgresql", major: 17 },
  { name: "mariadb", engine: "mariadb" },
  { name: "mysql", engine: "mysql" },
] as const;
type ServerName = (typeof SERVERS)[number]["name"];

let lab: Lab;
const servers = new Map<ServerName, Database>();

function serverOf(name: ServerName): Database {
  const server = servers.get(name);
  if (server === undefined) throw new Error(`${name} did not start`);
  return server;
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  await Promise.all(
    SERVERS.map(async (server) => {
      const options = server.engine === "postgresql" ? { options: LOGGED } : {};
      const started = await startDatabase(lab, { namespace: NAMESPACE, ...server, ...options });
      servers.set(server.name, started);
      const version = (await started.sql("select version()")).trim();
      process.stdout.write(`${ENGINES[server.engine].label}: ${version}\n`);
    }),
  );
}, LAB_LIMITS.setUpMs);

describe("two pending versions", () => {
  test.concurrent.each(SERVERS.map((server) => [server.name]))(
    "on %s wait for a person, are applied once, and the next one waits again",
    async (name) => {
      const server = serverOf(name);
      await declareMigration(lab, at(name), server, VERSIONS);
      const waiting = await waitForPhase(lab, at(name), "AwaitingApproval");
      expect(waiting.status.history).toMatchObject({ currentVersion: 0, appliedCount: 0, pendingCount: 2 });
      expect(conditionOf(waiting, "ApprovalRequired")).toMatchObject({ status: "True", reason: "AwaitingApproval" });
      const plan = await lab.get("ptahmigrationplan", waiting.status.plan.name, NAMESPACE);
      expect(plan?.spec.migrations.map((step: { version: number }) => step.version)).toEqual([1, 2]);
      expect(await sent(server, "step-", server.database)).toEqual([]);

      const synced = await applied(lab, at(name), `${name}-1`);
      expect(conditionOf(synced, "Ready")).toMatchObject({ status: "True", reason: "HistoryMatched" });
      expect(synced.status.history).toMatchObject({ currentVersion: 2, appliedCount: 2, pendingCount: 0 });
      expect(synced.status.lastRun).toMatchObject({
        outcome: "Applied",
        authorization: "Approval",
        appliedVersions: [1, 2],
        verification: { outcome: "InSync" },
      });
      expect(journalOf(synced)).toEqual(["PlanPublished", "ApprovalAccepted", "RunFinished", "Verified"]);
      const joined = synced.status.journal.entries.slice(-2);
      for (const entry of joined) expect(entry.operationID).toBe(synced.status.lastRun.operationID);
      const spent = await lab.get("ptahmigrationapproval", `${name}-1`, NAMESPACE);
      expect(conditionOf(spent, "Consumed")).toMatchObject({ status: "True", reason: "DispatchCommitted" });

      await declareMigration(lab, at(name), server, NEXT);
      const next = await waitForResource(lab, at(name), "a plan of the third version", ({ status }) => {
        return status.phase === "AwaitingApproval" && status.plan?.fingerprint !== waiting.status.plan.fingerprint;
      });
      expect(next.status.plan).toMatchObject({ stepCount: 1, currentVersion: 2 });
      expect(await sent(server, "step-3 ", server.database)).toEqual([]);
      const third = await applied(lab, at(name), `${name}-2`);
      expect(third.status.history.revisions.map((row: { version: number }) => row.version)).toEqual([3, 2, 1]);
      expect(runsOf(third).map((run) => run.outcome)).toEqual(["Applied", "Applied"]);
      expect((await server.sql("select count(*) from accounts where note is null")).trim()).toBe("1");
      for (const step of STEPS) expect(await sent(server, step, server.database)).toHaveLength(1);
    },
  );
});

describe("a database that holds its tables already, and an empty history beside somebody else's schema", () => {
  test.concurrent.each([["postgresql-17"], ["mariadb"]] as const)(
    "on %s is read as it is, taken over by a baseline, and goes on from there (T3 atlas#3795, T5 atlas#2733)",
    async (serverName) => {
      const name = `adopted-${serverName}`;
      const server = serverOf(serverName);
      const database = await addDatabase(lab, server, name.replaceAll("-", "_"));
      const provider =
        server.engine === "postgresql" ? "create schema provider; create table provider.t (id int);" : "";
      await database.sql(`${provider} create table accounts (id bigint primary key, name varchar(100) not null)`);
      await declareMigration(lab, at(name), database, VERSIONS);
      const before = await waitForPhase(lab, at(name), "AwaitingApproval");
      expect(before.status.history).toMatchObject({ currentVersion: 0, pendingCount: 2 });

      await byHand(lab, database, VERSIONS, "baseline", "--version", "1");
      await database.sql("delete from schema_migrations");
      await refresh(lab, at(name));
      const empty = await waitForResource(lab, at(name), "the empty history read", ({ status }) => {
        return status.phase === "AwaitingApproval" && status.history.observedAt !== before.status.history.observedAt;
      });
      expect(empty.status.history).toMatchObject({ currentVersion: 0, pendingCount: 2 });

      await byHand(lab, database, VERSIONS, "baseline", "--version", "1");
      await refresh(lab, at(name));
      await waitForResource(lab, at(name), "a plan of what the baseline leaves", ({ status }) => {
        return status.phase === "AwaitingApproval" && status.plan?.currentVersion === 1 && status.plan.stepCount === 1;
      });
      const synced = await applied(lab, at(name), name);
      expect(synced.status.history).toMatchObject({ currentVersion: 2, appliedCount: 2, pendingCount: 0 });
      expect(await sent(server, "step-1 ", database.database)).toEqual([]);
      expect(await sent(server, "step-2a ", database.database)).toHaveLength(1);
    },
  );
});

test.concurrent("an index built concurrently, outside a transaction, does not wait for the migration lock (T21 flyway#1654)", async () => {
  const server = serverOf("postgresql-15");
  const database = await addDatabase(lab, server, "concurrently");
  await database.sql("create table accounts (id bigint primary key, name text)");
  const versions = { 1: "-- +ptah no_transaction\nCREATE INDEX CONCURRENTLY accounts_name ON accounts (name);\n" };
  await declareMigration(lab, at("concurrently"), database, versions);
  const synced = await applied(lab, at("concurrently"), "concurrently");
  expect(synced.status.lastRun).toMatchObject({ outcome: "Applied", appliedVersions: [1] });
  const valid = "select indisvalid from pg_index where indexrelid = 'accounts_name'::regclass";
  expect((await database.sql(valid)).trim()).toBe("t");
  expect(await sent(server, "CONCURRENTLY", "concurrently")).toHaveLength(1);
});

test.concurrent("annotations written without end while a run finishes keep nothing from ending well (T1 atlas#3733)", async () => {
  const name = "annotated";
  const database = await addDatabase(lab, serverOf("postgresql-15"), name);
  await declareMigration(lab, at(name), database, VERSIONS);
  await approve(lab, at(name), name);
  let writes = 0;
  const synced = await waitForResource(lab, at(name), "nothing pending", async ({ status }) => {
    for (let burst = 0; burst < 5; burst += 1) {
      await lab.must([
        "annotate",
        "ptahmigration",
        name,
        "-n",
        NAMESPACE,
        "--overwrite",
        `example.com/count=${++writes}`,
      ]);
    }
    return status.phase === "InSync";
  });
  expect(conditionOf(synced, "Ready")).toMatchObject({ status: "True", reason: "HistoryMatched" });
  expect(runsOf(synced).map((run) => run.outcome)).toEqual(["Applied"]);
  expect(await sent(serverOf("postgresql-15"), "step-1 ", name)).toHaveLength(1);
});
