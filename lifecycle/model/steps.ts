/** Everything that can happen next in a world: managers, the world by itself, people, faults, the clock. */
import type { MoveKind } from "../move.ts";
import { accidents } from "./accidents.ts";
import type { Coverage } from "./coverage.ts";
import { type Decider, type Decision, decideIn, isEffect } from "./decision.ts";
import { worldSteps } from "./jobs.ts";
import { contenderSteps, peopleSteps, recoveries } from "./people.ts";
import { type Course, forget, perform, sawResource } from "./perform.ts";
import { instants } from "./time.ts";
import {
  type Budget,
  type LogRead,
  leftOf,
  type Manager,
  type Pod,
  recordOf,
  type Step,
  spend,
  type World,
} from "./world.ts";

/** Moves that write the resource itself: a conflict is all an old view can come to. */
export const ON_RESOURCE: ReadonlySet<MoveKind> = new Set<MoveKind>([
  "patchStatus",
  "patchMetadata",
  "claim",
  "dispatch",
]);

/** What one resource and its managers can do next; the clock is everybody's. */
export interface PartSteps {
  /** The world once the log that its manager asks for is read. */
  readonly world: World;
  /** What the first manager decides; undefined where there is no resource. */
  readonly decision: Decision | undefined;
  readonly fair: readonly Step[];
  readonly unfair: readonly Step[];
  /** Instants that something here waits for, soonest first. */
  readonly later: readonly number[];
}

const changeManager = (world: World, at: number, change: (manager: Manager) => Manager): World => ({
  ...world,
  managers: world.managers.map((m, i) => (i === at ? change(m) : m)),
});

/** The steps of one resource from a world, in an order that depends on nothing but the world. */
export function partSteps(before: World, decider: Decider, coverage?: Coverage): PartSteps {
  const steps: Step[] = [];
  const { world, decision } = withLog(before, decider);
  for (let at = 1; at < world.managers.length; at += 1) recoverManager(world, at, steps);
  if (decision !== undefined) managerSteps(world, 0, decision, steps, coverage);
  steps.push(...worldSteps(world), ...contenderSteps(world).filter((s) => s.unfair !== true));
  const fair = steps.filter((s) => s.unfair !== true);
  const unfair = steps.filter((s) => s.unfair === true);
  const wakeAt = decision !== undefined && !isEffect(decision.move) ? untilOf(decision) : undefined;
  unfairSteps(world, decider, unfair, coverage);
  return { world, decision, fair, unfair, later: instants(world, wakeAt) };
}

/**
 * The world once the log that the manager asks for is read. A step of its own only while a crash or a bad log could still come
 * between the reading and what follows.
 */
export function withLog(
  world: World,
  decider: Decider,
): { readonly world: World; readonly decision: Decision | undefined } {
  const decision = decideIn(world, 0, decider);
  if (decision === undefined || leftOf(world, "crash") > 0 || leftOf(world, "log") > 0) return { world, decision };
  const next = readLog(world, 0, decision);
  return next === world ? { world, decision } : { world: next, decision: decideIn(next, 0, decider) };
}

export const sayClock = (world: World, instant: number): string =>
  `the clock steps ${Math.round((instant - world.now) / 1000)} s`;

/** When a decision without an effect is made again at the latest. */
export function untilOf(decision: Decision): number | undefined {
  const { move } = decision;
  return move.kind === "wait" || move.kind === "rest" ? move.untilMs : undefined;
}

/** What gets a second manager out of the past: its watch delivers, or the paused process ends. */
function recoverManager(world: World, at: number, steps: Step[]): void {
  const manager = world.managers[at];
  if (manager?.old !== undefined)
    steps.push({ say: "the second manager's watch delivers the resource", next: sawResource(world, at) });
  if (manager?.held !== undefined) {
    steps.push({ say: "the paused manager ends", next: changeManager(world, at, ({ held: _held, ...rest }) => rest) });
  }
}

function managerSteps(world: World, at: number, decision: Decision, steps: Step[], coverage?: Coverage): void {
  const { move } = decision;
  const who = at === 0 ? "manager" : "second manager (old view)";
  if (!isEffect(move)) {
    const next = readLog(remember(world, at, decision), at, decision);
    if (next !== world)
      steps.push({
        say: `${who}: rule ${move.rule} ${move.kind} (looks on)`,
        next,
        ...(at > 0 ? { unfair: true } : {}),
      });
    return;
  }
  const say = `${who}: rule ${move.rule} ${move.kind}`;
  const before = remember(world, at, decision);
  const next = perform(before, at, move);
  coverage?.performed(move, world, next, at);
  if (next === world) return;
  steps.push({ say, next, ...(at > 0 ? { unfair: true } : {}) });
  doubleMoves(before, at, decision, steps, coverage);
  singleFaults(before, at, decision, next, steps, coverage);
}

/** The two moves that hold two effects branch at every fault. */
function doubleMoves(world: World, at: number, { move }: Decision, steps: Step[], coverage?: Coverage): void {
  const fault = (budget: Budget, course: Course, say: string): void => {
    if (leftOf(world, budget) <= 0) return;
    coverage?.fault(move.kind, course);
    steps.push({
      say: `FAULT rule ${move.rule} ${move.kind}: ${say}`,
      next: spend(perform(world, at, move, course), budget),
      unfair: true,
    });
  };
  if (move.kind === "claim" && move.finalizer) fault("crash", "stopBetween", "the manager stops after the finalizer");
  if (move.kind !== "dispatch") return;
  fault("crash", "stopBetween", "the manager stops before the create");
  fault("error", "createRefused", "the create is answered with an error, and nothing was created");
  fault("error", "createLost", "the Job is created and the answer is lost");
  fault("late", "createLate", "the create times out and is still under way");
  fault("late", "createLateStop", "the manager stops while the create is under way");
}

