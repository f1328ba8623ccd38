import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomInt } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { addDatabase, type Database, startDatabase } from "../../lab/database.ts";
import { LOGGED, statementsOn } from "../../lab/evidence.ts";
import { type HostManagers, takeOver } from "../../lab/host-manager.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../../lab/lab.ts";
import { approve, declareResource, waitForResource } from "../../lab/subject.ts";

/**
 * `kill -9` of the manager at fifty random moments at which an Apply is claimed, dispatched, running or being accounted for.
 * The evidence is the server's own log: every statement that was approved ran once, whatever the managers forgot.
 */

const NAMESPACE = "manager-killed";
const KILLS = 50;
const ROUNDS_MAX = 12;
const DECISIONS_MAX = 5;
const SCHEMAS = ["one", "two", "three", "four"];
/** Between nothing started yet and several decisions taken; a manager decides some 300 ms after its start. */
const LIFE_MS = [50, 1_500] as const;
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

/** Kills and starts managers at random moments at which some Apply is open, until there were enough or `changed` ended. */
async function killDuringApplies(changed: Promise<unknown>): Promise<void> {
  let open = true;
  const end = () => {
    open = false;
  };
  changed.then(end, end);
  while (open && kills < KILLS) {
    await setTimeout(randomInt(...LIFE_MS));
    const schemas = await Promise.all(SCHEMAS.map((name) => lab.get("ptahschema", name, NAMESPACE)));
    if (!schemas.some((schema) => schema?.status?.activeOperation?.type === "Apply")) continue;
    await managers.kill();
    kills += 1;
    managers.start();
  }
}

/**
 * Approves and waits for what became of it: proved, or spent without effect (the dispatch was never seen, or came too late), in
 * which case a person decides again. Nothing but a person's word ever starts it again.
 */
async function applied(name: string, round: number): Promise<void> {
  for (let decision = 1; decision <= DECISIONS_MAX; decision += 1) {
    const approval = `${name}-${round}-${decision}`;
    const { status } = await approve(lab, at(name), approval);
    const spent = async (schema: KubeObject) =>
      schema.status.plan?.uid !== status.plan.uid ||
      (await lab.get("ptahschemaapproval", approval, NAMESPACE))?.status?.consumedBy !== undefined;
    const rested = async (schema: KubeObject) =>
      schema.status.phase === "InSync" || (schema.status.phase === "AwaitingApproval" && (await spent(schema)));
    const schema = await waitForResource(lab, at(name), "a verdict", rested, VERDICT_MS);
    if (schema.status.phase === "InSync") return;
  }
  throw new Error(`${name}: ${DECISIONS_MAX} decisions did not change the database`);
}

/** One column after the other, each by one plan, as long as managers are killed. */
async function change(name: string): Promise<void> {
  for (let round = 1; kills < KILLS && round <= ROUNDS_MAX; round += 1) {
    await declareResource(lab, { ...at(name), files: declared(round), secret: `${name}-url`, execution: EXECUTION });
    await applied(name, round);
    expect(await statementsOn(server, new RegExp(`\\bc${round}\\b`), name)).toHaveLength(1);
  }
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  server = await startDatabase(lab, { namespace: NAMESPACE, options: LOGGED });
  managers = await takeOver(lab, { namespace: NAMESPACE });
  for (const name of SCHEMAS) await addDatabase(lab, server, name);
  managers.start();
}, LAB_LIMITS.setUpMs);

afterAll(async () => {
  await managers.close();
}, LAB_LIMITS.setUpMs);

test("fifty kills, no statement twice, no Apply without a verdict", async () => {
  const changed = Promise.all(SCHEMAS.map(change));
  await killDuringApplies(changed);
  await changed;
  expect(kills).toBe(KILLS);
  expect(managers.said()).not.toContain(server.password);
}, 1_200_000);
