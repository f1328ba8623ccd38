/** The named scenarios, and the world each starts from. Each runs to a fixpoint. */
import type { Status } from "../families/types.ts";
import type { Decider } from "./decision.ts";
import { joined, partsOf, successors } from "./joint.ts";
import { approved } from "./people.ts";
import { PLAYED } from "./played.ts";
import type { Scenario } from "./scenario.ts";
import { JOINT_SCENARIOS } from "./scenarios-joint.ts";
import { MIGRATION_SCENARIOS } from "./scenarios-migration.ts";
import { SCHEMA_SCENARIOS } from "./scenarios-schema.ts";

import { EPOCH_MS, SERVER_MAJOR, type SpecInputs } from "./values.ts";
import { budgetsOf, type World } from "./world.ts";

export const SCENARIOS: readonly Scenario[] = [...SCHEMA_SCENARIOS, ...MIGRATION_SCENARIOS, ...JOINT_SCENARIOS];

const INPUTS: SpecInputs = { apply: "OnApproval", suspend: false, exclude: false, shared: false, engine: "PostgreSQL" };
const NOTHING: Status = { observedGeneration: -1 };

/** Fair steps within which a resource first comes to rest. */
const FIRST_REST_MAX = 600;

/** The world a scenario starts from: new resources before untouched databases, or where all of them first rest. */
export function startOf(scenario: Scenario, deep: boolean, decider: Decider): World {
  const budgets = budgetsOf(deep ? { ...scenario.budgets, ...scenario.deeper } : scenario.budgets);
  const others = (scenario.beside ?? []).map((one, at) => created({ ...scenario, ...one }, at + 2));
  let world = joined([created(scenario, 1), ...others]);
  for (let step = 0; scenario.from !== undefined && step < FIRST_REST_MAX; step += 1) {
    const { decided, steps } = successors(world, decider);
    const moves = decided.map(({ decision }) => decision?.move);
    const first = moves[0];
    if (first?.kind === "rest" && first.verdict === scenario.from && moves.every((move) => move?.kind === "rest"))
      break;
    const fair = steps.find((s) => s.unfair !== true);
    if (fair === undefined) throw new Error(`scenario ${scenario.name} never comes to ${scenario.from}`);
    world = fair.next;
  }
  const parts = partsOf(world).map((part) => ({
    ...(scenario.approved === true ? approved(part) : part),
    left: budgets,
  }));
  return joined(parts);
}

function created(scenario: Scenario, number: number): World {
  const family = scenario.family ?? "schema";
  const { untouched, elsewhere } = PLAYED[family];
  const states = [untouched, elsewhere].slice(0, scenario.databases ?? 1);
  return {
    now: EPOCH_MS,
    resource: {
      family,
      uid: `${family}-${number}`,
      version: 1,
      generation: 1,
      deleting: false,
      finalizer: false,
      inputs: { ...INPUTS, ...scenario.inputs },
      status: NOTHING,
    },
    source: { content: "A", version: 1, missing: false },
    envelope: { resolves: true, version: 1 },
    release: 0,
    knows: 1,
    rollout: 0,
    major: SERVER_MAJOR,
    secret: 0,
    databases: states.map((state) => ({ state })),
    plans: [],
    projections: [],
    approvals: [],
    words: [],
    snapshots: [],
    lease: null,
    jobs: [],
    pods: [],
    creating: [],
    other: { state: scenario.contender === true ? "idle" : "none", conflicting: false, epoch: 0, writesUntil: 0 },
    peers: [],
    managers: Array.from({ length: scenario.managers ?? 1 }, () => ({})),
    left: budgetsOf({}),
    ghost: { unsettled: [], dispatchedSerial: 0, executed: [0, 0], spent: [], created: [] },
  };
}
