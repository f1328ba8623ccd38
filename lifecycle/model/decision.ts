/** One decision of a manager in a world: looks answered from the world as it is, until an effect, a wait or rest. */
import type { Status } from "../families/types.ts";
import type { Move } from "../move.ts";
import type { Memory, View } from "../view.ts";
import { firstView, withLook } from "./seen.ts";
import { holderOf } from "./tools.ts";
import { type Resource, recordOf, type World } from "./world.ts";

/** The decision under exploration: the shipped one, or a canary's. */
export type Decider = (view: View) => Move;

export interface Decision {
  readonly move: Move;
  /** Rules that asked for looks on the way. */
  readonly looks: readonly string[];
  readonly leaseUnchanged: Memory["leaseUnchanged"] | undefined;
  /** The view the last answer was given on. */
  readonly view: View;
}

/** A decision that asks for more than this many looks never comes to an end. */
export const LOOKS_MAX = 16;
const DRAWS_MAX = 64;
/** One decision in this many looks step by step. */
const LAZY_EVERY = 8;

export const isEffect = (move: Move): boolean => move.kind !== "wait" && move.kind !== "rest" && move.kind !== "look";

function epochsOf(resource: Resource | null | undefined, into: Set<string>): void {
  if (resource === null || resource === undefined) return;
  const { status } = resource;
  for (const epoch of [
    status.executionBinding?.epoch,
    status.activeOperation?.leaseEpoch,
    status.activeOperation?.executionBindingID,
    status.pendingLockRelease?.leaseEpoch,
    recordOf(status)?.lease?.epoch,
    recordOf(status)?.binding?.epoch,
    status.pendingBindingRetirement?.retiredEpoch,
    status.plan?.executionBindingID,
    status.applied?.executionBindingID,
  ]) {
    if (epoch !== undefined) into.add(epoch);
  }
}

/** The smallest number whose epoch nothing in the world was named by. */
function freshDraw(world: World): number {
  const used = new Set<string>();
  epochsOf(world.resource, used);
  for (const manager of world.managers) {
    epochsOf(manager.old, used);
    if (manager.held?.kind === "writeLease") used.add(manager.held.content.epoch);
  }
  for (const peer of world.peers) epochsOf(peer.resource, used);
  if (world.lease !== null) used.add(world.lease.epoch);
  for (const plan of world.plans) used.add(plan.spec.executionBindingID);
  for (const job of world.jobs) used.add(job.epoch);
  for (let draw = 1; draw < DRAWS_MAX; draw += 1) {
    if (!used.has(`v1-${draw.toString(16).padStart(32, "0")}`)) return draw;
  }
  throw new Error("more epochs are alive than there are fresh values");
}

const idsOf = (status: Status | undefined): (string | undefined)[] => [
  status?.activeOperation?.id,
  status?.activeOperation?.proves,
  recordOf(status)?.operationID,
  status?.resolvedRun?.operationID,
  status?.closedOperationID,
  status?.pendingLockRelease?.operationID,
];

const holds = (held: Move | undefined, world: World, id: string): boolean =>
  held?.kind === "writeLease" && held.content.holder === holderOf(world.resource?.uid ?? "", id);

/** Whether an operation id is alive anywhere, so that a claim of the same inputs needs another nonce. */
function idInUse(world: World, id: string): boolean {
  return (
    idsOf(world.resource?.status).includes(id) ||
    world.managers.some((m) => idsOf(m.old?.status).includes(id) || holds(m.held, world, id)) ||
    world.lease?.holder === holderOf(world.resource?.uid ?? "", id) ||
    world.jobs.some((j) => j.operationID === id) ||
    world.creating.some((c) => c.job.operationID === id) ||
    world.pods.some((p) => p.operationID === id) ||
    world.approvals.some((a) => a.status.consumedBy?.operationID === id) ||
    world.resource?.settled === id ||
    world.words.some((w) => w.operationID === id) ||
    world.resource?.status.lastRun?.operationID === id ||
    (world.resource?.mirror?.includes(id) ?? false)
  );
}

/**
 * What a manager decides here and now.
 * @param nowMs another instant, where the question is what it would decide then
 * @returns undefined where there is no resource to decide on
 */
export function decideIn(world: World, at: number, decider: Decider, nowMs = world.now): Decision | undefined {
  // Most decisions get at once what they would look for; some look step by step, as the shell does, and have to agree.
  const lazy = ((world.resource?.version ?? 0) + world.jobs.length) % LAZY_EVERY === 0;
  for (let draw = freshDraw(world); draw < DRAWS_MAX; draw += 1) {
    const decision = ask(world, at, decider, draw, nowMs, !lazy);
    if (decision === undefined) return undefined;
    if (lazy) agree(decision, ask(world, at, decider, draw, nowMs, true));
    const { move } = decision;
    if (move.kind !== "claim" || move.status.activeOperation === undefined) return decision;
    if (!idInUse(world, move.status.activeOperation.id)) return decision;
  }
  throw new Error("no fresh value gives a new operation id");
}

/** Whether looks step by step and all pieces at once come to the same. */
function agree(lazy: Decision, eager: Decision | undefined): void {
  if (eager?.move.kind === lazy.move.kind && eager.move.rule === lazy.move.rule) return;
  throw new Disagreement(lazy.move.rule, eager?.move.rule ?? "none");
}

function ask(
  world: World,
  at: number,
  decider: Decider,
  draw: number,
  nowMs: number,
  eager: boolean,
): Decision | undefined {
  let view = firstView(world, at, draw, nowMs, eager);
  const looks: string[] = [];
  while (view !== undefined && looks.length < LOOKS_MAX) {
    const move = decider(view);
    if (move.kind !== "look") return { move, looks, leaseUnchanged: view.memory.leaseUnchanged, view };
    looks.push(move.rule);
    view = withLook(view, move.what, world, at);
  }
  if (view === undefined) return undefined;
  throw new EndlessLooks(looks[looks.length - 1] ?? "");
}

/** Cached pieces led elsewhere than the same pieces read uncached. */
export class Disagreement extends Error {
  constructor(lazy: string, eager: string) {
    super(`rule ${lazy} decides by cached pieces what rule ${eager} decides by the same pieces read uncached`);
  }
}

/** A decision that only ever asks to look. */
export class EndlessLooks extends Error {
  constructor(rule: string) {
    super(`rule ${rule} asks for looks without end`);
  }
}
