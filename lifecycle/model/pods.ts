/** What happens to one Pod or Job object, in the hands of the kubelet, the executor or a fault. */

import type { Frame } from "./frames.ts";
import { uidInUse } from "./perform.ts";
import { contentDigestOf } from "./values.ts";
import { type Job, type Pod, put, unused, type World } from "./world.ts";

export const withPod = (world: World, uid: string, change: (pod: Pod) => Pod): World => ({
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

export const withJob = (world: World, uid: string, change: (job: Job) => Job): World => ({
  ...world,
  jobs: put(world.jobs, (j) => j.uid === uid, change),
});

const CONTENTS = ["A", "B"] as const;
export const contentOf = (digest: string): string => CONTENTS.find((c) => contentDigestOf(c) === digest) ?? "";

export function createPod(world: World, job: Job): World {
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

export function ended(world: World, pod: Pod, frame: Frame | undefined): World {
  return withPod(world, pod.uid, (p) => ({
    ...p,
    process: "ended",
    terminated: !p.silent && p.object !== "gone",
    log: frame === undefined ? "none" : "frame",
    frame,
  }));
}

export const setState = (world: World, database: number, state: string): World => ({
  ...world,
  databases: world.databases.map((d, i) => (i === database ? { state } : d)),
});

/** Serial of the plan of a fingerprint; the plan of an Apply that may run is deleted only with the object that owned it. */
export function serialOf(world: World, fingerprint: string): number {
  const plan = world.plans.find((p) => p.spec.fingerprint === fingerprint);
  return plan?.spec.serial ?? world.ghost.dispatchedSerial;
}

export function read(world: World, pod: Pod, outcome: Frame["outcome"]): World {
  const { work } = pod;
  // The server's version is read first.
  const otherVersion = outcome === "ok" && work.major !== 0 && work.major !== world.major;
  return ended(world, pod, {
    family: work.family,
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
