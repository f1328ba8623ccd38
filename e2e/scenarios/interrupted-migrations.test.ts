import { beforeAll, describe, expect, test } from "bun:test";
import { openLine } from "../../executor/cases/migration-bench.ts";
import { ENGINES } from "../cluster/database-pod.ts";
import { waitFor } from "../cluster/wait.ts";
import { type Database, secretObject, startDatabase } from "../lab/database.ts";
import { LOGGED } from "../lab/evidence.ts";
import { type HeldTable, holdTable } from "../lab/held-table.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  byHand,
  declareMigration,
  type Files,
  inSync,
  journalOf,
  migration,
  podAddress,
  refresh,
  runEnded,
  runsOf,
  sent,
} from "../lab/migrations.ts";
import { applyPod, killExecutor } from "../lab/operation-pod.ts";
import { approve, conditionOf, type ResourceOptions, waitForPhase } from "../lab/subject.ts";

/**
 * A run is broken off in the middle of its second statement. It never runs again by itself; what is known of it is told, and once a
 * person has completed the version in the database, a reading settles it. Each scene has a server of its own: it is the server's log
 * that says what was sent, and MySQL's migration lock is one for the whole server.
 */

const NAMESPACE = "interrupted-migrations";
const at = (name: string) => migration(NAMESPACE, name);
const BASE = "create table orders (id bigint primary key); create table notes (id int primary key)";
const VERSIONS: Files = {
  1: "INSERT /* cut-1 */ INTO notes VALUES (1);\nALTER /* cut-2 */ TABLE orders ADD COLUMN note varchar(40);\nINSERT /* cut-3 */ INTO notes VALUES (2);\n",
};
const REST =
  "alter table orders add column if not exists note varchar(40); delete from notes; insert into notes values (1), (2)";
/** Where nobody saw a Pod end, the record holds until its executor cannot run any more. */
const SHORT = { execution: { activeDeadlineSeconds: 60 }, policy: { lockTimeout: "30s" } };

interface Engine {
  readonly engine: "postgresql" | "mariadb";
  /** How a run ends whose statement may stand, or surely does not. */
  readonly unanswered: "Failed" | "Unknown";
}
const POSTGRESQL: Engine = { engine: "postgresql", unanswered: "Failed" };
const MARIADB: Engine = { engine: "mariadb", unanswered: "Unknown" };
const BOTH = [
  ["PostgreSQL", POSTGRESQL],
  ["MariaDB", MARIADB],
] as const;

interface Scene {
  readonly name: string;
  readonly server: Database;
}

let lab: Lab;
let nodeAddress: string;

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  nodeAddress = await lab.must(["get", "nodes", "-o", "jsonpath={.items[0].status.addresses[0].address}"]);
}, LAB_LIMITS.setUpMs);

async function scene(what: string, { engine }: Engine): Promise<Scene> {
  const name = `${what}-${engine}`;
  const options = engine === "postgresql" ? { options: LOGGED } : {};
  const server = await startDatabase(lab, { namespace: NAMESPACE, name, engine, ...options });
  await server.sql(BASE);
  return { name, server };
}

/** A run that stands at its second statement. */
async function standing({ name, server }: Scene, more: Partial<ResourceOptions> = {}): Promise<HeldTable> {
  await declareMigration(lab, at(name), server, VERSIONS, more);
  await waitForPhase(lab, at(name), "AwaitingApproval");
  const held = await holdTable(server, "orders");
  await approve(lab, at(name), name);
  await held.waitedFor();
  return held;
}

/** The run is told as it ended, holds everything where it is uncertain, and was read back: its row blocks either way. */
async function broken({ name, server }: Scene, ...outcomes: string[]): Promise<KubeObject> {
  const ended = await runEnded(lab, at(name), ...outcomes);
  const { lastRun, unresolvedRun, history, plan, phase } = ended.status;
  expect(phase).toBe("Blocked");
  expect(conditionOf(ended, "Ready")).toMatchObject({ status: "False", reason: "HistoryDirty" });
  expect(history).toMatchObject({ dirtyRevision: { version: 1, total: 3 }, pendingCount: 1 });
  expect(plan).toBeUndefined();
  if (lastRun.outcome === "Unknown") {
    expect(unresolvedRun).toMatchObject({ outcome: "Unknown", operationID: lastRun.operationID });
  } else {
    expect(unresolvedRun).toBeUndefined();
  }
  expect(runsOf(ended)).toMatchObject([{ operationID: lastRun.operationID, outcome: lastRun.outcome }]);
  for (const [remark, times] of [
    ["cut-1 ", 1],
    ["cut-2 ", 1],
    ["cut-3 ", 0],
  ] as const) {
    expect(await sent(server, remark)).toHaveLength(times);
  }
  return ended;
}

