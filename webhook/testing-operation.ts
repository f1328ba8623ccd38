/** The claim, Job and Pod of one operation, for the tests of this room. */
import type { Claim } from "../crds/status/lifecycle.ts";
import type { Job } from "../kube/index.ts";
import { templateDigest } from "../workload/digest.ts";
import { DEFAULT_ADMISSION_FLAGS, resolveEnvelope, sealSnapshot } from "../workload/envelope.ts";
import { buildJob, buildTemplate } from "../workload/job.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { ReviewedObject } from "./review.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");
export const DISPATCH_NOT_AFTER = "2026-03-01T12:07:30Z";
export const EXECUTION_NOT_AFTER = "2026-03-01T12:15:00Z";

export interface OperationObjects {
  /** Dispatched and not confirmed yet. */
  readonly claim: Claim;
  /** The Job as the manager sends it. */
  readonly job: ReviewedObject;
  /** The Job as it is stored: with a UID and the Job controller's labels in its template. */
  readonly storedJob: () => Job;
  /** The Pod that the Job controller makes of it, after the API server's own admission. */
  readonly podObject: (spec?: Record<string, unknown>, metadata?: Record<string, unknown>) => ReviewedObject;
}

/**
 * @param unsealed the operation without the digest of its snapshot
 * @param jobUID of the stored Job
 */
export function operationObjects(unsealed: OperationSpec<Work>, jobUID = "job-1"): OperationObjects {
  const snapshot = snapshotOf(unsealed);
  const operation = { ...unsealed, admissionSnapshotDigest: snapshot.digest };
  const { work, jobName } = operation;
  const claim: Claim = {
    type: work.type,
    id: operation.operationID,
    inputFingerprint: operation.inputFingerprint,
    startedAt: NOW.toISOString(),
    attempt: 1,
    generation: 1,
    executionBindingID: operation.binding.epoch,
    jobName,
    ...(work.type === "Apply" && {
      dispatchNotAfter: work.dispatchNotAfter,
      executionNotAfter: work.executionNotAfter,
    }),
    admissionSnapshot: snapshot,
    dispatchStarted: true,
  };
  const storedJob = (): Job => storedOf(buildJob(operation), jobName, jobUID);
  return {
    claim,
    job: buildJob(operation) as unknown as ReviewedObject,
    storedJob,
    podObject: (spec = {}, metadata = {}) => podOf(storedJob(), spec, metadata),
  };
}

function snapshotOf(unsealed: OperationSpec<Work>) {
  const serviceAccount = { metadata: { name: "default", uid: "sa-1", resourceVersion: "1" } };
  const objects = { serviceAccount, limitRanges: [], runtimeClass: undefined, priorityClasses: [] };
  const envelope = resolveEnvelope({}, objects, DEFAULT_ADMISSION_FLAGS);
  if (!envelope.ok) throw new Error(envelope.sentence);
  return sealSnapshot(envelope.snapshot, templateDigest(buildTemplate(unsealed)));
}

function storedOf(built: ReturnType<typeof buildJob>, name: string, uid: string): Job {
  const generated = {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  };
  const { template } = built.spec;
  const labels = { ...template.metadata?.labels, ...generated };
  return {
    ...built,
    metadata: { ...built.metadata, name, uid, resourceVersion: "5" },
    spec: { ...built.spec, template: { ...template, metadata: { ...template.metadata, labels } } },
  } as unknown as Job;
}

function podOf(job: Job, spec: Record<string, unknown>, metadata: Record<string, unknown>): ReviewedObject {
  const { template } = job.spec;
  const { name, namespace, uid } = job.metadata;
  const owner = { apiVersion: "batch/v1", kind: "Job", name, uid, controller: true, blockOwnerDeletion: true };
  const toleration = (key: string) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name.slice(0, 57)}-abcde`,
      generateName: `${name}-`,
      namespace,
      uid: "pod-1",
      labels: template.metadata?.labels,
      annotations: template.metadata?.annotations,
      finalizers: ["batch.kubernetes.io/job-tracking"],
      ownerReferences: [owner],
      ...metadata,
    },
    spec: {
      ...template.spec,
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
      tolerations: [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")],
      ...spec,
    },
  } as unknown as ReviewedObject;
}
