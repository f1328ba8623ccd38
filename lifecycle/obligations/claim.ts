/** The claim: the durable word for an operation, with its Job's name, before any Job exists (seed 000, "Claim"). */
import type { Json } from "../../crds/canonical.ts";
import type { Claim } from "../../crds/status/index.ts";
import type { Context } from "../context.ts";
import type { ClaimInputs } from "../families/family.ts";
import { GRACE_SECONDS } from "../limits.ts";
import { instantOf } from "../time.ts";

/** A new claim of today's binding. Its id holds a fresh nonce, so no other claim ever has its Job's name. */
export function newClaim(c: Context, inputs: ClaimInputs): Claim {
  const binding = c.status.executionBinding;
  const inputFingerprint = c.tools.digest({
    operation: inputs.type,
    resource_uid: c.resource.uid,
    execution_binding: (binding ?? null) as Json,
    inputs: inputs as unknown as Json,
  });
  const id = c.tools.digest({ input: inputFingerprint, nonce: c.view.fresh.nonce });
  const leaseHolder = c.family.takesLease(inputs.type)
    ? (inputs.leaseHolder ?? c.tools.leaseHolder(c.resource.uid, id))
    : undefined;
  const claim: Claim = {
    ...inputs,
    id,
    inputFingerprint,
    startedAt: instantOf(c.nowMs),
    attempt: 1,
    executionBindingID: binding?.epoch ?? "",
    jobName: "",
    terminationGracePeriodSeconds: GRACE_SECONDS,
    activeDeadlineSeconds: c.spec.execution.activeDeadlineSeconds,
  };
  if (leaseHolder !== undefined) {
    claim.leaseHolder = leaseHolder;
    claim.leaseDurationSeconds =
      inputs.leaseDurationSeconds ?? c.family.leaseSeconds(inputs.type, c.spec.execution.activeDeadlineSeconds);
  }
  return { ...claim, jobName: jobNameOf(c, claim) };
}

/** The deterministic name of a claim's Job for one attempt. */
export function jobNameOf(c: Context, claim: Claim): string {
  return c.tools.jobName({
    family: c.family.name,
    name: c.resource.name,
    uid: c.resource.uid,
    operation: claim.type,
    operationId: claim.id,
    bindingEpoch: claim.executionBindingID,
    inputFingerprint: claim.inputFingerprint,
    attempt: claim.attempt,
  });
}
