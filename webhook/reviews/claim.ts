import { API_VERSION } from "../../crds/common.ts";
import type { PtahSchema } from "../../crds/ptahschema.ts";
import type { Claim } from "../../crds/status/lifecycle.ts";
import type { Custom, Job } from "../../kube/index.ts";
import { type JobExpectation, jobDifference } from "../../workload/compare.ts";
import type { Job as WorkloadJob } from "../../workload/kubernetes.ts";
import type { ReviewedObject } from "../review.ts";

type OwnerReferences = NonNullable<ReviewedObject["metadata"]["ownerReferences"]>;

/** The PtahSchema that an object's one controller reference names, or undefined. */
export function owningSchema(
  owners: OwnerReferences | undefined,
): { readonly name: string; readonly uid: string } | undefined {
  const owner = owners?.[0];
  const ours = owners?.length === 1 && owner?.controller === true && owner.kind === "PtahSchema";
  return ours && owner?.apiVersion === API_VERSION ? { name: owner.name, uid: owner.uid } : undefined;
}

/**
 * Whether a Job is the one that a schema's claim has dispatched (lifecycle: the create is fenced from outside). A record's
 * Job is nobody's claim.
 * @returns what is wrong, or undefined
 */
export function dispatchedProblem(
  schema: Custom<PtahSchema>,
  job: Job | WorkloadJob,
  uid: string | undefined,
  stateVersion: number,
): string | undefined {
  const version = schema.status?.executionBinding?.controllerStateVersion ?? 0;
  if (version > stateVersion) {
    return `the schema was written under contract version ${version}, and this operator knows ${stateVersion}; upgrade the operator`;
  }
  const claim = schema.status?.activeOperation;
  if (claim === undefined || claim.jobName !== job.metadata.name) {
    return "the schema's active operation does not name this Job; only the operator starts operations";
  }
  if (claim.dispatchStarted !== true) return "the schema's active operation is not dispatched";
  const snapshot = claim.admissionSnapshot;
  if (snapshot === undefined) return "the schema's active operation holds no admission snapshot";
  const difference = jobDifference(job as WorkloadJob, expectation(schema, claim, snapshot.templateDigest, uid));
  return difference === undefined ? undefined : `this Job is not the one that was dispatched: ${difference}`;
}

function expectation(
  schema: Custom<PtahSchema>,
  claim: Claim,
  templateDigest: string,
  uid: string | undefined,
): JobExpectation {
  const { name, namespace = "", uid: ownerUid } = schema.metadata;
  return {
    namespace,
    name: claim.jobName,
    owner: { kind: "PtahSchema", name, uid: ownerUid },
    operationID: claim.id,
    epoch: claim.executionBindingID,
    templateDigest,
    uid,
  };
}
