import { describe, expect, test } from "bun:test";
import { resultProblem } from "../../workload/result.ts";
import { decide } from "../decide.ts";
import type { Decider } from "./decision.ts";
import { Encoder } from "./encode.ts";
import { resultOf } from "./frames.ts";
import { successors } from "./joint.ts";
import { LIMITS } from "./limits.ts";
import { explorePart } from "./parts.ts";
import { matched, pendingOf, runnable } from "./revisions.ts";
import { SCENARIOS, startOf } from "./scenarios.ts";
import { SeenTable } from "./table.ts";
import { modelTools } from "./tools.ts";
import { EPOCH_MS } from "./values.ts";
import type { World } from "./world.ts";

const tools = modelTools(false);
const decider: Decider = (view) => decide(view, tools);
const measure = { memoryMB: () => 0, clockMs: () => performance.now(), usedMs: () => performance.now() };
const scenario = (name: string) => SCENARIOS.find((s) => s.name === name)!;

/** Worlds along the fair schedule of a scenario. */
function walk(name: string, steps: number): World[] {
  const worlds = [startOf(scenario(name), false, decider)];
  for (let i = 0; i < steps; i += 1) {
    const fair = successors(worlds[worlds.length - 1]!, decider).steps.find((s) => s.unfair !== true);
    if (fair === undefined) break;
    worlds.push(fair.next);
  }
  return worlds;
}

const words = (world: World): string => new Encoder().encode(world).join();

/** Every instant of a world moved by as much as the clock. */
function later(world: World, ms: number): World {
  const moved = (value: unknown): unknown => {
    if (typeof value === "number" && value > EPOCH_MS / 2) return value + ms;
    if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)) {
      return new Date(Date.parse(value) + ms).toISOString();
    }
    if (Array.isArray(value)) return value.map(moved);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, moved(member)]));
  };
  return moved(world) as World;
}

/** Every name in a world spelled otherwise. */
function renamed(world: World, from: RegExp, to: string): World {
  return JSON.parse(JSON.stringify(world).replace(from, to)) as World;
}

describe("the canonical form", () => {
  const worlds = walk("plain", 60);

  test("is the same for the same world at another time", () => {
    for (const world of worlds) expect(words(later(world, 3_600_000))).toBe(words(world));
  });

  test("is the same for a world whose objects have other UIDs", () => {
    for (const world of worlds) {
      expect(words(renamed(world, /"job-1"/g, '"job-77"'))).toBe(words(world));
      expect(words(renamed(world, /"schema-1"/g, '"schema-9"'))).toBe(words(world));
    }
  });

  test("tells worlds apart that differ in what is stored, what runs, or what is left of a budget", () => {
    const seen = new Set(worlds.map(words));
    expect(seen.size).toBe(worlds.length);
    const world = worlds[20]!;
    expect(words({ ...world, left: world.left.map((n) => n + 1) })).not.toBe(words(world));
    expect(words({ ...world, source: { ...world.source, content: "B" } })).not.toBe(words(world));
    expect(words({ ...world, databases: [{ state: "foreign" }] })).not.toBe(words(world));
  });

  test("leaves out phase, conditions and journal", () => {
    const world = worlds[20]!;
    const status = { ...world.resource!.status, phase: "Failed" as const, conditions: [] };
    expect(words({ ...world, resource: { ...world.resource!, status } })).toBe(words(world));
  });
});

describe("the world", () => {
  test("steps alike from the same world", () => {
    for (const world of walk("pods", 40)) {
      const [a, b] = [successors(world, decider).steps, successors(world, decider).steps];
      expect(a.map((s) => `${s.say} ${words(s.next)}`)).toEqual(b.map((s) => `${s.say} ${words(s.next)}`));
    }
  });

  test("comes from a new resource to a plan that waits for a person, with nobody's help", () => {
    const waiting = startOf(scenario("faults"), false, decider);
    expect(waiting.resource?.status.plan).toBeDefined();
    expect(successors(waiting, decider).decided[0]?.decision?.move).toMatchObject({
      kind: "rest",
      verdict: "AwaitingApproval",
    });
  });

  test("keeps its steps as data: exploring does not change where it started", () => {
    const start = startOf(scenario("plain"), false, decider);
    const before = JSON.stringify(start);
    successors(start, decider);
    expect(JSON.stringify(start)).toBe(before);
  });
});

