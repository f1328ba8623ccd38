/**
 * Rule 8: a record makes its proof the next operation, before suspension's gate, generation and the census. While somebody
 * may still write its Pods are watched and nothing else happens.
 */
import { durationMs } from "../../crds/duration.ts";
import type { ApplyRecord, Claim } from "../../crds/status/index.ts";
import { attemptOfRecord, horizonMs, mayStillWrite, withListed } from "../attempt.ts";
import { type Context, claimMove, need, patch, patchIfNew, rest, wait } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { cycleAt, retryAt } from "../positions.ts";
import type { Cause } from "../present.ts";
import { ahead, instantOf, msOf } from "../time.ts";
import { newClaim } from "./claim.ts";
import { snapshotted } from "./cycle.ts";
import { drop } from "./drop.ts";
import { nextRenewalMs, ownerOfRecord, takeLease } from "./realm.ts";
import { releaseOfRecord } from "./release.ts";
import { failureEntry } from "./retry.ts";

export function prove(c: Context): Move | undefined {
  const { record } = c;
  return record === undefined ? undefined : proofOf(c, record);
}

/** What was seen of a record's Job and Pods since, durably; undefined where nothing new is to be said. */
export function seeRecord(c: Context, rule: RuleId, record: ApplyRecord): Move | undefined {
  if (!mayStillWrite(attemptOfRecord(record), c.nowMs)) return undefined;
  const look = recordReads(c, rule, record);
  if (look !== undefined) return look;
  const seen = withWhatIsSeen(c, record);
  return seen.news ? patch(c, `${rule}/pods`, { set: c.family.withRecord(seen.record) }) : undefined;
}

export function recordReads(c: Context, rule: RuleId, record: ApplyRecord): Move | undefined {
  const { name, uid } = record.job;
  return need(
    c,
    rule,
    { piece: "recordJob", name },
    { piece: "recordPods", jobName: name, ...(uid === undefined ? {} : { jobUID: uid }) },
  );
}

/** A record with what its fresh Job and Pods show. */
export function withWhatIsSeen(
  c: Context,
  record: ApplyRecord,
): { readonly record: ApplyRecord; readonly news: boolean; readonly newPod: boolean } {
  const job = c.view.recordJob?.value.job ?? null;
  const ours = job !== null && job.operationID === record.operationID && (record.job.uid ?? job.uid) === job.uid;
  const terminal = record.job.terminal === true || !ours || job?.terminal !== undefined;
  const uid = record.job.uid ?? (ours ? job?.uid : undefined);
  const listed = c.view.recordPods?.value.pods ?? [];
  const evidence = withListed(record.pods ?? [], record.podCount ?? 0, listed);
  const news = evidence.news || terminal !== (record.job.terminal === true) || uid !== record.job.uid;
  if (!news) return { record, news: false, newPod: false };
  return {
    record: {
      ...record,
      job: { ...record.job, ...(uid === undefined ? {} : { uid }), ...(terminal ? { terminal } : {}) },
      pods: [...evidence.pods],
      podCount: evidence.podCount,
    },
    news: true,
    newPod: evidence.newPod,
  };
}

function proofOf(c: Context, record: ApplyRecord): Move | undefined {
  const seen = seeRecord(c, "8", record);
  if (seen !== undefined) return seen;
  const attempt = attemptOfRecord(record);
  if (mayStillWrite(attempt, c.nowMs)) return holding(c, horizonMs(attempt));
  const given = c.family.releasesBeforeProof ? givenBack(c, record) : undefined;
  if (given !== undefined) return given;
  if (!c.family.proofStopsEverything && record.next === undefined) return c.family.afterProof(c, record);
  if (c.spec.suspend) {
    const told = patchIfNew(c, "8/suspended", { cause: { at: "suspended", wayOut: c.family.wayOut(c) } });
    return told ?? restUntil("8/suspended", "Suspended", nextRenewalMs(c));
  }
  const { retryNotBefore } = c.status;
  if (ahead(retryNotBefore, c.nowMs)) {
    return wait("8/retry", "the retry delay", Math.min(msOf(retryNotBefore ?? ""), nextRenewalMs(c)));
  }
  return prepared(c, record) ?? claimProof(c, record);
}

