/** What one process explores, from its name to its report: a scenario, or the canary of a property. */
import { decide } from "../decide.ts";
import { CANARIES } from "./all-canaries.ts";
import type { Decider } from "./decision.ts";
import { explore, type Limits, type Run } from "./explore.ts";
import { SCENARIOS, startOf } from "./scenarios.ts";
import { modelTools } from "./tools.ts";

export interface Measure {
  readonly memoryMB: () => number;
  readonly clockMs: () => number;
  readonly usedMs: () => number;
  readonly progress?: (line: string) => void;
}

const CANARY = "canary-";

const LONGEST: readonly string[] = [
  "m-beside",
  "m-paused",
  "stale",
  "late",
  "m-deleted",
  "m-stops",
  "m-always",
  "faults",
  "lost",
  "readings",
  "lease",
  "gone",
  "worst",
  "realm",
  "edits",
  "refused",
];

/** Names of all parts, those that take longest first. */
export function partNames(): { readonly scenarios: readonly string[]; readonly canaries: readonly string[] } {
  const names = SCENARIOS.map((s) => s.name);
  const scenarios = [...LONGEST, ...names.filter((name) => !LONGEST.includes(name))];
  return { scenarios, canaries: CANARIES.map((c) => `${CANARY}${c.name}`) };
}

/** Explores one part. A canary ends at its first violation, a scenario shows one of each kind. */
export function explorePart(name: string, deep: boolean, limits: Limits, measure: Measure): Run {
  const canary = CANARIES.find((c) => `${CANARY}${c.name}` === name);
  if (canary !== undefined) {
    const tools = modelTools(false);
    const decider = canary.bend((view) => decide(view, tools));
    const start = startOf({ ...canary, name, plays: canary.breaks }, false, decider);
    return explore({
      name,
      start,
      decider,
      limits,
      firstOnly: true,
      ...measure,
    });
  }
  const scenario = SCENARIOS.find((s) => s.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
  const tools = modelTools(scenario.narrated === true);
  const decider: Decider = (view) => decide(view, tools);
  return explore({
    name,
    start: startOf(scenario, deep, decider),
    decider,
    narrated: scenario.narrated,
    limits,
    ...measure,
  });
}
