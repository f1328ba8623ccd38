/**
 * One way to end a claim that nothing came of: withdraw (Apply), discard and give way (readings). One patch: the claim
 * cleared, and the release staged of a Lease the claim took itself; a record's reading owns none. A withdraw removes the
 * mirror in a move before.
 */

import { annotation } from "../../crds/names.ts";
import type { Claim, LockRelease } from "../../crds/status/index.ts";
import { type Change, type Context, need, patch, patchMetadata, type Status } from "../context.ts";
import type { Move, RuleId } from "../move.ts";

/** The Lease a claim took for itself: its realm and holder, whether or not the epoch was stored yet. */
export function ownLease(c: Context, claim: Claim): { readonly digest: string; readonly holder: string } | undefined {
  const { coordinationDigest, leaseHolder } = claim;
  if (claim.proves !== undefined || coordinationDigest === undefined || leaseHolder === undefined) return undefined;
  return c.family.takesLease(claim.type) ? { digest: coordinationDigest, holder: leaseHolder } : undefined;
}

/** The release of a claim's own Lease, naming the epoch the Lease shows; a look where it was not read yet. */
export function releaseOfOwnLease(
  c: Context,
  rule: RuleId,
  claim: Claim,
): { readonly look: Move } | { readonly release: LockRelease | undefined } {
  const own = ownLease(c, claim);
  if (own === undefined) return { release: undefined };
  const look = need(c, rule, { piece: "lease", digest: own.digest });
  if (look !== undefined) return { look };
  const lease = c.view.lease?.value.lease;
  if (lease === undefined || lease === null || lease.holder !== own.holder) return { release: undefined };
  return {
    release: {
      coordinationDigest: own.digest,
      operationID: claim.id,
      holder: own.holder,
      leaseEpoch: lease.epoch,
      leaseDurationSeconds: lease.durationSeconds,
    },
  };
}

/** Ends the claim. `change.set` may move positions; phase and conditions come from `change.cause`. */
export function drop(c: Context, rule: RuleId, claim: Claim, change: Change): Move {
  const mark = c.resource.marks.mirror;
  if (claim.type === "Apply" && mark?.state === "read" && mark.mirror.operationID === claim.id) {
    return patchMetadata(c, "6/unmirror", { annotations: { [annotation.unsettledApply]: null } });
  }
  const lease = releaseOfOwnLease(c, rule, claim);
  if ("look" in lease) return lease.look;
  const ended: Partial<Status> = { activeOperation: undefined };
  if (lease.release !== undefined) ended.pendingLockRelease = lease.release;
  if (claim.type === "Apply") ended.closedOperationID = claim.id;
  return patch(c, rule, { ...change, set: { ...ended, ...change.set } });
}
