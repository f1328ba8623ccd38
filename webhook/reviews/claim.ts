import { API_VERSION } from "../../crds/common.ts";
import type { Claim } from "../../crds/status/lifecycle.ts";
import type { Job } from "../../kube/index.ts";
import { type JobExpectation, jobDifference } from "../../workload/compare.ts";
import type { Job as WorkloadJob } from "../../workload/kubernetes.ts";
import type { ReviewedObject } from "../review.ts";
import { writtenByNewer } from "./contract.ts";
import { FAMILIES, type Family, type Subject } from "./family.ts";

type OwnerReferences = NonNullable<ReviewedObject["metadata"]["ownerReferences"]>;

export interface Owner {
  readonly family: Family;
  readonly name: string;
  readonly uid: string;
}

/** The resource of ours that an object's one controller reference names, or undefined. */
export function owningSubject(owners: OwnerReferences | undefined): Owner | undefined {
  const owner = owners?.[0];
  if (owner === undefined || owners?.length !== 1 || owner.controller !== true) return undefined;
  const family = owner.apiVersion === API_VERSION ? FAMILIES.find(({ kind }) => kind === owner.kind) : undefined;
  return family === undefined ? undefined : { family, name: owner.name, uid: owner.uid };
}

/**
 * Whether a Job is the one that a resource's claim has dispatched (lifecycle: the create is fenced from outside). A
 * record's Job is nobody's claim.
 * @returns what is wrong, or undefined
 */
export function dispatchedProblem(
  family: Family,
  subject: Subject,
  job: Job | WorkloadJob,
  uid: string | undefined,
  stateVersion: number,
): string | undefined {
  const { noun } = family;
  const newer = writtenByNewer(subject, stateVersion);
  if (newer !== undefined) return newer;
  const claim = subject.status?.activeOperation;
  if (claim === undefined || claim.jobName !== job.metadata.name) {
    return `the ${noun}'s active operation does not name this Job; only the operator starts operations`;
  }
  if (claim.dispatchStarted !== true) return `the ${noun}'s active operation is not dispatched`;
  const snapshot = claim.admissionSnapshot;
  if (snapshot === undefined) return `the ${noun}'s active operation holds no admission snapshot`;
  const expected = expectation(family, subject, claim, snapshot.templateDigest, uid);
  const difference = jobDifference(job as WorkloadJob, expected);
  return difference === undefined ? undefined : `this Job is not the one that was dispatched: ${difference}`;
}

function expectation(
  { kind }: Family,
  subject: Subject,
  claim: Claim,
  templateDigest: string,
  uid: string | undefined,
): JobExpectation {
  const { name, namespace = "", uid: ownerUid } = subject.metadata;
  return {
    namespace,
    name: claim.jobName,
    owner: { kind, name, uid: ownerUid },
    operationID: claim.id,
    epoch: claim.executionBindingID,
    templateDigest,
    uid,
  };
}
