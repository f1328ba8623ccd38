/** The executor of an Apply: starts late or not at all, refuses, runs step by step, fails, loses its answer. */
import type { Frame } from "./frames.ts";
import { onStart, onStatement } from "./ghost.ts";
import { databaseOf } from "./perform.ts";
import { contentOf, ended, serialOf, setState, withPod } from "./pods.ts";
import { pendingOf, type RunEnd, runnable, tableOf, versionsOf, wordOf } from "./revisions.ts";
import { planOfDigest, SKEW_MS } from "./values.ts";
import type { Pod, Step, World } from "./world.ts";

const applyFrame = (world: World, pod: Pod, outcome: Frame["outcome"], run?: RunEnd): Frame => ({
  family: pod.work.family,
  type: "Apply",
  outcome,
  database: world.secret,
  state: "",
  desired: "",
  exclude: false,
  major: world.major,
  run,
  dirty: false,
});

/** What an Apply's process does next, of either family. */
export function applySteps(world: World, pod: Pod, name: string): Step[] {
  const { work } = pod;
  const steps: Step[] = [];
  if (pod.process === "waiting") {
    if (world.secret !== databaseOf(work.target) || world.now > work.dispatchNotAfter + SKEW_MS) {
      return [{ say: `${name} refuses to start`, next: ended(world, pod, applyFrame(world, pod, "refused")) }];
    }
    const started = withPod(world, pod.uid, (p) => ({ ...p, process: "started" }));
    return [{ say: `${name} starts the executor`, next: onStart(started, { ...pod, process: "started" }) }];
  }
  if (world.now >= work.executionNotAfter) {
    steps.push({ say: `${name} is killed at its execution deadline`, next: ended(world, pod, undefined) });
  }
  const step = work.family === "schema" ? statementStep(world, pod, name) : versionStep(world, pod, name);
  return step === undefined ? steps : [...steps, step];
}

/** A plan of two statements, each committed alone. */
function statementStep(world: World, pod: Pod, name: string): Step | undefined {
  const plan = planOfDigest(pod.work.plan);
  if (plan === undefined) return undefined;
  const database = databaseOf(pod.work.target);
  const serial = serialOf(world, pod.work.fingerprint);
  if (pod.process === "started") {
    if (world.databases[database]?.state !== plan.from) {
      return {
        say: `${name} finds another state than its plan's and refuses`,
        next: ended(world, pod, applyFrame(world, pod, "uncertain")),
      };
    }
    const half = withPod(setState(world, database, `${plan.from}~${plan.to}`), pod.uid, (p) => ({
      ...p,
      process: "half",
    }));
    return { say: `${name} executes the first statement`, next: onStatement(half, pod, serial, 1) };
  }
  const done = endedAfter(setState(world, database, plan.to), pod, serial, 2, applyFrame(world, pod, "ok"));
  return { say: `${name} executes the second statement and ends`, next: done };
}

/** A process that executes something and ends: its own result is not older than what it did. */
function endedAfter(world: World, pod: Pod, serial: number, statement: number, frame: Frame): World {
  const counted = onStatement(ended(world, pod, frame), pod, serial, statement);
  return withPod(counted, pod.uid, (p) => ({ ...p, frame: p.frame && { ...p.frame, dirty: false } }));
}

/** Where a run of versions is: what it was told to run, how many of them it has committed, and its database's table. */
interface Running {
  readonly expected: readonly number[];
  readonly ran: number;
  /** The version that comes next. */
  readonly version: number;
  readonly database: number;
  readonly serial: number;
}

function runningOf(world: World, pod: Pod): Running | undefined {
  const expected = versionsOf(pod.work.plan);
  const ran = pod.ran ?? 0;
  const version = expected[ran];
  if (version === undefined) return undefined;
  const serial = serialOf(world, pod.work.fingerprint);
  return { expected, ran, version, database: databaseOf(pod.work.target), serial };
}

/** How a run of this Pod would end now. */
const runEnd = (pod: Pod, outcome: RunEnd["outcome"], applied: number): RunEnd => ({
  outcome,
  planned: pod.work.plan,
  applied,
});

/** The next version, in one transaction with its row. */
function versionStep(world: World, pod: Pod, name: string): Step | undefined {
  const running = runningOf(world, pod);
  if (running === undefined) return undefined;
  const { expected, ran, version, database, serial } = running;
  const state = world.databases[database]?.state ?? "";
  const ends = (end: RunEnd): World => ended(world, pod, applyFrame(world, pod, "failed", end));
  if (pod.process === "started" && !selects(pod, state)) {
    const none: RunEnd = { outcome: "failed", planned: "", applied: 0 };
    return { say: `${name} finds another sequence than the one approved and refuses`, next: ends(none) };
  }
  if (state !== tableOf(version - 1)) {
    return { say: `${name} finds its session gone`, next: ends(runEnd(pod, "unknown", ran)) };
  }
  const after = setState(world, database, tableOf(version));
  if (ran + 1 < expected.length) {
    const half = withPod(after, pod.uid, (p) => ({ ...p, process: "half", ran: ran + 1 }));
    return { say: `${name} runs version ${version}`, next: onStatement(half, pod, serial, version) };
  }
  const frame = applyFrame(world, pod, "ok", runEnd(pod, "applied", ran + 1));
  return { say: `${name} runs version ${version} and ends`, next: endedAfter(after, pod, serial, version, frame) };
}

/** Under its lock the executor compares what it selects with what was approved, before anything changes. */
function selects(pod: Pod, state: string): boolean {
  const content = contentOf(pod.work.content);
  return runnable(state, content) && wordOf(pendingOf(state, content)) === pod.work.plan;
}

/** The ways in which a version of a run can end otherwise than applied, each with what it leaves in the database. */
export function runFaults(world: World, pod: Pod, name: string): Step[] {
  const running = insideVersion(world, pod);
  if (running === undefined) return [];
  const { ran, version, database, serial } = running;
  const state = tableOf(version - 1);
  const end = (say: string, outcome: RunEnd["outcome"], left: string, applied = ran): Step => {
    const frame = applyFrame(world, pod, "failed", runEnd(pod, outcome, applied));
    return {
      say: `${name}: ${say}`,
      next: endedAfter(setState(world, database, left), pod, serial, version, frame),
    };
  };
  const dirty = tableOf(version - 1, "!");
  return [
    end(`version ${version} fails and is rolled back`, "failed", state),
    end(`version ${version} fails and leaves its row`, "failed", dirty),
    end(`version ${version} stops half-way`, "partial", dirty),
    end(`version ${version} commits and the answer is lost`, "unknown", tableOf(version)),
    end(`version ${version} may have committed and has not`, "unknown", state),
  ];
}

/** A process that dies inside a version that runs outside a transaction. */
export function diesInside(world: World, pod: Pod): World | undefined {
  const running = insideVersion(world, pod);
  if (running === undefined) return undefined;
  const { version, database, serial } = running;
  const left = setState(world, database, tableOf(version - 1, "!"));
  return onStatement(ended(left, pod, undefined), pod, serial, version);
}

/** The run of a Pod that is about to commit a version. */
function insideVersion(world: World, pod: Pod): Running | undefined {
  const { work, process } = pod;
  const began = process === "started" || process === "half";
  const running = work.family === "migration" && began ? runningOf(world, pod) : undefined;
  if (running === undefined) return undefined;
  const state = world.databases[running.database]?.state ?? "";
  if (state !== tableOf(running.version - 1)) return undefined;
  return process === "half" || selects(pod, state) ? running : undefined;
}
