/**
 * Resolve the admission envelope (step 4, seed 002): everything outside the Job that changes its Pod is bound by UID and
 * resourceVersion before any Job carries its digest. Nothing is created in the pass that writes it.
 */
import type { Claim } from "../../crds/status/index.ts";
import type { OperationSpec, Work } from "../../workload/operation.ts";
import { type Change, type Context, need, patch } from "../context.ts";
import type { Move } from "../move.ts";
import { cycleAt, retryAt } from "../positions.ts";
import { drop, releaseOfOwnLease } from "./drop.ts";
import { operationOf } from "./operation.ts";
import { failureEntry, failureMetric, nextAttempt, withWayOut } from "./retry.ts";

/** The move that brings the claim to a Job it can dispatch, or that Job. */
export function enveloped(c: Context, claim: Claim): { readonly move: Move } | { readonly job: OperationSpec<Work> } {
  const built = operationOf(c, claim);
  if ("unbuilt" in built) return { move: unbuilt(c, claim, built.unbuilt) };
  const templateDigest = c.tools.templateDigest(built);
  const stored = claim.admissionSnapshot;
  if (stored?.templateDigest === templateDigest) return { job: built };
  if (stored !== undefined && claim.admissionSnapshotRefreshed === true) {
    return { move: unbuilt(c, claim, "The Job's template changed twice while it was prepared. It is prepared anew.") };
  }
  const look = need(c, "6/envelope", { piece: "envelope" });
  if (look !== undefined) return { move: look };
  const facts = c.view.envelope?.value;
  if (facts === undefined || facts.state === "unresolved") {
    return { move: unbuilt(c, claim, facts?.sentence ?? "The Pod's environment could not be read.") };
  }
  const admissionSnapshot = c.tools.sealSnapshot(facts.snapshot, templateDigest);
  const refreshed = stored === undefined ? {} : { admissionSnapshotRefreshed: true };
  return {
    move: patch(c, stored === undefined ? "6/envelope" : "6/refresh", {
      set: { activeOperation: { ...claim, admissionSnapshot, ...refreshed } },
      ...(stored === undefined ? {} : { events: [REFRESHED] }),
    }),
  };
}

const REFRESHED = {
  type: "Normal",
  reason: "AdmissionSnapshotRefreshed",
  note: "The Job's template changed before it was created, usually because the manager was updated; its snapshot was taken again.",
} as const;

/**
 * No Job exists and none can be built now: Failed with the cause, and the claim tries again or is cleared, as the family
 * has it. An Apply that stays gives its Lease back meanwhile, with epoch, deadlines and snapshot cleared in the same patch.
 */
export function unbuilt(c: Context, claim: Claim, cause: string): Move {
  const sentence = withWayOut(c, claim, cause);
  if (!c.family.keepsUnbuiltClaim) return unbuiltCleared(c, claim, sentence);
  const lease = releaseOfOwnLease(c, "6/unbuilt", claim);
  if ("look" in lease) return lease.look;
  const cleared: Claim = {
    ...(claim.type === "Apply" ? claim : nextAttempt(c, claim)),
    admissionSnapshot: undefined,
    admissionSnapshotRefreshed: undefined,
  };
  if (claim.proves === undefined) cleared.leaseEpoch = undefined;
  if (claim.type === "Apply") {
    cleared.executionNotAfter = undefined;
    cleared.dispatchNotAfter = undefined;
  }
  return patch(c, "6/unbuilt", {
    set: {
      activeOperation: cleared,
      retryNotBefore: retryAt(c),
      ...(lease.release === undefined ? {} : { pendingLockRelease: lease.release }),
    },
    ...told(c, claim, sentence),
  });
}

const told = (c: Context, claim: Claim, sentence: string): Change => ({
  cause: { at: "unbuilt", sentence },
  journal: [failureEntry(c, claim.type, "ConfigurationError")],
  events: [{ type: "Warning", reason: "OperationFailed", note: sentence }],
  metrics: [failureMetric(claim.type.toLowerCase(), "configuration")],
});

/** The claim is cleared and the source resolved anew after the retry delay. */
function unbuiltCleared(c: Context, claim: Claim, sentence: string): Move {
  const failure = { reason: "ConfigurationError", sentence, category: "configuration" } as const;
  const proof = claim.proves === undefined ? undefined : c.family.proofFailed(c, "6/unbuilt", claim, failure);
  if (proof !== undefined) return proof;
  return drop(c, "6/unbuilt", claim, {
    ...told(c, claim, sentence),
    set: { cycle: cycleAt(c, c.family.reads[0]), retryNotBefore: retryAt(c) },
  });
}