/** A single effect: a stop or an error before it is nothing, after it the effect itself; only memory differs. */
function singleFaults(
  world: World,
  at: number,
  { move }: Decision,
  next: World,
  steps: Step[],
  coverage?: Coverage,
): void {
  if (leftOf(world, "error") > 0) {
    coverage?.fault(move.kind, "errorBefore");
    coverage?.fault(move.kind, "errorAfter");
  }
  if (leftOf(world, "crash") <= 0) return;
  coverage?.fault(move.kind, "crashBefore");
  coverage?.fault(move.kind, "crashAfter");
  const forgetful = (w: World): boolean => Object.keys(w.managers[at] ?? {}).length > 0;
  if (forgetful(world)) {
    steps.push({
      say: "FAULT the manager stops, its memory with it",
      next: spend(forget(world, at), "crash"),
      unfair: true,
    });
  }
  if (forgetful(next)) {
    steps.push({
      say: `FAULT rule ${move.rule} ${move.kind}, then the manager stops`,
      next: spend(forget(next, at), "crash"),
      unfair: true,
    });
  }
}

/** Keeps what a look showed this process of a Lease that is somebody else's. */
function remember(world: World, at: number, decision: Decision): World {
  const seen = decision.leaseUnchanged;
  const manager = world.managers[at];
  const status = world.resource?.status;
  const { lease } = world;
  if (seen === undefined || manager === undefined || lease === null || lease.holder === "") return world;
  const ours = [status?.activeOperation?.leaseHolder, recordOf(status)?.lease?.holder];
  if (ours.includes(lease.holder) || manager.leaseUnchanged?.record === seen.record) return world;
  return changeManager(world, at, (m) => ({ ...m, leaseUnchanged: seen }));
}

/** A wait that asks for a result: the log is read beside the pass. */
function readLog(world: World, at: number, { move }: Decision): World {
  if (move.kind !== "wait" || move.read === undefined) return world;
  const { podUID, notBeforeMs } = move.read;
  const pod = world.pods.find((p) => p.uid === podUID && p.object !== "gone");
  const known = world.managers[at]?.result;
  const read = logRead(pod, podUID, world.now);
  if (
    known?.podUID === podUID &&
    known.state === read.state &&
    (known.readAt >= notBeforeMs || known.readAt === read.readAt)
  ) {
    return world;
  }
  return changeManager(world, at, (m) => ({ ...m, result: read }));
}

function logRead(pod: Pod | undefined, podUID: string, now: number): LogRead {
  const jobName = pod?.jobName ?? "";
  if (pod === undefined) return { podUID, jobName, state: "failed", readAt: now };
  const { log } = pod;
  if (log === "frame") return { podUID, jobName, state: "frame", readAt: now, frame: pod.frame };
  return { podUID, jobName, state: log === "late" || log === "lost" ? "none" : log, readAt: now };
}

function unfairSteps(world: World, decider: Decider, steps: Step[], coverage?: Coverage): void {
  if (leftOf(world, "crash") > 0 && Object.keys(world.managers[0] ?? {}).length > 0) {
    steps.push({
      say: "FAULT the manager stops, its memory with it",
      next: spend(forget(world, 0), "crash"),
      unfair: true,
    });
  }
  steps.push(...accidents(world), ...peopleSteps(world), ...recoveries(world));
  steps.push(...contenderSteps(world).filter((s) => s.unfair === true));
  if (world.managers.length > 1) secondManager(world, decider, steps, coverage);
}

/** The second manager: it acts by an old view of the resource, or resumes before an effect it decided long ago. */
function secondManager(world: World, decider: Decider, steps: Step[], coverage?: Coverage): void {
  const at = 1;
  const manager = world.managers[at];
  if (manager === undefined || world.resource === null) return;
  if (manager.held !== undefined) {
    const held = manager.held;
    const rest = changeManager(world, at, ({ held: _held, ...others }) => others);
    const next = perform(rest, at, held);
    coverage?.resumed(held, rest, next);
    steps.push({ say: `the paused manager resumes: rule ${held.rule} ${held.kind}`, next, unfair: true });
    return;
  }
  if (manager.old !== undefined) {
    const decision = manager.old.version === world.resource.version ? undefined : decideIn(world, at, decider);
    if (decision !== undefined) managerSteps(world, at, decision, steps, coverage);
    return;
  }
  if (leftOf(world, "stale") > 0) {
    const resource = world.resource;
    steps.push({
      say: "FAULT the second manager's watch stops delivering",
      next: spend(
        changeManager(world, at, (m) => ({ ...m, old: resource })),
        "stale",
      ),
      unfair: true,
    });
  }
  if (leftOf(world, "hold") <= 0) return;
  const decision = decideIn(world, 0, decider);
  if (decision === undefined || !isEffect(decision.move)) return;
  const { move } = decision;
  steps.push({
    say: `FAULT a manager is paused before rule ${move.rule} ${move.kind}`,
    next: spend(
      changeManager(world, at, (m) => ({ ...m, held: move })),
      "hold",
    ),
    unfair: true,
  });
}
