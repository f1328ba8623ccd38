/**
 * Retain (steps 11 and 12): claim and record swap in one patch. The record is made by this one function, whatever the
 * Apply's own account came to, and stands until a reading or a named person settles it.
 */
import type { ApplyRecord, Claim } from "../../crds/status/index.ts";
import type { Context } from "../context.ts";
import type { Outcome } from "../families/family.ts";
import { instantOf } from "../time.ts";

/** What the plan bound that only its family knows of. */
type Bindings = Omit<NonNullable<ApplyRecord["planBindings"]>, "serial" | "contentDigest" | "policyFingerprint">;

/** The record of a dispatched Apply. @param kind what its own account came to */
export function recordOf(
  c: Context,
  claim: Claim,
  outcome: Outcome,
  kind: ApplyRecord["outcome"],
  bindings: Bindings,
): ApplyRecord {
  const { plan, executionBinding } = c.status;
  const seconds = claim.leaseDurationSeconds ?? 0;
  const gone = c.view.job?.how === "fresh" && c.view.job.value.job === null && claim.jobUID !== undefined;
  const held = claim.leaseContinuityLost !== true && claim.leaseEpoch !== undefined && claim.leaseHolder !== undefined;
  return {
    outcome: kind,
    operationID: claim.id,
    generation: claim.generation,
    job: {
      name: claim.jobName,
      ...(claim.jobUID === undefined ? {} : { uid: claim.jobUID }),
      ...(outcome.jobTerminal === true || gone ? { terminal: true } : {}),
    },
    pods: claim.pods,
    podCount: claim.podCount,
    plan: claim.plan,
    ...(plan === undefined
      ? {}
      : {
          planBindings: {
            serial: plan.serial,
            contentDigest: plan.contentDigest,
            policyFingerprint: plan.policyFingerprint,
            ...bindings,
          },
        }),
    approval: claim.approval,
    source: claim.source,
    target: claim.target,
    coordinationDigest: claim.coordinationDigest ?? "",
    targetIdentityDigest: claim.targetIdentityDigest,
    observation: claim.observation,
    binding: executionBinding,
    dispatchedBy: c.view.configuration.manager,
    admissionSnapshot: claim.admissionSnapshot,
    ...(held
      ? {
          lease: {
            digest: claim.coordinationDigest ?? "",
            holder: claim.leaseHolder ?? "",
            epoch: claim.leaseEpoch ?? "",
            durationSeconds: seconds,
          },
        }
      : {}),
    leaseDurationSeconds: seconds,
    executionNotAfter: claim.executionNotAfter,
    terminationGracePeriodSeconds: claim.terminationGracePeriodSeconds,
    ...(outcome.uncertain ? { identityUncertain: true } : {}),
    next: c.family.proofStart,
    recordedAt: instantOf(c.nowMs),
    observeAfter: instantOf(c.nowMs + seconds * 1000),
  };
}
