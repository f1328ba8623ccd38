/** A claim as the Job's builder wants it. From the claim; only `spec.execution` and the manager's record are today's. */

import { normalizeEngine } from "../../crds/engine.ts";
import type { Claim } from "../../crds/status/index.ts";
import type { OperationSpec, Work } from "../../workload/operation.ts";
import type { Context } from "../context.ts";
import { GRACE_SECONDS } from "../limits.ts";

export type Built = OperationSpec<Work> | { readonly unbuilt: string };

export function operationOf(c: Context, claim: Claim): Built {
  const { executionBinding } = c.status;
  const { target, coordinationDigest } = claim;
  if (executionBinding === undefined || target === undefined || coordinationDigest === undefined) {
    return { unbuilt: "The claim lacks its target; it is tried again." };
  }
  const work = c.family.work(c, claim);
  if ("unbuilt" in work) return work;
  return {
    resource: {
      apiVersion: c.resource.apiVersion,
      kind: c.family.kind,
      namespace: c.resource.namespace,
      name: c.resource.name,
      uid: c.resource.uid,
    },
    operationID: claim.id,
    attempt: claim.attempt,
    inputFingerprint: claim.inputFingerprint,
    jobName: claim.jobName,
    binding: executionBinding,
    manager: c.view.configuration.manager,
    execution: c.spec.execution as OperationSpec["execution"],
    // Also an Apply's: counted from its Lease, so a Job that starts in its dispatch window ends soon after its execution deadline.
    activeDeadlineSeconds: claim.activeDeadlineSeconds ?? 1,
    terminationGracePeriodSeconds: claim.terminationGracePeriodSeconds ?? GRACE_SECONDS,
    target: {
      engine: normalizeEngine(target.engine) === "mysql" ? "MySQL" : "PostgreSQL",
      urlFrom: { name: target.urlFrom.name, key: target.urlFrom.key },
      ...(target.caFrom === undefined ? {} : { caFrom: { name: target.caFrom.name, key: target.caFrom.key } }),
      coordinationDigest,
    },
    connectTimeout: claim.observation?.connectTimeout ?? c.spec.execution.connectTimeout,
    lockTimeout: claim.observation?.lockTimeout ?? c.spec.policy.lockTimeout,
    ...(claim.admissionSnapshot === undefined ? {} : { admissionSnapshotDigest: claim.admissionSnapshot.digest }),
    work,
  };
}
