/** Rule 3: a Lease that is owed back is given back before anything else, and only the holding that was staged. */
import type { ApplyRecord } from "../../crds/status/index.ts";
import { type Context, need, patch, type Status } from "../context.ts";
import type { Move } from "../move.ts";

/** Stages the release of the Lease that a record kept; nothing where it keeps none. */
export function releaseOfRecord({ lease, operationID }: ApplyRecord): Partial<Status> {
  if (lease === undefined) return {};
  return {
    pendingLockRelease: {
      coordinationDigest: lease.digest,
      operationID,
      holder: lease.holder,
      leaseEpoch: lease.epoch,
      leaseDurationSeconds: lease.durationSeconds,
    },
  };
}

/** Clears the holder on the version read; another holder or epoch, or no Lease, counts as done. */
export function release(c: Context): Move | undefined {
  const owed = c.status.pendingLockRelease;
  if (owed === undefined) return undefined;
  const look = need(c, "3", { piece: "lease", digest: owed.coordinationDigest });
  if (look !== undefined) return look;
  const lease = c.view.lease?.value.lease;
  const done = lease === undefined || lease === null || lease.holder !== owed.holder || lease.epoch !== owed.leaseEpoch;
  if (done) return patch(c, "3", { set: { pendingLockRelease: undefined } });
  return {
    kind: "writeLease",
    rule: "3",
    purpose: "release",
    digest: owed.coordinationDigest,
    over: { uid: lease.uid, resourceVersion: lease.resourceVersion },
    content: {
      holder: "",
      epoch: lease.epoch,
      durationSeconds: lease.durationSeconds,
      acquiredAtMs: lease.acquiredAtMs,
      renewedAtMs: c.nowMs,
      transitions: lease.transitions,
    },
  };
}
