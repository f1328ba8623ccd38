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

/** Variants of two resources that share a realm, by what may happen. */
const VARIANTS: readonly (Pick<Scenario, "plays" | "budgets" | "deeper" | "managers"> & { readonly name: string })[] = [
  { name: "kill", plays: "a Pod is killed", budgets: { kill: 1 } },
  { name: "stale", plays: "two managers, one with an old view", managers: 2, budgets: { stale: 1 } },
  { name: "hold", plays: "two managers, one paused before any effect", managers: 2, budgets: { hold: 1 } },
  { name: "ends", plays: "a run ends uncertain, acknowledged", budgets: { runFails: 1, acknowledge: 1 } },
  { name: "restore", plays: "a status is lost in a restore", budgets: { restore: 1 }, deeper: { kill: 1 } },
  { name: "upgrade", plays: "another release of the manager", budgets: { upgrade: 1 } },
  { name: "newer", plays: "a newer contract's state, rolled back", budgets: { newer: 1 } },
  { name: "ended", plays: "one is suspended", budgets: { suspend: 1 }, deeper: { delete: 1 } },
];

const shared: readonly Scenario[] = MIXES.flatMap(([mix, first, second]) =>
  VARIANTS.filter(({ budgets }) => !("runFails" in budgets) || second === "migration").map((variant) => ({
    ...variant,
    name: `two-${mix}-${variant.name}`,
    plays: `a ${first} and a ${second} on one shared realm, both approved: ${variant.plays}`,
    family: first,
    inputs: SHARED,
    beside: [{ family: second }, ...(variant.name === "kill" ? [BESIDE] : [])],
    approved: true,
    from: "AwaitingApproval" as const,
  })),
);

/** Nobody shares: all are Blocked until a person suspends one of them. */
const unshared: readonly Scenario[] = MIXES.map(([mix, first, second]) => ({
  name: `apart-${mix}`,
  plays: `a ${first} and a ${second} on a realm that they do not share: one is suspended, and resumed`,
  family: first,
  beside: [{ family: second, inputs: {} }],
  from: "Blocked",
  budgets: { approve: 1, suspend: 1 },
}));

export const JOINT_SCENARIOS: readonly Scenario[] = [...shared, ...unshared];
