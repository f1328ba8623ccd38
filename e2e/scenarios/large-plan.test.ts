import { beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { addDatabase, type Database, startDatabase } from "../lab/database.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import { approve, conditionOf, declareResource, waitForCondition, waitForPhase } from "../lab/subject.ts";

/** The largest plan there may be comes out of its Pod through a kubelet's ordinary container log, and runs. */

const NAMESPACE = "large-plan";
const KIB = 1024;
const PLAN_BYTES_MAX = 8 * KIB * KIB;
const COLUMNS = 10;
const COMMENT_BYTES = 30 * KIB;
/** Copies of the commented table whose plan stays under the limit, and one more, which does not. */
const FITS = 27;
const at = (name: string) => ({ namespace: NAMESPACE, name });

let lab: Lab;
let server: Database;

/**
 * One table with long comments and copies of it: the plan is many times the source. The comments are random and the copies lie
 * further apart than a compressor looks back, so that the frame is about as long as the plan.
 */
function declared(copies: number): Record<string, string> {
  const columns = Array.from({ length: COLUMNS }, (_, i) => `c${i}`);
  const text = () => randomBytes((COMMENT_BYTES * 3) / 4).toString("base64");
  const lines = [
    `CREATE TABLE t0 (${columns.map((column) => `${column} int`).join(", ")});`,
    ...columns.map((column) => `COMMENT ON COLUMN t0.${column} IS '${text()}';`),
    ...Array.from({ length: copies - 1 }, (_, i) => `CREATE TABLE t${i + 1} (LIKE t0 INCLUDING ALL);`),
  ];
  return { "tables.sql": lines.join("\n") };
}

async function declare(name: string, copies: number): Promise<Database> {
  const database = await addDatabase(lab, server, name);
  const execution = { activeDeadlineSeconds: 600 };
  await declareResource(lab, { ...at(name), files: declared(copies), secret: database.secret, execution });
  return database;
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE });
}, LAB_LIMITS.setUpMs);

test("a plan just under the limit is stored, approved, applied and proved", async () => {
  const database = await declare("fits", FITS);
  const waiting = await waitForPhase(lab, at("fits"), "AwaitingApproval");
  const plan = await lab.get("ptahschemaplan", waiting.status.plan.name, NAMESPACE);
  expect(plan?.spec.size).toBeGreaterThan(0.97 * PLAN_BYTES_MAX);
  await approve(lab, at("fits"), "fits");
  await waitForPhase(lab, at("fits"), "InSync");
  const comments = `select count(*) from pg_description where length(description) = ${COMMENT_BYTES}`;
  expect((await database.sql(comments)).trim()).toBe(String(FITS * COLUMNS));
});

test("a plan above the limit is refused by name and size, and nothing of it is stored", async () => {
  await declare("too-large", FITS + 1);
  const blocked = await waitForCondition(lab, at("too-large"), {
    type: "Ready",
    status: "False",
    reason: "PlanTooLarge",
  });
  expect(blocked.status.phase).toBe("Blocked");
  expect(conditionOf(blocked, "Ready")?.message).toMatch(/smaller|several/i);
  const plans = await lab.list("ptahschemaplan", NAMESPACE);
  expect(plans.filter((plan) => plan.spec.schemaRef.name === "too-large")).toEqual([]);
});
