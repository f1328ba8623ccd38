/** The Job controller, the kubelets and the executor: what happens to Jobs and Pods without any manager. */

import { succeeded } from "./frames.ts";
import { admitsJob, admitsPod, commitJob } from "./perform.ts";
import { createPod, ended, read, removeJob, withJob, withPod } from "./pods.ts";
import { applySteps } from "./runs.ts";
import { GRACE_SECONDS, SKEW_MS } from "./values.ts";
import {
  type Budget,
  type Creating,
  type Job,
  leftOf,
  type Pod,
  recordOf,
  type Step,
  type World,
  writerLives,
} from "./world.ts";

/** Every step that happens by itself, first those that finish what was begun. */
export function worldSteps(world: World): Step[] {
  const steps = singleSteps(world);
  const step = steps[0];
  // A reading's Job goes on by itself where nothing can come between: its few steps are one.
  return steps.length === 1 && step !== undefined ? [goOn(step)] : steps;
}

/** Budgets that can come between the steps of a reading's Job. */
const BETWEEN: readonly Budget[] = [
  ...(["kill", "evict", "duplicate", "podRefused", "readFailed", "late", "jobDeleted", "drift", "log"] as const),
  ...(["foreign", "retarget", "slow", "planRefused", "serverUpgrade"] as const),
];

function goOn(first: Step): Step {
  const { next } = first;
  if (BETWEEN.some((budget) => leftOf(next, budget) > 0)) return first;
  const more = singleSteps(next);
  const step = more[0];
  if (more.length !== 1 || step === undefined || !isReading(next)) return first;
  return goOn({ say: `${first.say}; ${step.say}`, next: step.next });
}

/** Only readings are under way in the world. */
const isReading = (world: World): boolean =>
  world.pods.every((p) => p.work.type !== "Apply" || p.process === "ended") &&
  world.jobs.every((j) => j.work.type !== "Apply" || j.terminal !== undefined);

function singleSteps(world: World): Step[] {
  const steps: Step[] = [];
  for (const creating of world.creating) steps.push(...creatingSteps(world, creating));
  for (const pod of world.pods) steps.push(...podSteps(world, pod));
  for (const job of world.jobs) steps.push(...jobSteps(world, job));
  return steps;
}

function creatingSteps(world: World, creating: Creating): Step[] {
  const others = world.creating.filter((c) => c !== creating);
  const { job } = creating;
  const what = creating.kind === "job" ? `the late create of the ${job.work.type} Job` : `the late create of a Pod`;
  if (!creating.admitted) {
    const admitted = creating.kind === "job" ? admitsJob(world, job) : admitsPod(world, job);
    return [
      admitted
        ? { say: `${what} is admitted`, next: { ...world, creating: [...others, { ...creating, admitted: true }] } }
        : { say: `${what} is refused by admission`, next: { ...world, creating: others } },
    ];
  }
  const rest = { ...world, creating: others };
  if (creating.kind === "job") {
    const owned = rest.resource?.uid === job.owner;
    return [{ say: `${what} is committed`, next: owned ? commitJob(rest, creating) : rest }];
  }
  const stands = rest.jobs.some((j) => j.uid === job.uid);
  return [{ say: `${what} is committed`, next: stands ? createPod(rest, job) : rest }];
}

function jobSteps(world: World, job: Job): Step[] {
  const pods = world.pods.filter((p) => p.jobUID === job.uid);
  const name = `the ${job.work.type} Job`;
  if (job.terminal !== undefined) {
    const due = job.ttlSeconds !== undefined && (job.finishedAt ?? 0) + job.ttlSeconds * 1000 <= world.now;
    return due ? [{ say: `${name} is collected after its TTL`, next: removeJob(world, job) }] : [];
  }
  const alive = pods.filter((p) => p.object !== "gone" && !p.terminated);
  if (job.deadlineAt <= world.now) {
    if (alive.length === 0) return [{ say: `${name} fails at its deadline`, next: finish(world, job, "Failed") }];
    const doomed = alive.filter((p) => p.object === "there");
    if (doomed.length === 0) return [];
    const next = doomed.reduce((w, p) => withPod(w, p.uid, (q) => ({ ...q, object: "deleting" })), world);
    return [{ say: `${name} passes its deadline: its Pods are to end`, next }];
  }
  if (job.made === 0) {
    if (job.podRefused === true || world.creating.some((c) => c.kind === "pod" && c.job.uid === job.uid)) return [];
    if (!admitsPod(world, job)) {
      return [
        {
          say: `admission refuses a Pod of ${name}`,
          next: withJob(world, job.uid, (j) => ({ ...j, podRefused: true })),
        },
      ];
    }
    return [{ say: `the Job controller creates the Pod of ${name}`, next: createPod(world, job) }];
  }
  if (alive.length > 0) return [];
  const complete = pods.some((p) => p.frame !== undefined && succeeded(p.frame) && p.object !== "gone");
  const kind = complete ? "Complete" : "Failed";
  return [{ say: `${name} becomes ${kind}`, next: finish(world, job, kind) }];
}

