/** What a manager sees of Jobs and Pods. */
import type { JobFacts, NamedJobFacts, PodFacts } from "../view.ts";
import type { Job, Pod, World } from "./world.ts";

export const jobFacts = (job: Job, world: World): JobFacts => ({
  name: job.name,
  uid: job.uid,
  resourceVersion: "1",
  deleting: false,
  ownerUID: job.owner,
  operationID: job.operationID,
  executionBindingID: job.epoch,
  templateDigest: job.templateDigest,
  oneShot: true,
  ...(job.terminal === undefined ? {} : { terminal: job.terminal }),
  ...(job.finishedAt === undefined ? {} : { finishedAtMs: job.finishedAt }),
  ...(job.ttlSeconds === undefined ? {} : { ttlSeconds: job.ttlSeconds }),
  ...(job.podRefused === true && !world.pods.some((p) => p.jobUID === job.uid) ? { podRefused: true } : {}),
});

const podFacts = (pod: Pod): PodFacts => ({
  name: `${pod.jobName}-${pod.uid}`,
  uid: pod.uid,
  resourceVersion: String(pod.version),
  jobUID: pod.jobUID,
  deleting: pod.object === "deleting",
  gated: pod.gated,
  terminated: pod.terminated,
  accepted: true,
});

export const podsOf = (world: World, jobName: string): PodFacts[] =>
  world.pods.filter((p) => p.jobName === jobName && p.object !== "gone").map(podFacts);

export function namedJob(world: World, name: string): NamedJobFacts {
  const job = world.jobs.find((j) => j.name === name);
  return { name, job: job === undefined ? null : jobFacts(job, world) };
}
