import { beforeAll, expect, test } from "bun:test";
import { type Database, startDatabase } from "../lab/database.ts";
import { LOGGED } from "../lab/evidence.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  applied,
  byHand,
  declareMigration,
  type Files,
  inSync,
  journalOf,
  migration,
  refresh,
  runEnded,
  runsOf,
  sent,
} from "../lab/migrations.ts";
import { approve, conditionOf, waitForPhase, waitForResource } from "../lab/subject.ts";

/** A statement in the middle of a file is refused by the database: what is kept is told truly, and nothing goes on by itself. */

const NAMESPACE = "failed-migrations";
const at = (name: string) => migration(NAMESPACE, name);
const FIRST =
  "CREATE TABLE accounts (id bigint PRIMARY KEY, name varchar(40) NOT NULL);\nINSERT INTO accounts VALUES (1, 'cash');\n";
const BROKEN: Files = {
  1: FIRST,
  2: "ALTER /* half-1 */ TABLE accounts ADD COLUMN note varchar(40);\nINSERT /* half-2 */ INTO accounts (id, name) VALUES (1, 'again');\nUPDATE /* half-3 */ accounts SET note = 'done';\n",
};
const MENDED: Files = {
  1: FIRST,
  2: "ALTER /* mended-1 */ TABLE accounts ADD COLUMN note varchar(40);\nINSERT /* mended-2 */ INTO accounts (id, name) VALUES (2, 'again');\nUPDATE /* mended-3 */ accounts SET note = 'done';\n",
};
const OPEN: Files = {
  1: `${FIRST}INSERT INTO accounts VALUES (2, 'cash');\n`,
  2: "CREATE /* half-1 */ UNIQUE INDEX accounts_name ON accounts (name);\nUPDATE /* half-2 */ accounts SET name = 'done' WHERE id = 1;\n",
};
const OPEN_MENDED: Files = {
  ...OPEN,
  2: "CREATE /* mended-1 */ INDEX accounts_name ON accounts (name);\nUPDATE /* mended-2 */ accounts SET name = 'done' WHERE id = 1;\n",
};

let lab: Lab;
let postgres: Database;
let mariadb: Database;
let mysql: Database;

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  [postgres, mariadb, mysql] = await Promise.all([
    startDatabase(lab, { namespace: NAMESPACE, options: LOGGED }),
    startDatabase(lab, { namespace: NAMESPACE, engine: "mariadb" }),
    startDatabase(lab, { namespace: NAMESPACE, engine: "mysql" }),
  ]);
}, LAB_LIMITS.setUpMs);

const sentOnce = async (server: Database, remarks: readonly string[], times = 1) => {
  for (const remark of remarks) expect(await sent(server, remark)).toHaveLength(times);
};

test.concurrent("PostgreSQL rolls the file back: Failed, its row blocks, and the edited file needs its own approval", async () => {
  const name = "rolled-back";
  await declareMigration(lab, at(name), postgres, BROKEN);
  await approve(lab, at(name), `${name}-1`);
  const failed = await runEnded(lab, at(name), "Failed");
  expect(failed.status.lastRun).toMatchObject({
    appliedVersions: [1],
    failure: { version: 2, statement: 2, sqlState: "23505" },
    verification: { outcome: "Blocked", reason: "HistoryDirty" },
  });
  expect(failed.status.unresolvedRun).toBeUndefined();
  expect(failed.status.phase).toBe("Blocked");
  expect(failed.status.history.dirtyRevision).toEqual({ version: 2, applied: 0, total: 3 });
  const columns = "select count(*) from information_schema.columns where table_name = 'accounts'";
  expect((await postgres.sql(columns)).trim()).toBe("2");
  await sentOnce(postgres, ["half-1 ", "half-2 "]);

  await byHand(lab, postgres, BROKEN, "set", "--version", "1");
  await declareMigration(lab, at(name), postgres, MENDED);
  const waiting = await waitForPhase(lab, at(name), "AwaitingApproval");
  expect(waiting.status.plan).toMatchObject({ stepCount: 1, currentVersion: 1 });
  const synced = await applied(lab, at(name), `${name}-2`);
  expect(runsOf(synced).map((run) => run.outcome)).toEqual(["Failed", "Applied"]);
  await sentOnce(postgres, ["half-1 ", "half-2 ", "mended-1 ", "mended-2 ", "mended-3 "]);
  await sentOnce(postgres, ["half-3 "], 0);
});

