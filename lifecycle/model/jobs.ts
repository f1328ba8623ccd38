/** The Job controller, the kubelets and the executor: what happens to Jobs and Pods without any manager. */
import { onStart, onStatement } from "./ghost.ts";
import { admitsJob, admitsPod, commitJob, databaseOf, uidInUse } from "./perform.ts";
import { contentDigestOf, type Frame, GRACE_SECONDS, planOfDigest, SKEW_MS } from "./values.ts";
import {
  type Budget,
  type Creating,
  type Job,
  leftOf,
  type Pod,
  put,
  type Step,
  spend,
  unused,
  type World,
  writerLives,
} from "./world.ts";

const withPod = (world: World, uid: string, change: (pod: Pod) => Pod): World => ({
  ...world,
  pods: put(
    world.pods,
    (p) => p.uid === uid,
    (p) => {
      const next = change(p);
      return { ...next, version: p.version + 1 };
    },
  ),
});

const withJob = (world: World, uid: string, change: (job: Job) => Job): World => ({
  ...world,
  jobs: put(world.jobs, (j) => j.uid === uid, change),
});

const CONTENTS = ["A", "B"] as const;
const contentOf = (digest: string): string => CONTENTS.find((c) => contentDigestOf(c) === digest) ?? "";

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

function createPod(world: World, job: Job): World {
  const pod: Pod = {
    uid: unused("pod", (name) => uidInUse(world, name)),
    jobUID: job.uid,
    jobName: job.name,
    work: job.work,
    operationID: job.operationID,
    version: 1,
    gated: job.work.type === "Apply",
    object: "there",
    process: "waiting",
    terminated: false,
    silent: false,
    log: "none",
  };
  return withJob({ ...world, pods: [...world.pods, pod] }, job.uid, (j) => ({
    ...j,
    made: j.made + 1,
    podRefused: undefined,
  }));
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
  const complete = pods.some((p) => p.frame?.outcome === "ok" && p.object !== "gone");
  const kind = complete ? "Complete" : "Failed";
  return [{ say: `${name} becomes ${kind}`, next: finish(world, job, kind) }];
}

const finish = (world: World, job: Job, terminal: "Complete" | "Failed"): World =>
  withJob(world, job.uid, (j) => ({ ...j, terminal, finishedAt: world.now }));

export function removeJob(world: World, job: Job): World {
  const pods = world.pods.filter((p) => p.jobUID !== job.uid || !p.terminated);
  return {
    ...world,
    jobs: world.jobs.filter((j) => j.uid !== job.uid),
    pods: put(
      pods,
      (p) => p.jobUID === job.uid && p.object === "there",
      (p) => ({ ...p, object: "deleting" as const }),
    ),
  };
}

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