function holding(c: Context, untilMs: number): Move {
  const sentence = `The Apply's Pod may still be writing; its proof starts when it has ended, at the latest at ${instantOf(untilMs)}, and nobody's word settles it before.`;
  const told = patchIfNew(c, "8/holding", { cause: { at: "holding", sentence } });
  return told ?? wait("8/holding", "the end of the Apply's Pod", Math.min(untilMs, nextRenewalMs(c)));
}

const restUntil = (rule: RuleId, verdict: string, untilMs: number): Move =>
  Number.isFinite(untilMs) ? rest(rule, verdict, untilMs) : rest(rule, verdict);

/** What a proof needs before its next claim: a restored record today's inputs, a Plan the record's Lease. */
function prepared(c: Context, record: ApplyRecord): Move | undefined {
  const hold = record.restored === true ? restoredHold(c, record) : undefined;
  if (hold !== undefined) return hold;
  if (record.source === undefined || record.target === undefined) return filled(c, record);
  const unsupported = unsupportedServer(c, record);
  if (unsupported !== undefined) return unsupported;
  if (record.next !== c.family.proofUnderLease || record.lease !== undefined) return undefined;
  return leased(c, record);
}

/** A record put back from metadata is a hold: another realm or target takes no Lease and stays Blocked. */
function restoredHold(c: Context, record: ApplyRecord): Move | undefined {
  const elsewhereRealm = record.coordinationDigest !== c.tools.coordinationDigest(c.resource.namespace, c.spec);
  if (elsewhereRealm && !c.family.proofStopsEverything) return withoutReading(c, record);
  if (elsewhereRealm) {
    return blocked(c, {
      at: "targetMoved",
      sentence: `The unsettled Apply belongs to another database realm than the one declared. Declare that realm again, or establish what it did and use ${c.family.wayOut(c)}.`,
    });
  }
  if (record.source !== undefined && record.generation !== c.resource.generation) {
    const anew = { ...record, source: undefined, next: c.family.proofStart };
    return patch(c, "8/refill", { set: c.family.withRecord(anew) });
  }
  const read = c.family.readTarget(c.status);
  const elsewhere = record.next === c.family.proofUnderLease && read !== record.targetIdentityDigest;
  if (!elsewhere) return undefined;
  const sentence = `The database that was read is not the one the unsettled Apply ran on. Declare that database again, or establish what the Apply did and use ${c.family.wayOut(c)}.`;
  // A Secret that names the right database again is no edit: the database is read again to see it.
  return patch(c, "8/blocked", {
    set: { ...c.family.withRecord({ ...record, next: c.family.proofStart }), retryNotBefore: retryAt(c) },
    cause: { at: "targetMoved", sentence },
  });
}

/** A server nothing here can compare with: its version is forgotten, and learned again at the interval. */
function unsupportedServer(c: Context, record: ApplyRecord): Move | undefined {
  const refusal = c.family.serverRefusal(c, record);
  if (refusal === undefined) return undefined;
  const sentence = `${refusal.sentence} An unsettled Apply waits for it; once it is known what that did, ${c.family.wayOut(c)} ends it.`;
  return patch(c, "8/version", {
    set: {
      ...c.family.withRecord({ ...record, next: c.family.proofStart }),
      ...c.family.server(c).forgotten,
      retryNotBefore: instantOf(c.nowMs + durationMs(c.spec.interval)),
    },
    cause: { at: "blocked", reason: refusal.reason, sentence },
  });
}

/**
 * Before a reading is used Pods are listed again; one the record does not hold is added and the reading thrown away.
 * @param sentence what people are told then
 */