const finish = (world: World, job: Job, terminal: "Complete" | "Failed"): World =>
  withJob(world, job.uid, (j) => ({ ...j, terminal, finishedAt: world.now }));

function podSteps(world: World, pod: Pod): Step[] {
  const name = `the ${pod.work.type} Pod`;
  const steps: Step[] = [];
  if (pod.process === "ended") {
    if (!pod.silent && !pod.terminated && pod.object !== "gone") {
      steps.push({
        say: `${name} shows that it ended`,
        next: withPod(world, pod.uid, (p) => ({ ...p, terminated: true })),
      });
    }
    if (pod.object === "deleting" && pod.terminated) {
      steps.push({ say: `${name} is gone`, next: withPod(world, pod.uid, (p) => ({ ...p, object: "gone" })) });
    }
  } else steps.push(...processSteps(world, pod, name));
  if (pod.silent) steps.push({ say: `the node of ${name} reports again`, next: recover(world, pod) });
  if (pod.log === "late" || pod.log === "unreadable") {
    steps.push({
      say: `the log of ${name} can be read`,
      next: withPod(world, pod.uid, (p) => ({ ...p, log: "frame" })),
    });
  }
  return steps;
}

/** A node that reports again ends the process of a Pod that is no longer wanted. */
function recover(world: World, pod: Pod): World {
  return withPod(world, pod.uid, (p) => ({
    ...p,
    silent: false,
    ...(p.object === "gone" ? { process: "ended" as const } : {}),
  }));
}

function processSteps(world: World, pod: Pod, name: string): Step[] {
  if (pod.object === "deleting" && !pod.silent) {
    return [{ say: `${name} is ended by its deletion`, next: ended(world, pod, undefined) }];
  }
  if (pod.gated) return [];
  // A Pod whose object is gone lives on only where the kubelet does not know.
  if (pod.object === "gone" && !pod.silent) return [{ say: `${name} ends`, next: ended(world, pod, undefined) }];
  if (pod.work.type !== "Apply") return [{ say: `${name} reads the database and ends`, next: read(world, pod, "ok") }];
  return applySteps(world, pod, name);
}

/** Ends processes whose absolute deadline, grace and the assumed skew have all passed; the runner does that by itself. */
export function enforceDeadlines(world: World): World {
  const past = (p: Pod): boolean =>
    p.work.type === "Apply" && writerLives(p) && world.now >= p.work.executionNotAfter + GRACE_SECONDS * 1000 + SKEW_MS;
  return world.pods.filter(past).reduce((w, p) => ended(w, p, undefined), world);
}

/** What nobody names, and what can do nothing any more, is forgotten. */
export function forgetFinished(world: World): World {
  const status = world.resource?.status;
  const named = new Set([status?.activeOperation?.jobName, recordOf(status)?.job.name]);
  for (const m of world.managers) {
    named.add(m.old?.status.activeOperation?.jobName);
    named.add(recordOf(m.old?.status)?.job.name);
  }
  // A reading that nobody waits for touches nothing; what ended without a TTL still has to be given one.
  const idle = (j: Job): boolean => (j.terminal === undefined ? j.work.type !== "Apply" : j.ttlSeconds !== undefined);
  const jobs = world.jobs.filter((j) => named.has(j.name) || !idle(j));
  const pods = world.pods.filter((p) => {
    const seen = named.has(p.jobName) || jobs.some((j) => j.uid === p.jobUID);
    return p.process === "ended" || p.work.type !== "Apply" ? seen && p.object !== "gone" : true;
  });
  const same = jobs.length === world.jobs.length && pods.length === world.pods.length;
  return same ? world : { ...world, jobs, pods };
}