/** A person completes the version; the next reading settles what stood. The lock of the broken run is free (T19 liquibase#1311). */
async function completed({ name, server }: Scene, before: KubeObject): Promise<void> {
  await server.sql(REST);
  await byHand(lab, server, VERSIONS, "repair", "--version", "1", "--force");
  await refresh(lab, at(name));
  const synced = await inSync(lab, at(name));
  expect(synced.status.unresolvedRun).toBeUndefined();
  if (before.status.unresolvedRun !== undefined) {
    const { operationID } = before.status.unresolvedRun;
    expect(synced.status.resolvedRun).toMatchObject({ operationID, resolution: "Reading" });
  }
  expect(conditionOf(synced, "Ready")).toMatchObject({ status: "True", reason: "HistoryMatched" });
  expect(journalOf(synced).filter((type) => type === "RunFinished")).toHaveLength(1);
  expect(await sent(server, "cut-2 ")).toHaveLength(1);
}

describe("broken off in the middle of a statement", () => {
  test.concurrent.each(BOTH)("by the death of its executor: unknown (%s)", async (_, engine) => {
    const here = await scene("executor", engine);
    const held = await standing(here);
    killExecutor(await applyPod(lab, at(here.name)));
    await held.letGo();
    await completed(here, await broken(here, "Unknown"));
  });

  test.concurrent.each(BOTH)(
    "by the deletion of its Pod: told as far as its account was read (%s)",
    async (_, engine) => {
      const here = await scene("deleted", engine);
      const held = await standing(here, SHORT);
      const pod = await applyPod(lab, at(here.name));
      await lab.must(["delete", "pod", pod.metadata.name, "-n", NAMESPACE, "--wait=false"]);
      await waitFor("the Pod to go", async () => (await lab.get("pod", pod.metadata.name, NAMESPACE)) === undefined, {
        timeoutMs: LAB_LIMITS.rolloutMs,
      });
      await held.letGo();
      await completed(here, await broken(here, "Failed", "Partial", "Unknown"));
    },
  );

  test.concurrent("by the forced deletion of its Pod: unknown, and held until its executor cannot run any more", async () => {
    const here = await scene("forced", POSTGRESQL);
    const held = await standing(here, SHORT);
    const pod = await applyPod(lab, at(here.name));
    await lab.must(["delete", "pod", pod.metadata.name, "-n", NAMESPACE, "--force", "--grace-period=0"]);
    await held.letGo();
    await completed(here, await broken(here, "Unknown"));
  });

  test.concurrent.each(BOTH)("by the death of its database (%s)", async (_, engine) => {
    const here = await scene("killed", engine);
    await standing(here);
    await here.server.kill();
    await waitFor(
      "the end of the run",
      async () => (await lab.get("ptahmigration", here.name, NAMESPACE))?.status?.lastRun,
      {
        timeoutMs: LAB_LIMITS.convergenceMs,
      },
    );
    await here.server.start();
    await completed(here, await broken(here, engine.unanswered));
  });

  test.concurrent.each(BOTH)("by a line cut between the statement and its answer (%s)", async (_, engine) => {
    const here = await scene("line", engine);
    const { server, name } = here;
    const { port } = ENGINES[engine.engine];
    const hosts = { server: await podAddress(lab, server), listen: nodeAddress };
    const line = await openLine(port, engine.engine === "postgresql" ? "postgresql" : "mysql", "cut-2 ", hosts);
    try {
      const url = new URL(server.url);
      url.host = `${nodeAddress}:${line.port}`;
      await lab.apply(secretObject(NAMESPACE, `${name}-line`, url.href));
      await declareMigration(lab, at(name), { ...server, secret: `${name}-line` }, VERSIONS);
      await approve(lab, at(name), name);
      await waitFor("the statement without an answer", () => line.swallowed() && true, {
        timeoutMs: LAB_LIMITS.convergenceMs,
      });
      line.cut();
      await completed(here, await broken(here, engine.unanswered));
    } finally {
      line.close();
    }
  });
});
