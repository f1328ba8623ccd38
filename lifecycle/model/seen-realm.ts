/** What a manager sees of the realm: its claimants, its Lease, and the attempt of whoever else holds that. */
import { attemptOfClaim, attemptOfRecord } from "../attempt.ts";
import type { Attempt, CensusFacts, ClaimantFacts, ForeignHolderFacts, LeaseFacts } from "../view.ts";
import { namedJob, podsOf } from "./seen-workloads.ts";
import { NAMESPACE } from "./values.ts";
import { neighbours, realmIn, recordOf, type World } from "./world.ts";

export const OTHER_HOLDER = "ptah-h-other";
export const OTHER_JOB = "other-apply";

/** What the census says of another resource of the joint world. */
function claimantOf({ resource }: World): ClaimantFacts[] {
  if (resource === null) return [];
  const { family, uid, inputs, deleting, status } = resource;
  return [
    {
      family,
      namespace: NAMESPACE,
      name: uid,
      uid,
      sharedRealm: inputs.shared,
      suspended: inputs.suspend,
      deleting,
      engineSupported: inputs.engine === "PostgreSQL",
      owes: status.activeOperation !== undefined || recordOf(status) !== undefined,
    },
  ];
}

export function censusOf(world: World): CensusFacts {
  const claims = world.other.conflicting || world.other.state !== "none";
  const coordinationDigest = realmIn(world);
  const others = neighbours(world).flatMap(claimantOf);
  if (!claims) return { coordinationDigest, others };
  return {
    coordinationDigest,
    others: [
      ...others,
      {
        family: "schema",
        namespace: "other",
        name: "other",
        uid: "other-1",
        sharedRealm: !world.other.conflicting,
        suspended: false,
        deleting: false,
        engineSupported: true,
        owes: world.other.state === "holding" || world.other.state === "writing",
      },
    ],
  };
}

export function leaseOf(world: World): LeaseFacts {
  const { lease } = world;
  if (lease === null) return { digest: realmIn(world), lease: null };
  return {
    digest: realmIn(world),
    lease: {
      uid: lease.uid,
      resourceVersion: String(lease.version),
      holder: lease.holder,
      epoch: lease.epoch,
      durationSeconds: lease.durationSeconds,
      acquiredAtMs: lease.acquiredAt,
      renewedAtMs: lease.renewedAt,
      transitions: lease.transitions,
      ...(lease.owner === undefined ? {} : { owner: lease.owner }),
    },
  };
}

/** The attempt of another resource that a Lease's owner names; nothing else of it may write. */
function attemptIn({ resource }: World, jobName: string): Attempt | null {
  const claim = resource?.status.activeOperation;
  const record = recordOf(resource?.status);
  if (record !== undefined && record.job.name === jobName) return attemptOfRecord(record);
  if (claim === undefined || claim.jobName !== jobName) return null;
  if (claim.type === "Apply" && claim.dispatchStarted === true) return attemptOfClaim(claim);
  return { jobName, pods: [], podCount: 0, executionNotAfter: "1970-01-01T00:00:00Z", uncertain: false };
}

export function foreignOf(world: World, holder: string): ForeignHolderFacts {
  const owner = world.lease?.owner;
  const peer = neighbours(world).find(({ resource }) => resource !== null && resource.uid === owner?.uid);
  if (peer !== undefined && owner !== undefined) {
    const { job } = namedJob(peer, owner.jobName);
    return { holder, attempt: attemptIn(peer, owner.jobName), job, pods: podsOf(peer, owner.jobName) };
  }
  if (holder !== OTHER_HOLDER) return { holder, attempt: null, job: null, pods: [] };
  const { other } = world;
  const gone = other.state === "idle" || other.state === "none";
  return {
    holder,
    attempt: gone
      ? null
      : {
          jobName: OTHER_JOB,
          jobUID: "other-job",
          jobTerminal: other.state === "done",
          pods: [{ uid: "other-pod", terminated: other.state === "done" }],
          podCount: 1,
          executionNotAfter: new Date(other.writesUntil).toISOString(),
          terminationGracePeriodSeconds: 30,
          uncertain: false,
        },
    job: null,
    pods: [],
  };
}