describe("the set of worlds seen", () => {
  test("numbers keys in the order they come and knows them again, also after it grew", () => {
    const table = new SeenTable();
    for (let k = 0; k < 100_000; k += 1) expect(table.add(k, k * 7)).toEqual({ id: k, added: true });
    for (let k = 0; k < 100_000; k += 997) expect(table.add(k, k * 7)).toEqual({ id: k, added: false });
  });
});

describe("a world of several resources", () => {
  const two = (): World => startOf(scenario("two-mixed-stale"), false, decider);

  test("shares clock, budgets and Lease, and each sees the other as a claimant", () => {
    let world = two();
    for (let i = 0; i < 40; i += 1) {
      const [peer] = world.peers;
      expect(peer?.now).toBe(world.now);
      expect(peer?.left).toBe(world.left);
      expect(peer?.lease).toBe(world.lease);
      world = successors(world, decider).steps.find((s) => s.unfair !== true)?.next ?? world;
    }
    expect(world.lease?.transitions).toBeGreaterThan(0);
  });

  test("tells apart what only the second of them differs in", () => {
    const world = two();
    const peers = world.peers.map((peer) => ({ ...peer, source: { ...peer.source, content: "B" as const } }));
    expect(words({ ...world, peers })).not.toBe(words(world));
  });
});

describe("a run of versions", () => {
  test("leaves what the executor's own selection says", () => {
    expect(pendingOf("h0", "A")).toEqual([1, 2]);
    expect(pendingOf("h2", "B")).toEqual([3]);
    expect(matched("h2", "A")).toBe(true);
    expect(runnable("h1!", "A")).toBe(false);
    expect(runnable("h3", "A")).toBe(false);
  });

  test("prints only results that the contract admits", () => {
    const ends = ["applied", "failed", "partial", "unknown", "up-to-date"] as const;
    const frame = { family: "migration", type: "Apply", outcome: "ok", database: 0, state: "", desired: "" } as const;
    const rest = { exclude: false, major: 17, dirty: false };
    for (const outcome of ends) {
      const planned = outcome === "up-to-date" ? "" : "1,2";
      const run = { outcome, planned, applied: outcome === "applied" ? 2 : 0 };
      expect(resultProblem(resultOf({ ...frame, ...rest, run }, "op"))).toBeUndefined();
    }
    for (const state of ["h0", "h1!", "h2", "h3", "h1*"]) {
      const history = { ...frame, ...rest, type: "History" as const, state, desired: "A" };
      expect(resultProblem(resultOf(history, "op"))).toBeUndefined();
    }
    expect(resultProblem(resultOf({ ...frame, ...rest, outcome: "refused" }, "op"))).toBeUndefined();
  });
});

/** Exploring takes a second or two; a machine that does much else takes longer. */
const BUSY_MS = 60_000;

describe("exploring", () => {
  test(
    "a small scenario reaches its fixpoint without a violation",
    () => {
      const run = explorePart("squatted", false, LIMITS.usual, measure);
      expect(run.violations).toEqual([]);
      expect(run.cut).toBe(false);
      expect(run.states).toBeGreaterThan(200);
    },
    BUSY_MS,
  );

  test(
    "a broken rule is caught, with a trace in prose",
    () => {
      const run = explorePart("canary-5", false, LIMITS.usual, measure);
      expect(run.violations[0]).toMatchObject({ property: 5 });
      expect(run.violations[0]?.trace.at(-1)).toContain("patchStatus");
    },
    BUSY_MS,
  );

  test(
    "says so when it stops before it has seen everything",
    () => {
      expect(explorePart("faults", false, { ...LIMITS.usual, states: 500 }, measure).cut).toBe(true);
    },
    BUSY_MS,
  );
});
