/**
 * What can happen next, in a world of one resource or of several. Several are one world each: what they share (the clock, the
 * managers' release, what is left of the budgets, and on one realm the Lease and perhaps the database) is the same in all.
 */
import type { Coverage } from "./coverage.ts";
import type { Decider, Decision } from "./decision.ts";
import { forgetFinished } from "./jobs.ts";
import { type PartSteps, partSteps, sayClock } from "./steps.ts";
import { at as atInstant } from "./time.ts";
import { leftOf, type Resource, realmIn, recordOf, type Step, spend, type World } from "./world.ts";

/** One resource of a world, with what its manager decides; undefined where there is none. */
export interface Decided {
  readonly world: World;
  readonly decision: Decision | undefined;
}

export interface Successors {
  /** The fair step, where there is one, is the first that is not unfair. */
  readonly steps: readonly Step[];
  readonly decided: readonly Decided[];
  /** The fair step lets time pass. */
  readonly fairIsClock: boolean;
}

const ALONE: readonly World[] = [];

/** The resources of a world, each as a world that knows no other. */
export const partsOf = (world: World): readonly World[] =>
  world.peers.length === 0 ? [world] : [{ ...world, peers: ALONE }, ...world.peers];

/** A resource's world as it sees it: with the others beside it. */
export const seenBy = (parts: readonly World[], at: number): World => {
  const [own, peers] = [parts[at], parts.filter((_, i) => i !== at)];
  if (own === undefined) throw new Error(`there is no resource ${at}`);
  return peers.length === 0 ? own : { ...own, peers };
};

/** One world of several resources. */
export function joined(parts: readonly World[]): World {
  const [first, ...peers] = parts;
  if (first === undefined) throw new Error("a world of no resource");
  return peers.length === 0 ? first : { ...first, peers };
}

/** All steps from a world, in an order that depends on nothing but the world. */
export function successors(before: World, decider: Decider, coverage?: Coverage): Successors {
  const raw = partsOf(before);
  const played = raw.map((_, at) => {
    const own = seenBy(raw, at);
    if (coverage !== undefined && own.resource !== null) coverage.playing = own.resource.family;
    return partSteps(own, decider, coverage);
  });
  const parts = played.map(({ world }) => (world.peers.length === 0 ? world : { ...world, peers: ALONE }));
  const decided = played.map(({ decision }, at) => ({ world: seenBy(raw, at), decision }));
  const sole = soleSteps(parts, played);
  if (sole !== undefined) return { steps: sole, decided, fairIsClock: false };
  const steps: Step[] = [];
  for (const [at, { fair }] of played.entries()) steps.push(...inJoint(parts, at, fair));
  const busy = steps.length > 0;
  const later = [...new Set(played.flatMap((part) => part.later))].sort((a, b) => a - b);
  const next = later[0];
  if (!busy && next !== undefined) steps.push({ say: sayClock(before, next), next: stepClock(parts, next) });
  const slow = leftOf(before, "slow") <= 0 ? [] : busy ? later : later.slice(1);
  for (const instant of slow) {
    steps.push({
      say: `${sayClock(before, instant)} while others dawdle`,
      next: spend(stepClock(parts, instant), "slow"),
      unfair: true,
    });
  }
  for (const [at, { unfair }] of played.entries()) steps.push(...inJoint(parts, at, unfair));
  return { steps, decided, fairIsClock: !busy && next !== undefined };
}

/**
 * Steps that no other resource can see or disturb commute with everybody else's, so one order of them stands for all: a resource
 * whose every step is such goes first. Who is alone on its realm shares nothing but the clock; no fault of its own is played.
 */
function soleSteps(parts: readonly World[], played: readonly PartSteps[]): Step[] | undefined {
  if (parts.length === 1) return undefined;
  for (const [at, part] of parts.entries()) {
    const steps = played[at];
    const [fair] = steps?.fair ?? [];
    if (steps === undefined || fair === undefined) continue;
    if (parts.every((other, i) => i === at || realmIn(other) !== realmIn(part))) return inJoint(parts, at, [fair]);
    const all = [...steps.fair, ...steps.unfair];
    if (all.every(({ next }) => unseen(part, next))) return inJoint(parts, at, all);
  }
  return undefined;
}

/** Whether nothing that another resource could come to read changes. */
function unseen(before: World, after: World): boolean {
  const same =
    before.lease === after.lease &&
    before.databases === after.databases &&
    before.envelope === after.envelope &&
    before.release === after.release &&
    before.rollout === after.rollout;
  if (!same || before.resource === null || after.resource === null) return false;
  const [was, is] = [before.resource, after.resource];
  if (was.inputs !== is.inputs || was.deleting !== is.deleting || owes(was) !== owes(is)) return false;
  const holds = before.lease !== null && before.lease.owner?.uid === was.uid;
  return !holds || (was.status === is.status && before.jobs === after.jobs && before.pods === after.pods);
}

const owes = ({ status }: Resource): boolean => status.activeOperation !== undefined || recordOf(status) !== undefined;

const inJoint = (parts: readonly World[], at: number, steps: readonly Step[]): Step[] =>
  parts.length === 1
    ? steps.map((s) => ({ ...s, next: forgetFinished(s.next) }))
    : steps.map((s) => ({
        ...s,
        say: `${parts[at]?.resource?.uid ?? "nobody"}: ${s.say}`,
        next: after(parts, at, s.next),
      }));

/** The joint world after one resource's own became another. */
function after(parts: readonly World[], at: number, next: World): World {
  const own = forgetFinished({ ...next, peers: ALONE });
  return joined(parts.map((part, i) => (i === at ? own : adopted(part, own))));
}

/** Another resource's world with what a step changed of what they share. */
function adopted(part: World, from: World): World {
  const near = realmIn(part) === realmIn(from);
  const sameServer = near && part.resource?.family === from.resource?.family;
  const shared: Partial<World> = {
    left: from.left,
    ...(part.envelope === from.envelope ? {} : { envelope: from.envelope }),
    ...(part.release === from.release ? {} : { release: from.release }),
    ...(part.rollout === from.rollout ? {} : { rollout: from.rollout }),
    ...(!near || part.lease === from.lease ? {} : { lease: from.lease }),
    ...(!sameServer || part.databases === from.databases ? {} : { databases: from.databases }),
  };
  return { ...part, ...shared };
}

const stepClock = (parts: readonly World[], instant: number): World =>
  joined(parts.map((part) => forgetFinished(atInstant(part, instant))));
