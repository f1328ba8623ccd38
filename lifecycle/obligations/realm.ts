/**
 * The realm's Lease: taken before a mutating claim (and a Plan that is made under it) goes on, renewed at a third, lost durably
 * (steps 3 and 8, rule 3b). An epoch never used before goes with every change of holder.
 */
import type { Claim, LeaseHolding } from "../../crds/status/index.ts";
import { horizonMs, mayStillWrite, withListed } from "../attempt.ts";
import { type Context, need, patch, patchIfNew, wait } from "../context.ts";
import { LEASE_MARGIN_SECONDS, RENEW_AFTER_PART } from "../limits.ts";
import type { Move, RuleId, WriteLease } from "../move.ts";
import { instantOf, msOf } from "../time.ts";
import type { Attempt, ForeignHolderFacts, LeaseFacts, LeaseOwner } from "../view.ts";

type Lease = NonNullable<LeaseFacts["lease"]>;

/** What identifies one unchanged record of a Lease; the shell remembers since when it has seen it. */
export function leaseRecordKey(lease: Lease): string {
  return `${lease.holder} ${lease.epoch} ${lease.renewedAtMs}`;
}

interface Held extends LeaseHolding {
  /** The claim that holds or uses it, where it was dispatched. */
  readonly dispatched: boolean;
  readonly ofRecord: boolean;
}

/** The Lease a claim or the record holds by what status says. */
export function held(c: Context): Held | undefined {
  const { claim, record } = c;
  if (record?.lease !== undefined) {
    const dispatched = claim?.proves === record.operationID && claim.dispatchStarted === true;
    return { ...record.lease, dispatched, ofRecord: true };
  }
  if (claim === undefined || claim.leaseContinuityLost === true || claim.leaseEpoch === undefined) return undefined;
  const { coordinationDigest: digest, leaseHolder: holder, leaseDurationSeconds: durationSeconds } = claim;
  if (digest === undefined || holder === undefined || durationSeconds === undefined) return undefined;
  return {
    digest,
    holder,
    durationSeconds,
    epoch: claim.leaseEpoch,
    dispatched: claim.dispatchStarted === true,
    ofRecord: false,
  };
}

/** When a held Lease is renewed next. */
export function renewalMs(lease: Lease, durationSeconds: number): number {
  return lease.renewedAtMs + durationSeconds * 1000 * RENEW_AFTER_PART;
}

/** The instant of the next renewal of what is held; far away where nothing is. The Lease was looked at by rule 3b. */
export function nextRenewalMs(c: Context): number {
  const holding = held(c);
  const lease = c.view.lease?.value.lease;
  if (holding === undefined || lease === undefined || lease === null) return Number.POSITIVE_INFINITY;
  // A Lease that somebody else holds by now is not ours to renew.
  if (lease.holder !== holding.holder || lease.epoch !== holding.epoch) return Number.POSITIVE_INFINITY;
  return renewalMs(lease, holding.durationSeconds);
}

/** Rule 3b. */
export function keepLease(c: Context): Move | undefined {
  const holding = held(c);
  if (holding === undefined) return undefined;
  const look = need(c, "3b", { piece: "lease", digest: holding.digest });
  if (look !== undefined) return look;
  const lease = c.view.lease?.value.lease ?? null;
  if (lease !== null && lease.holder === holding.holder && lease.epoch === holding.epoch) {
    if (c.nowMs < renewalMs(lease, holding.durationSeconds)) return undefined;
    return writeLease("3b/renew", "renew", holding.digest, lease, {
      holder: lease.holder,
      epoch: lease.epoch,
      durationSeconds: holding.durationSeconds,
      acquiredAtMs: lease.acquiredAtMs,
      renewedAtMs: c.nowMs,
      transitions: lease.transitions,
      ...(lease.owner === undefined ? {} : { owner: lease.owner }),
    });
  }
  return holding.ofRecord ? recordLeaseLost(c, holding, lease) : claimLeaseLost(c, holding);
}

function claimLeaseLost(c: Context, holding: Held): Move | undefined {
  const { claim } = c;
  if (claim === undefined || !holding.dispatched) return undefined;
  return patch(c, "3b/lost", { set: { activeOperation: { ...claim, leaseContinuityLost: true } }, events: [LOST] });
}

