/**
 * Property 11 over the explored graph: from every state one fair schedule (managers, then the world, then the clock, no
 * fault and no person) leads on; since faults only ever use up budgets, its steps are all in the graph.
 */
import type { Numbers } from "./table.ts";

export interface Graph {
  /** The state the fair step leads to; -1 where there is none. */
  readonly fair: Numbers;
  readonly flags: Numbers;
}

export const FLAG = {
  /** The fair step lets time pass. */
  clock: 1,
  /** The manager rests, and nothing else moves. */
  rest: 2,
  /** A cause stands for which no verdict may come. */
  excused: 4,
  /** The fair step executes a statement. */
  sql: 8,
  /** There is no resource any more. */
  gone: 16,
  /** The verdict it rests in is not so. */
  lies: 32,
  /** A Lease of ours is held for nothing. */
  leaks: 64,
} as const;

/** From any state a verdict is reached within this many fair steps. */
export const FAIR_STEPS_MAX = 400;

export interface Stuck {
  readonly state: number;
  readonly sentence: string;
  /** How many fair steps show it. */
  readonly steps: number;
}

/** The first state (of the lowest number, so of the shortest trace) from which progress fails, or undefined. */
export function judgeProgress(graph: Graph, states: number): Stuck | undefined {
  const colour = new Uint8Array(states);
  const distance = new Int32Array(states).fill(-1);
  let worst: Stuck | undefined;
  const keep = (found: Stuck | undefined): void => {
    if (found !== undefined && (worst === undefined || found.state < worst.state)) worst = found;
  };
  for (let start = 0; start < states; start += 1) {
    if (colour[start] !== UNKNOWN) continue;
    const { walk, cycle, ends } = walkFrom(graph, colour, start);
    if (cycle.length > 0) keep(judgeCycle(graph, cycle));
    if (ends) keep(judgeEnd(graph, walk[walk.length - 1] ?? start));
    const inCycle = new Set(cycle);
    for (const state of walk.reverse()) {
      colour[state] = DONE;
      distance[state] = settle(graph, distance, state, inCycle);
      const steps = distance[state] ?? 0;
      const sentence = "no verdict within the bound though nothing fails any more";
      if (steps > FAIR_STEPS_MAX) keep({ state, sentence, steps });
    }
  }
  return worst;
}

const UNKNOWN = 0;
const WALKING = 1;
const DONE = 2;

/** The fair walk from a state through what no walk has seen, and the cycle it closes, where it does. */
function walkFrom(graph: Graph, colour: Uint8Array, start: number): { walk: number[]; cycle: number[]; ends: boolean } {
  const walk: number[] = [];
  let at = start;
  while (at >= 0 && colour[at] === UNKNOWN) {
    colour[at] = WALKING;
    walk.push(at);
    at = graph.fair.get(at);
  }
  const cycle = at >= 0 && colour[at] === WALKING ? walk.slice(walk.indexOf(at)) : [];
  return { walk, cycle, ends: at < 0 };
}

/** A state with no fair step is an end only where it rests. */
function judgeEnd(graph: Graph, state: number): Stuck | undefined {
  if (has(graph, state, FLAG.rest) || has(graph, state, FLAG.excused)) return undefined;
  return { state, sentence: "nothing can happen any more, and there is no verdict", steps: 0 };
}

const has = (graph: Graph, state: number, flag: number): boolean => (graph.flags.get(state) & flag) !== 0;

/** Fair steps from a state to the next resting one (0 for a resting one); a judged cycle without one counts as reached. */
function settle(graph: Graph, distance: Int32Array, state: number, cycle: ReadonlySet<number>): number {
  if (has(graph, state, FLAG.rest) || cycle.has(state)) return 0;
  const next = graph.fair.get(state);
  return next < 0 ? 0 : (distance[next] ?? 0) + 1;
}

function judgeCycle(graph: Graph, cycle: readonly number[]): Stuck | undefined {
  const first = cycle.reduce((a, b) => Math.min(a, b));
  const stuck = (sentence: string, state = first): Stuck => ({ state, sentence, steps: cycle.length });
  const any = (flag: number): number | undefined => cycle.find((s) => has(graph, s, flag));
  if (any(FLAG.clock) === undefined) return stuck("a hot loop: the same states again and again without the clock");
  if (any(FLAG.sql) !== undefined) return stuck("a loop of DDL");
  const liar = any(FLAG.lies);
  if (liar !== undefined) return stuck("it rests in a verdict that is not so", liar);
  const leak = any(FLAG.leaks);
  if (leak !== undefined) return stuck("a Lease is kept though nothing needs it", leak);
  if (any(FLAG.rest) === undefined && any(FLAG.excused) === undefined) {
    return stuck("it goes on for ever without a verdict");
  }
  return undefined;
}
