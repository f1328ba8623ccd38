import { annotation, OPERATION_CONTAINER, RECORDED_GATE } from "../../crds/names.ts";
import type { AdmissionSnapshot } from "../../crds/status/binding.ts";
import type { Job, Pod } from "../../kube/index.ts";
import type { JobFacts, PodFacts } from "../../lifecycle/view.ts";
import { isOneShot, podDifference } from "../../workload/compare.ts";
import { templateDigest } from "../../workload/digest.ts";
import { limits } from "../limits.ts";
import { controllerOf, instantMs } from "./objects.ts";
import { Remembered } from "./remembered.ts";

/** What a Job says. `podRefused` is given by who asked the API server's Events about it. */
export function jobFacts(job: Job, podRefused?: boolean): JobFacts {
  const { metadata } = job;
  const terminal = (job.status?.conditions ?? []).find(
    (condition) => condition.status === "True" && (condition.type === "Complete" || condition.type === "Failed"),
  );
  const ttlSeconds = job.spec.ttlSecondsAfterFinished;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleting: metadata.deletionTimestamp !== undefined,
    ownerUID: controllerOf(metadata),
    operationID: metadata.annotations?.[annotation.operationId] ?? "",
    executionBindingID: metadata.annotations?.[annotation.executionBindingId] ?? "",
    templateDigest: digestOf(job),
    oneShot: isOneShot(job),
    ...(terminal === undefined
      ? {}
      : {
          terminal: terminal.type === "Complete" ? "Complete" : "Failed",
          finishedAtMs: instantMs(job.status?.completionTime ?? terminal.lastTransitionTime),
          ...(terminal.reason === "DeadlineExceeded" ? { cutByDeadline: true } : {}),
        }),
    ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    ...(podRefused === true ? { podRefused } : {}),
  };
}

/** By Job and generation: nobody changes a template without a new generation, and every look and event asks again. */
const digests = new Remembered<string>(limits.templatesRememberedMax);

function digestOf({ metadata, spec }: Job): string {
  const digest = (): string => templateDigest(spec.template);
  return metadata.generation === undefined
    ? digest()
    : digests.getNow(metadata.uid, String(metadata.generation), digest);
}

/** Whether a Pod belongs to a Job: by the Job's name, and by its UID once that is known. Labels are nobody's proof. */
export function isPodOf(pod: Pick<Pod, "metadata">, jobName: string, jobUID: string | undefined): boolean {
  return (pod.metadata.ownerReferences ?? []).some(
    (owner) => owner.kind === "Job" && owner.name === jobName && (jobUID === undefined || owner.uid === jobUID),
  );
}

/** What a Pod says; `job` and `snapshot` are what it is compared with, and a Pod that cannot be compared is not accepted. */
export function podFacts(pod: Pod, job: Job | undefined, snapshot: AdmissionSnapshot | undefined): PodFacts {
  const { metadata } = pod;
  const owner = (metadata.ownerReferences ?? []).find((reference) => reference.kind === "Job");
  const waiting = waitingReason(pod);
  const endedBy = endReason(pod);
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    jobUID: owner?.uid ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    gated: (pod.spec.schedulingGates ?? []).some((gate) => gate.name === RECORDED_GATE),
    terminated: isTerminated(pod),
    accepted: isAccepted(pod, job, snapshot),
    ...(waiting === undefined ? {} : { waiting }),
    ...(endedBy === undefined ? {} : { endedBy }),
  };
}

function isAccepted(pod: Pod, job: Job | undefined, snapshot: AdmissionSnapshot | undefined): boolean {
  if (job === undefined || snapshot === undefined) return false;
  const { name, uid } = job.metadata;
  return (
    podDifference(pod, { template: job.spec.template, job: { name, uid }, snapshot, moment: "Later" }) === undefined
  );
}

/** What the kubelet last said of the operation's container; undefined before it said anything. */
export const operationState = (pod: Pod) =>
  pod.status?.containerStatuses?.find(({ name }) => name === OPERATION_CONTAINER)?.state;

/**
 * The operation's container was seen terminated, or the Pod ended without ever starting it. A Pod that the garbage collector
 * called Failed because its node was lost proves nothing: the process may live on there.
 */
export function isTerminated(pod: Pod): boolean {
  const state = operationState(pod);
  if (state?.terminated !== undefined) return true;
  const ended = pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
  if (!ended || state?.running !== undefined) return false;
  const collected = (pod.status?.conditions ?? []).some(
    (condition) =>
      condition.type === "DisruptionTarget" && condition.status === "True" && condition.reason === "DeletionByPodGC",
  );
  return pod.spec.nodeName === undefined || !collected;
}

const WORD = /^[A-Za-z][A-Za-z0-9]{0,63}$/;

/**
 * A stable word why the operation's container cannot start, and the object that is missing where the kubelet names one; never
 * its whole message, which may quote anything.
 */
function waitingReason(pod: Pod): string | undefined {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const held = statuses
    .map((status) => status.state?.waiting)
    .find(
      (waiting) =>
        waiting?.reason !== undefined && waiting.reason !== "PodInitializing" && waiting.reason !== "ContainerCreating",
    );
  const found = held?.reason;
  const unscheduled = (pod.status?.conditions ?? []).find(
    (condition) => condition.type === "PodScheduled" && condition.status === "False",
  )?.reason;
  const word = found ?? (unscheduled === "SchedulingGated" ? undefined : unscheduled);
  if (word === undefined || !WORD.test(word)) return undefined;
  const missing = missingObject(held?.message ?? "");
  return missing === undefined ? word : `${word} (${missing})`;
}

/** What a container that ended by itself is given as its reason; it says nothing that the result does not. */
const BY_ITSELF: ReadonlySet<string> = new Set(["Completed", "Error"]);

/** The kubelet's or the node's word for why the Pod or its operation container was ended, such as OOMKilled, Init:Error or Evicted. */
function endReason(pod: Pod): string | undefined {
  const before = pod.status?.initContainerStatuses ?? [];
  const ended = [...before, ...(pod.status?.containerStatuses ?? [])]
    .map((status) => status.state?.terminated?.reason)
    .find((reason) => reason !== undefined && !BY_ITSELF.has(reason));
  const word = ended ?? pod.status?.reason;
  if (word !== undefined) return WORD.test(word) ? word : undefined;
  // A container beside the operation's is ended with it; one that failed before it is why it never began.
  const failed = before.some(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return failed && !hasStarted(pod) ? "Init:Error" : undefined;
}

const hasStarted = (pod: Pod): boolean => {
  const state = operationState(pod);
  return state?.terminated !== undefined || state?.running !== undefined;
};

const OBJECT_MISSING = /^(secret|configmap) "([a-z0-9.-]{1,253})" not found$/;
const KEY_MISSING =
  /^couldn't find key ([-._a-zA-Z0-9]{1,253}) in (Secret|ConfigMap) [a-z0-9-]{1,63}\/([a-z0-9.-]{1,253})$/;

/** What the kubelet says is not there, in our words: only the names that the Pod's spec holds anyway. */
export function missingObject(message: string): string | undefined {
  const [, kind, name] = OBJECT_MISSING.exec(message) ?? [];
  if (kind !== undefined && name !== undefined) {
    return `${kind === "secret" ? "Secret" : "ConfigMap"} ${name} does not exist`;
  }
  const [, key, holder, holderName] = KEY_MISSING.exec(message) ?? [];
  return key === undefined ? undefined : `${holder} ${holderName} has no key ${key}`;
}