function recordLeaseLost(c: Context, holding: Held, lease: Lease | null): Move | undefined {
  const { claim, record } = c;
  if (record?.lease === undefined) return undefined;
  if (lease !== null && lease.holder === holding.holder && !holding.dispatched) {
    // Taken again by us and not stored: a stop between the Lease and its epoch.
    const adopted = { ...record, lease: { ...record.lease, epoch: lease.epoch } };
    const using =
      claim?.proves === record.operationID ? { activeOperation: { ...claim, leaseEpoch: lease.epoch } } : {};
    return patch(c, "3b/adopt", { set: { ...c.family.withRecord(adopted), ...using } });
  }
  const under = holding.dispatched && claim?.leaseEpoch !== undefined;
  const using = under ? { activeOperation: { ...claim, leaseContinuityLost: true } } : {};
  return patch(c, "3b/lost", {
    set: { ...c.family.withRecord({ ...record, lease: undefined }), ...using },
    events: [LOST],
  });
}

const LOST = {
  type: "Warning",
  reason: "LeaseContinuityLost",
  note: "The database realm's Lease changed hands; what ran under it is not used as evidence.",
} as const;

interface Wanted {
  readonly digest: string;
  readonly holder: string;
  readonly durationSeconds: number;
  readonly owner: LeaseOwner;
}

export type Taking = { readonly move: Move } | { readonly taken: Lease };

/**
 * Takes the realm's Lease for a holder, or says what it waits for. A foreign holder expires only after its whole duration
 * was seen unchanged by this process on a monotonic clock, and the attempt it stands for may no longer write.
 */
export function takeLease(c: Context, rule: RuleId, wanted: Wanted): Taking {
  const look = need(c, rule, { piece: "lease", digest: wanted.digest });
  if (look !== undefined) return { move: look };
  const lease = c.view.lease?.value.lease ?? null;
  if (lease !== null && lease.holder === wanted.holder) return { taken: lease };
  if (lease !== null && lease.holder !== "") {
    const waits = foreign(c, rule, lease);
    if (waits !== undefined) return { move: waits };
  }
  return {
    move: writeLease(rule, "acquire", wanted.digest, lease, {
      holder: wanted.holder,
      epoch: c.view.fresh.epoch,
      durationSeconds: wanted.durationSeconds,
      acquiredAtMs: c.nowMs,
      renewedAtMs: c.nowMs,
      transitions: (lease?.transitions ?? -1) + 1,
      owner: wanted.owner,
    }),
  };
}

/** The move that waits for a foreign holder; undefined once its Lease may be taken. */
function foreign(c: Context, rule: RuleId, lease: Lease): Move | undefined {
  const seen = c.view.memory.leaseUnchanged;
  const since = seen?.record === leaseRecordKey(lease) ? seen.sinceMonotonicMs : c.view.now.monotonicMs;
  const remaining = since + lease.durationSeconds * 1000 - c.view.now.monotonicMs;
  if (remaining > 0) return waitForHolder(c, rule, lease, c.nowMs + remaining);
  const { owner } = lease;
  // A Lease without an attempt behind it, or of a reading, stands for nobody who may write.
  if (owner?.executionNotAfter === undefined) return undefined;
  const look = need(c, rule, { piece: "foreignHolder", holder: lease.holder, owner });
  if (look !== undefined) return look;
  const facts = c.view.foreignHolder?.value;
  if (facts === undefined) return undefined;
  const attempt = foreignAttempt(facts, owner);
  return mayStillWrite(attempt, c.nowMs) ? waitForHolder(c, rule, lease, horizonMs(attempt)) : undefined;
}

/** The foreign attempt with what its Job and Pods show; where its resource is gone, only the Lease's own deadline speaks. */
function foreignAttempt(facts: ForeignHolderFacts, owner: LeaseOwner): Attempt {
  const stored = facts.attempt ?? {
    jobName: owner.jobName,
    pods: [],
    podCount: 0,
    executionNotAfter: owner.executionNotAfter,
    terminationGracePeriodSeconds: LEASE_MARGIN_SECONDS,
    uncertain: true,
  };
  const pods = withListed(stored.pods, stored.podCount, facts.pods);
  const gone = facts.job === null && stored.jobUID !== undefined;
  const jobTerminal = stored.jobTerminal === true || gone || facts.job?.terminal !== undefined;
  return { ...stored, jobTerminal, pods: pods.pods, podCount: pods.podCount };
}