export function spoiled(
  c: Context,
  rule: RuleId,
  claim: Claim,
  record: ApplyRecord,
  sentence: string,
): Move | undefined {
  const look = recordReads(c, rule, record);
  if (look !== undefined) return look;
  const seen = withWhatIsSeen(c, record);
  if (!seen.newPod && !mayStillWrite(attemptOfRecord(seen.record), c.nowMs)) return undefined;
  return drop(c, `${rule}/spoiled`, claim, {
    set: c.family.withRecord({ ...seen.record, next: c.family.proofStart }),
    cause: { at: "holding", sentence },
  });
}

/** Gives back the Lease of an Apply whose record is read without one: nobody may write under it any more. */
function givenBack(c: Context, record: ApplyRecord): Move | undefined {
  if (record.lease === undefined) return undefined;
  return patch(c, "8/release", {
    set: { ...c.family.withRecord({ ...record, lease: undefined }), ...releaseOfRecord(record) },
  });
}

/**
 * The record's own reading cannot be made: it is owed no more, and ordinary cycles read what is declared today. While
 * deleting there are none, and it is owed again at the interval.
 */
function withoutReading(c: Context, record: ApplyRecord): Move {
  const nextReconciliationTime = instantOf(c.nowMs + durationMs(c.spec.interval));
  const position = c.resource.deleting ? { nextReconciliationTime } : { cycle: cycleAt(c, c.family.reads[0]) };
  return patch(c, "8/without", { set: { ...c.family.withRecord({ ...record, next: undefined }), ...position } });
}

function blocked(c: Context, cause: Cause): Move {
  return patchIfNew(c, "8/blocked", { cause }) ?? restUntil("8/blocked", "Blocked", nextRenewalMs(c));
}

/** A record put back from metadata reads under today's source, target and policy. */
function filled(c: Context, record: ApplyRecord): Move {
  const snapshot = snapshotted(c, "8");
  if ("move" in snapshot) return snapshot.move;
  if ("refused" in snapshot && !c.family.proofStopsEverything) return withoutReading(c, record);
  if ("refused" in snapshot) {
    const { reason } = snapshot.refused;
    const sentence = `${snapshot.refused.sentence} An unsettled Apply waits for it; once it is known what that did, ${c.family.wayOut(c)} ends it.`;
    return patch(c, "8/refused", {
      set: { retryNotBefore: retryAt(c) },
      cause: { at: "sourceRefused", reason, sentence },
      journal: [failureEntry(c, "Resolve", reason)],
    });
  }
  return patch(c, "8/fill", {
    set: {
      ...c.family.withRecord({ ...record, ...c.family.todaysBinding(c, snapshot.source) }),
      ...c.family.withSource(snapshot.source),
    },
  });
}

/** Takes the realm again for the Apply's own holder; the epoch goes to the record next. */
function leased(c: Context, record: ApplyRecord): Move | undefined {
  const holder = c.tools.leaseHolder(c.resource.uid, record.operationID);
  const durationSeconds = record.leaseDurationSeconds;
  const taking = takeLease(c, "8/realm", {
    digest: record.coordinationDigest,
    holder,
    durationSeconds,
    owner: ownerOfRecord(c, record.job.name, record.executionNotAfter),
  });
  if ("move" in taking) return taking.move;
  const lease = { digest: record.coordinationDigest, holder, epoch: taking.taken.epoch, durationSeconds };
  return patch(c, "8/epoch", { set: c.family.withRecord({ ...record, lease }) });
}

function claimProof(c: Context, record: ApplyRecord): Move {
  const read = record.next ?? c.family.proofStart;
  const wanted = c.family.proofInputs(c, "8", record, read);
  if ("look" in wanted) return wanted.look;
  const claim = newClaim(c, wanted.inputs);
  return claimMove(c, `8/${read.toLowerCase()}`, {
    set: {
      activeOperation: claim,
      lastAttemptTime: claim.startedAt,
      retryNotBefore: undefined,
      ...(claim.planSerial === undefined ? {} : { planSerial: claim.planSerial }),
    },
    cause: { at: "claimed", type: claim.type, proving: true, approved: false },
  });
}