function ended(world: World, pod: Pod, frame: Frame | undefined): World {
  return withPod(world, pod.uid, (p) => ({
    ...p,
    process: "ended",
    terminated: !p.silent && p.object !== "gone",
    log: frame === undefined ? "none" : "frame",
    frame,
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

export function read(world: World, pod: Pod, outcome: Frame["outcome"]): World {
  const { work } = pod;
  // The server's version is read first.
  const otherVersion = outcome === "ok" && work.major !== 0 && work.major !== world.major;
  return ended(world, pod, {
    type: work.type,
    outcome: otherVersion ? "otherVersion" : outcome,
    database: world.secret,
    state: world.databases[world.secret]?.state ?? "",
    desired: contentOf(work.content),
    exclude: work.exclude,
    major: world.major,
    dirty: false,
  });
}

const applyFrame = (world: World, outcome: Frame["outcome"]): Frame => ({
  type: "Apply",
  outcome,
  database: world.secret,
  state: "",
  desired: "",
  exclude: false,
  major: world.major,
  dirty: false,
});

function applySteps(world: World, pod: Pod, name: string): Step[] {
  const { work } = pod;
  const plan = planOfDigest(work.plan);
  const database = databaseOf(work.target);
  const steps: Step[] = [];
  if (plan === undefined) return [];
  if (pod.process === "waiting") {
    if (world.secret !== database || world.now > work.dispatchNotAfter + SKEW_MS) {
      return [{ say: `${name} refuses to start`, next: ended(world, pod, applyFrame(world, "refused")) }];
    }
    const started = withPod(world, pod.uid, (p) => ({ ...p, process: "started" }));
    return [{ say: `${name} starts the executor`, next: onStart(started, { ...pod, process: "started" }) }];
  }
  if (world.now >= work.executionNotAfter) {
    steps.push({ say: `${name} is killed at its execution deadline`, next: ended(world, pod, undefined) });
  }
  const state = world.databases[database]?.state ?? "";
  const serial = serialOf(world, work.fingerprint);
  if (pod.process === "started") {
    if (state !== plan.from) {
      steps.push({
        say: `${name} finds another state than its plan's and refuses`,
        next: ended(world, pod, applyFrame(world, "uncertain")),
      });
      return steps;
    }
    const half = withPod(setState(world, database, `${plan.from}~${plan.to}`), pod.uid, (p) => ({
      ...p,
      process: "half",
    }));
    steps.push({ say: `${name} executes the first statement`, next: onStatement(half, pod, serial, 1) });
    return steps;
  }
  const done = ended(setState(world, database, plan.to), pod, applyFrame(world, "ok"));
  const counted = onStatement(done, pod, serial, 2);
  const kept = withPod(counted, pod.uid, (p) => ({ ...p, frame: p.frame && { ...p.frame, dirty: false } }));
  steps.push({ say: `${name} executes the second statement and ends`, next: kept });
  return steps;
}

const setState = (world: World, database: number, state: string): World => ({
  ...world,
  databases: world.databases.map((d, i) => (i === database ? { state } : d)),
});

/** Serial of the plan of a fingerprint; the plan of an Apply that may run is never deleted. */
function serialOf(world: World, fingerprint: string): number {
  const plan = world.plans.find((p) => p.spec.fingerprint === fingerprint);
  return plan?.spec.serial ?? world.ghost.dispatchedSerial;
}

/** Faults of Jobs, Pods, nodes and logs, each as far as its budget goes. */
export function accidents(world: World): Step[] {
  const steps: Step[] = [];
  const fault = (budget: Parameters<typeof spend>[1], say: string, next: World): void => {
    steps.push({ say: `FAULT ${say}`, next: spend(next, budget), unfair: true });
  };
  for (const pod of world.pods) podAccidents(world, pod, fault);
  for (const job of world.jobs) jobAccidents(world, job, fault);
  return steps;
}

type Fault = (budget: Parameters<typeof spend>[1], say: string, next: World) => void;

const BAD_LOGS = ["late", "lost", "unreadable", "invalid", "otherProtocol"] as const;

function podAccidents(world: World, pod: Pod, fault: Fault): void {
  const name = `the ${pod.work.type} Pod`;
  const running = pod.process !== "ended" && pod.object === "there" && !pod.silent;
  if (running && !pod.gated && leftOf(world, "kill") > 0)
    fault("kill", `${name}'s process dies`, ended(world, pod, undefined));
  if (running && !pod.gated && pod.work.type !== "Apply" && leftOf(world, "readFailed") > 0) {
    fault("readFailed", `${name} fails to read`, read(world, pod, "failed"));
  }
  if (running && pod.work.type === "Plan" && leftOf(world, "planRefused") > 0) {
    fault("planRefused", `${name} is refused a protected table`, read(world, pod, "protected"));
    fault("planRefused", `${name} finds what no plan can be made of`, read(world, pod, "unplannable"));
  }
  if (leftOf(world, "evict") > 0 && pod.object === "there") {
    fault(
      "evict",
      `${name} is deleted`,
      withPod(world, pod.uid, (p) => ({ ...p, object: "deleting" })),
    );
    fault(
      "evict",
      `${name} is force-deleted`,
      withPod(world, pod.uid, (p) => ({ ...p, object: "gone", silent: !p.gated && p.process !== "ended" })),
    );
    if (running && !pod.gated)
      fault(
        "evict",
        `the node of ${name} goes silent`,
        withPod(world, pod.uid, (p) => ({ ...p, silent: true })),
      );
  }
  if (leftOf(world, "log") > 0 && pod.log === "frame" && pod.object === "there") {
    for (const log of BAD_LOGS)
      fault(
        "log",
        `the log of ${name} is ${log}`,
        withPod(world, pod.uid, (p) => ({ ...p, log })),
      );
  }
}

function jobAccidents(world: World, job: Job, fault: Fault): void {
  const name = `the ${job.work.type} Job`;
  const running = job.terminal === undefined;
  if (running && job.made === 1 && leftOf(world, "duplicate") > 0 && admitsPod(world, job)) {
    fault("duplicate", `${name} gets a second Pod`, createPod(world, job));
  }
  if (running && job.made === 0 && job.podRefused !== true && leftOf(world, "podRefused") > 0) {
    fault(
      "podRefused",
      `a quota refuses the Pod of ${name}`,
      withJob(world, job.uid, (j) => ({ ...j, podRefused: true })),
    );
  }
  if (running && job.made === 0 && leftOf(world, "late") > 0 && !world.creating.some((c) => c.job.uid === job.uid)) {
    fault("late", `the create of the Pod of ${name} is under way`, {
      ...world,
      creating: [...world.creating, { kind: "pod", admitted: false, job }],
    });
  }
  if (leftOf(world, "jobDeleted") > 0) fault("jobDeleted", `${name} is deleted`, removeJob(world, job));
  if (leftOf(world, "drift") > 0 && job.operationID !== "tampered") {
    fault(
      "drift",
      `${name}'s operation id is tampered with`,
      withJob(world, job.uid, (j) => ({ ...j, operationID: "tampered" })),
    );
  }
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
  const named = new Set([status?.activeOperation?.jobName, status?.pendingObservation?.job.name]);
  for (const m of world.managers) {
    named.add(m.old?.status.activeOperation?.jobName);
    named.add(m.old?.status.pendingObservation?.job.name);
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