function waitForHolder(c: Context, rule: RuleId, lease: Lease, untilMs: number): Move {
  const { claim } = c;
  const who =
    lease.owner === undefined
      ? "another operation"
      : `${lease.owner.kind} ${lease.owner.namespace}/${lease.owner.name}`;
  const sentence = `Waiting for the database realm's lock, held by ${who}. It ends by itself when that operation does.`;
  const told = patchIfNew(c, `${rule}/held`, {
    cause: {
      at: "realmHeld",
      type: claim?.type ?? "Plan",
      proving: c.record !== undefined,
      sentence,
    },
  });
  const windowMs = claim?.dispatchNotAfter === undefined ? Number.POSITIVE_INFINITY : msOf(claim.dispatchNotAfter);
  return told ?? wait(`${rule}/held`, "the realm's Lease", Math.min(untilMs, nextRenewalMs(c), windowMs));
}

function writeLease(
  rule: RuleId,
  purpose: WriteLease["purpose"],
  digest: string,
  over: Lease | null,
  content: WriteLease["content"],
): WriteLease {
  return {
    kind: "writeLease",
    rule,
    purpose,
    digest,
    content,
    ...(over === null ? {} : { over: { uid: over.uid, resourceVersion: over.resourceVersion } }),
  };
}

/** The two absolute deadlines of an Apply, from the instant its Lease was acquired. */
export function deadlinesOf(acquiredAtMs: number, activeDeadlineSeconds: number) {
  return {
    executionNotAfter: instantOf(acquiredAtMs + activeDeadlineSeconds * 1000),
    dispatchNotAfter: instantOf(acquiredAtMs + activeDeadlineSeconds * 500),
  };
}

/** Step 3 for a claim that takes its own Lease, or uses its record's. Undefined once the claim holds it. */
export function bindRealm(c: Context, rule: RuleId, claim: Claim): Move | undefined {
  const { coordinationDigest, leaseHolder, leaseDurationSeconds } = claim;
  if (!c.family.takesLease(claim.type) || coordinationDigest === undefined || leaseHolder === undefined)
    return undefined;
  const taking = takeLease(c, rule, {
    digest: coordinationDigest,
    holder: leaseHolder,
    durationSeconds: leaseDurationSeconds ?? 0,
    owner: ownerOf(c, claim),
  });
  if ("move" in taking) return taking.move;
  if (taking.taken.epoch === claim.leaseEpoch) return undefined;
  const deadlines =
    claim.type === "Apply" && claim.executionNotAfter === undefined
      ? deadlinesOf(taking.taken.acquiredAtMs, claim.activeDeadlineSeconds ?? 0)
      : {};
  return patch(c, `${rule}/epoch`, {
    set: { activeOperation: { ...claim, leaseEpoch: taking.taken.epoch, ...deadlines } },
  });
}

function ownerOf(c: Context, claim: Claim): LeaseOwner {
  const deadline = claim.activeDeadlineSeconds ?? 0;
  return {
    kind: c.family.kind,
    namespace: c.resource.namespace,
    name: c.resource.name,
    uid: c.resource.uid,
    jobName: claim.jobName,
    ...(claim.type === "Apply"
      ? { executionNotAfter: claim.executionNotAfter ?? instantOf(c.nowMs + deadline * 1000) }
      : {}),
  };
}

/** The owner a record's Lease names: still the Apply's attempt. */
export function ownerOfRecord(c: Context, jobName: string, executionNotAfter: string | undefined): LeaseOwner {
  return {
    kind: c.family.kind,
    namespace: c.resource.namespace,
    name: c.resource.name,
    uid: c.resource.uid,
    jobName,
    ...(executionNotAfter === undefined ? {} : { executionNotAfter }),
  };
}

/** Whether the dispatch window of an Apply has closed. */
export function dispatchClosed(claim: Claim, nowMs: number): boolean {
  return claim.dispatchNotAfter !== undefined && msOf(claim.dispatchNotAfter) <= nowMs;
}