test.concurrent("MariaDB keeps what it committed: Partial, held, repaired by hand, and settled by a reading", async () => {
  const name = "half-way";
  await declareMigration(lab, at(name), mariadb, BROKEN);
  await approve(lab, at(name), name);
  const held = await runEnded(lab, at(name), "Partial");
  const { lastRun, unresolvedRun, history } = held.status;
  expect(lastRun).toMatchObject({ appliedVersions: [1], failure: { version: 2, statement: 2, mysqlErrno: 1062 } });
  expect(unresolvedRun).toMatchObject({ outcome: "Partial", operationID: lastRun.operationID });
  expect(history.dirtyRevision).toEqual({ version: 2, applied: 1, total: 3 });
  expect(held.status.phase).toBe("Blocked");
  expect(conditionOf(held, "Ready")).toMatchObject({ status: "False", reason: "HistoryDirty" });
  expect(conditionOf(held, "Blocked")?.status).toBe("True");

  await mariadb.sql("insert into accounts (id, name) values (2, 'again'); update accounts set note = 'done'");
  await byHand(lab, mariadb, BROKEN, "repair", "--version", "2", "--force");
  await refresh(lab, at(name));
  const synced = await inSync(lab, at(name));
  expect(synced.status.unresolvedRun).toBeUndefined();
  expect(synced.status.resolvedRun).toMatchObject({ operationID: lastRun.operationID, resolution: "Reading" });
  expect(journalOf(synced)).toEqual(["PlanPublished", "ApprovalAccepted", "RunFinished", "Verified"]);
  await sentOnce(mariadb, ["half-1 ", "half-2 "]);
  await sentOnce(mariadb, ["half-3 "], 0);
});

test.concurrent("MySQL does not say what a stopped index left: Unknown; the file is edited, pending is told truly, and a person acknowledges (T9 atlas#2455)", async () => {
  const name = "unknown";
  await declareMigration(lab, at(name), mysql, OPEN);
  await approve(lab, at(name), `${name}-1`);
  const held = await runEnded(lab, at(name), "Unknown");
  const { operationID } = held.status.lastRun;
  expect(held.status.lastRun).toMatchObject({
    appliedVersions: [1],
    failure: { version: 2, statement: 1, mysqlErrno: 1062 },
  });
  expect(held.status.unresolvedRun).toMatchObject({ outcome: "Unknown", operationID });

  await declareMigration(lab, at(name), mysql, OPEN_MENDED);
  const edited = await waitForResource(lab, at(name), "the edited file read", ({ status, metadata }) => {
    return (
      status.observedGeneration === metadata.generation &&
      status.artifact?.contentDigest !== held.status.artifact.contentDigest &&
      status.activeOperation === undefined &&
      status.cycle?.next === undefined
    );
  });
  expect(edited.status).toMatchObject({
    phase: "Blocked",
    history: { currentVersion: 1, pendingCount: 1, dirty: true },
  });
  await byHand(lab, mysql, OPEN_MENDED, "set", "--version", "1");
  await refresh(lab, at(name));
  const pending = await waitForResource(lab, at(name), "the history without its dirty row", ({ status }) => {
    return status.history.dirty === undefined && status.activeOperation === undefined;
  });
  expect(pending.status).toMatchObject({
    phase: "Blocked",
    history: { pendingCount: 1 },
    unresolvedRun: { operationID },
  });
  expect(pending.status.plan).toBeUndefined();

  const unasked = await lab.ptah(["acknowledge", name, "-n", NAMESPACE]);
  expect([unasked.code, await lab.list("ptahmigrationrunacknowledgment", NAMESPACE)]).toEqual([2, []]);
  const said = await lab.ptah(["acknowledge", name, "-n", NAMESPACE, "--yes", "--wait"], {
    timeoutMs: LAB_LIMITS.convergenceMs,
  });
  expect([said.code, said.stdout]).toEqual([0, expect.stringContaining("version 2, statement 1")]);
  const waiting = await waitForPhase(lab, at(name), "AwaitingApproval");
  expect(waiting.status.resolvedRun).toMatchObject({ operationID, resolution: "Acknowledged" });
  const [acknowledgment] = await lab.list("ptahmigrationrunacknowledgment", NAMESPACE);
  expect(conditionOf(acknowledgment, "Consumed")).toMatchObject({ status: "True", reason: "RunAcknowledged" });
  await sentOnce(mysql, ["half-1 "]);

  const synced = await applied(lab, at(name), `${name}-2`);
  expect(synced.status.history).toMatchObject({ currentVersion: 2, pendingCount: 0 });
  expect(journalOf(synced)).toContain("RunAcknowledged");
  expect(runsOf(synced).map((run) => run.outcome)).toEqual(["Unknown", "Applied"]);
  await sentOnce(mysql, ["half-1 ", "mended-1 ", "mended-2 "]);
  await sentOnce(mysql, ["half-2 "], 0);
});
