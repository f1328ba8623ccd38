/** Faults of Jobs, Pods, nodes and logs, each as far as its budget goes. */
import { admitsPod } from "./perform.ts";
import { contentOf, createPod, ended, read, removeJob, withJob, withPod } from "./pods.ts";
import { pendingOf } from "./revisions.ts";
import { diesInside, runFaults } from "./runs.ts";
import { type Job, leftOf, type Pod, type Step, spend, type World } from "./world.ts";

/** What may go wrong in this world. */
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

function processAccidents(world: World, pod: Pod, name: string, fault: Fault): void {
  if (leftOf(world, "kill") > 0) {
    fault("kill", `${name}'s process dies`, ended(world, pod, undefined));
    const inside = diesInside(world, pod);
    if (inside !== undefined) fault("kill", `${name}'s process dies inside a version`, inside);
  }
  if (leftOf(world, "runFails") > 0) {
    for (const { say, next } of runFaults(world, pod, name)) fault("runFails", say, next);
  }
  if (pod.work.type !== "Apply" && leftOf(world, "readFailed") > 0) {
    fault("readFailed", `${name} fails to read`, read(world, pod, "failed"));
  }
}

/** Readings that are whole and of which no plan comes. */
function refusals(world: World, pod: Pod, name: string, fault: Fault): void {
  const { type, content } = pod.work;
  const state = world.databases[world.secret]?.state ?? "";
  if (type === "History" && pendingOf(state, contentOf(content)).length > 0) {
    fault("planRefused", `${name} says nothing of a pending file`, read(world, pod, "unplannable"));
  }
  if (type !== "Plan") return;
  fault("planRefused", `${name} is refused a protected table`, read(world, pod, "protected"));
  fault("planRefused", `${name} finds what no plan can be made of`, read(world, pod, "unplannable"));
}

function podAccidents(world: World, pod: Pod, fault: Fault): void {
  const name = `the ${pod.work.type} Pod`;
  const running = pod.process !== "ended" && pod.object === "there" && !pod.silent;
  if (running && !pod.gated) processAccidents(world, pod, name, fault);
  if (running && leftOf(world, "planRefused") > 0) refusals(world, pod, name, fault);
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
