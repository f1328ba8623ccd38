import { afterAll, beforeAll, expect, test } from "bun:test";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import type { ClusterProvider } from "../../cluster/provider.ts";
import { type Database, startDatabase } from "../../lab/database.ts";
import { LOGGED, statementsOn } from "../../lab/evidence.ts";
import { holdTable } from "../../lab/held-table.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../../lab/lab.ts";
import {
  approve,
  conditionOf,
  declareResource,
  onDatabase,
  waitForCondition,
  waitForPhase,
  waitForResource,
} from "../../lab/subject.ts";

/** The node goes silent in the middle of an Apply: its process lives on, and nobody can ask it. */

const NAMESPACE = "kubelet-stopped";
const at = { namespace: NAMESPACE, name: "orders" };
const FILES = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY, note text);" };
/** The Apply's deadline, the grace of its Pod and a minute of clock skew, with room. */
const HORIZON_MS = 240_000;
const HELD_MS = 40_000;

let lab: Lab;
let cluster: ClusterProvider;
let database: Database;

beforeAll(async () => {
  cluster = await openCluster({ progress: createProgress() });
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  database = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  await database.sql("create table orders (id bigint primary key)");
}, LAB_LIMITS.setUpMs);

afterAll(() => cluster.setKubelet(true), 60_000);

test("its outcome is unknown until the node answers, then a reading settles it, and nothing runs twice", async () => {
  await declareResource(lab, {
    ...onDatabase(database, at.name, FILES),
    execution: { activeDeadlineSeconds: 60 },
    policy: { lockTimeout: "60s" },
  });
  await waitForPhase(lab, at, "AwaitingApproval");
  // Without a kubelet nobody reaches the server's Pod through it: the table is let go by itself, after the node went silent.
  const held = await holdTable(database, "orders", HELD_MS);
  await approve(lab, at, "orders");
  await held.waitedFor();
  await cluster.setKubelet(false);

  const unknown = await waitForResource(
    lab,
    at,
    "the record of an Apply nobody can account for",
    (s) => s.status.pendingObservation?.outcome === "OutcomeUnknown",
    HORIZON_MS,
  );
  expect(conditionOf(unknown, "Ready")?.status).toBe("False");
  expect(conditionOf(unknown, "InSync")?.status).not.toBe("True");

  await cluster.setKubelet(true);
  await waitForCondition(
    lab,
    at,
    { type: "InSync", status: "True", reason: "ConvergedAfterUnknownOutcome" },
    HORIZON_MS,
  );
  expect(await statementsOn(database, /ADD COLUMN/i)).toHaveLength(1);
});
