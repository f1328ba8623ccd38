/** Two resources on one realm, of any mix of families, and one beside it; shared or not, with two managers. */
import type { FamilyName } from "../families/types.ts";
import type { Scenario } from "./scenario.ts";

const SHARED = { shared: true } as const;
/** Alone on another realm, and allowed to run by itself. */
const BESIDE = { family: "schema", inputs: { realm: "other-db", shared: false, apply: "Always" } } as const;

const MIXES: readonly (readonly [name: string, first: FamilyName, second: FamilyName])[] = [
  ["schemas", "schema", "schema"],
  ["mixed", "schema", "migration"],
  ["migrations", "migration", "migration"],
];

const shared: readonly Scenario[] = MIXES.flatMap(([name, first, second]) => [
  {
    name: `two-${name}`,
    plays: `a ${first} and a ${second} on one shared realm, a third resource beside it; both are approved, a Pod is killed`,
    family: first,
    inputs: SHARED,
    beside: [{ family: second }, BESIDE],
    from: "AwaitingApproval",
    budgets: { approve: 2 },
  },
]);

export const JOINT_SCENARIOS: readonly Scenario[] = shared;
