import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomInt } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { addDatabase, type Database, startDatabase } from "../../lab/database.ts";
import { LOGGED, statementsOn } from "../../lab/evidence.ts";
import { type HostManagers, takeOver } from "../../lab/host-manager.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../../lab/lab.ts";
import { approve, declareSchema, waitForPhase, waitForSchema } from "../../lab/subject.ts";

/**
 * `kill -9` of the manager at fifty random moments at which an Apply is claimed, dispatched, running or being accounted for.
 * The evidence is the server's own log: every statement that was approved ran once, whatever the managers forgot.
 */

const NAMESPACE = "manager-killed";
const KILLS = 50;
const ROUNDS_MAX = 12;
const SCHEMAS = ["one", "two", "three", "four"];
/** Between nothing started yet and several decisions taken; a manager decides some 300 ms after its start. */
const LIFE_MS = [20, 800] as const;
const VERDICT_MS = 300_000;
/** Short, so that an Apply whose Job was never seen is settled soon: its Lease's whole duration has to pass. */
const EXECUTION = { activeDeadlineSeconds: 60 };
const at = (name: string) => ({ namespace: NAMESPACE, name });

let lab: Lab;
let server: Database;
let managers: HostManagers;
let kills = 0;

/** Round r declares r columns; each column is one statement of one plan. */
function declared(round: number): Record<string, string> {
  const columns = Array.from({ length: round }, (_, i) => `, c${i + 1} text`).join("");
  return { "orders.sql": `CREATE TABLE orders (id bigint PRIMARY KEY${columns});` };
}

const stored = async (name: string) => (await lab.get("ptahschema", name, NAMESPACE)) as KubeObject;
const applying = (schema: KubeObject) => schema.status?.activeOperation?.type === "Apply";

/** Kills and starts managers at random moments until no Apply of these plans is open, or there were enough. */
async function killDuringApplies(plans: readonly string[]): Promise<void> {
  const until = performance.now() + LAB_LIMITS.convergenceMs;
  while (kills < KILLS && performance.now() < until) {
    await setTimeout(randomInt(...LIFE_MS));
    const schemas = await Promise.all(SCHEMAS.map(stored));
    if (schemas.every((s) => !applying(s) && !plans.includes(s.status.plan?.uid))) return;
    if (!schemas.some(applying)) continue;
    await managers.kill();
    kills += 1;
    managers.start();
  }
}

/** What became of an Apply: proved, or unknown and then read; a plan that still waits is decided again. */
async function verdict(name: string, round: number): Promise<void> {
  const rested = (s: KubeObject) => s.status.phase === "InSync" || s.status.phase === "AwaitingApproval";
  const schema = await waitForSchema(lab, at(name), "a verdict", rested, VERDICT_MS);
  if (schema.status.phase === "AwaitingApproval") await approve(lab, at(name), `${name}-${round}-again`);
  await waitForPhase(lab, at(name), "InSync");
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  managers = await takeOver(lab, { namespace: NAMESPACE });
  for (const name of SCHEMAS) await addDatabase(lab, server, name);
  managers.start();
}, 300_000);

afterAll(async () => {
  await managers.close();
}, 180_000);

test("fifty kills, no statement twice, no Apply without a verdict", async () => {
  for (let round = 1; kills < KILLS && round <= ROUNDS_MAX; round += 1) {
    for (const name of SCHEMAS) {
      await declareSchema(lab, { ...at(name), files: declared(round), secret: `${name}-url`, execution: EXECUTION });
    }
    const approved = await Promise.all(SCHEMAS.map((name) => approve(lab, at(name), `${name}-${round}`)));
    await killDuringApplies(approved.map((schema) => schema.status.plan.uid));
    await Promise.all(SCHEMAS.map((name) => verdict(name, round)));
    const column = new RegExp(`\\bc${round}\\b`);
    for (const name of SCHEMAS) expect(await statementsOn(lab, server, column, name)).toHaveLength(1);
    console.info(`round ${round}: ${kills} kills`);
  }
  expect(kills).toBe(KILLS);
  expect(managers.said()).not.toContain(server.password);
}, 900_000);
