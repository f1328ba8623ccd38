/** How a History is judged: it settles a run's record, holds it, refuses, matches, or publishes the sequence that is pending. */
import type { ApplyRecord, Claim } from "../../crds/status/index.ts";
import type { OperationResult } from "../../workload/result.ts";
import { type Change, type Context, patch } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { spoiled } from "../obligations/prove.ts";
import { planRetired } from "../obligations/retirement.ts";
import { type AttemptFailure, durationMetric, failAttempt, failureEntry, withWayOut } from "../obligations/retry.ts";
import { settled } from "../obligations/settle.ts";
import { cycleAt, cycleEnded, retryAt } from "../positions.ts";
import type { Cause } from "../present.ts";
import { ahead, instantOf } from "../time.ts";
import { type HistoryVerdict, historyStatus, verdictOf } from "./migration-history.ts";
import { planned } from "./migration-plan.ts";
import { type Reading, readFields, unpublished, verification } from "./migration-reading.ts";

const SPOILED = "A Pod of the run came up while the history was read; it is read again.";

export function judgeHistory(
  c: Context,
  rule: RuleId,
  claim: Claim,
  result: OperationResult,
  ttl: Move | undefined,
): Move {
  const { record } = c;
  const again = record === undefined ? undefined : spoiled(c, rule, claim, record, SPOILED);
  if (again !== undefined) return again;
  const { error, migrationHistory: read, targetIdentityDigest: identity } = result;
  if (error !== undefined || read === undefined || identity === undefined) {
    return ttl ?? failed(c, rule, claim, error ?? { code: "result_incomplete", message: "it names no history" });
  }
  const reading: Reading = { claim, read, history: historyStatus(c, read, identity, claim.coordinationDigest) };
  const verdict = verdictOf(read);
  const settles = verdict.kind === "Matched" && record?.targetIdentityDigest === identity;
  if (record !== undefined && !settles) return ttl ?? held(c, rule, reading, record, verdict);
  switch (verdict.kind) {
    case "Matched":
      return ttl ?? ended(c, `${rule}/converged`, reading, { at: "historyMatched", version: read.currentVersion });
    case "Refused":
      return ttl ?? ended(c, `${rule}/refusedPlan`, reading, { ...verdict, at: "historyRefused" });
    case "Unpublishable":
      return ttl ?? unpublished(c, rule, reading, verdict.sentence);
    case "Pending":
      return planned(c, rule, reading, verdict.steps, ttl);
  }
}

function failed(c: Context, rule: RuleId, claim: Claim, error: { readonly code: string; readonly message: string }) {
  const sentence = `${claim.type} ended with ${error.code}: ${error.message}. It is tried again after ${c.spec.execution.failureRetryInterval}.`;
  return failAttempt(c, rule, claim, {
    reason: "OperationFailed",
    sentence,
    unreachable: error.code === "connection_failed",
  });
}

/** A run nobody accounted for stands, and this reading does not settle it: no plan, and its own reading is over. */
function held(c: Context, rule: RuleId, reading: Reading, record: ApplyRecord, verdict: HistoryVerdict): Move {
  const { claim, history } = reading;
  const refusal = verdict.kind === "Refused" ? verdict : undefined;
  const said = verification(
    c,
    reading,
    refusal === undefined && verdict.kind === "Pending" ? "Pending" : "Blocked",
    refusal?.reason ?? (verdict.kind === "Pending" ? "MigrationsPending" : "OutcomeUnknown"),
  );
  const elsewhere = record.targetIdentityDigest !== history.targetIdentityDigest;
  const what = elsewhere
    ? "The database that was read is not the one an unaccounted run was planned for."
    : (refusal?.sentence ?? "Versions are still pending.");
  const sentence = `${what} A run that ended ${record.outcome} is not accounted for, so nothing runs; a reading with nothing pending settles it, and once it is known what it did, so does ${c.family.wayOut(c)}.`;
  return patch(c, `${rule}/unsettled`, {
    set: { ...readFields(c, reading), ...said.set, ...c.family.withRecord({ ...record, next: undefined }) },
    cause: { at: "historyRefused", reason: refusal?.reason ?? "OutcomeUnknown", sentence },
    journal: said.journal,
    metrics: [durationMetric(c, claim, "succeeded")],
  });
}

/** A reading that leaves nothing to run: matched, refused, or the one that settles a run. */
function ended(c: Context, rule: RuleId, reading: Reading, cause: Cause): Move {
  const { claim } = reading;
  const { record } = c;
  const matched = cause.at === "historyMatched";
  const reason = cause.at === "historyRefused" ? cause.reason : "HistoryMatched";
  const said = verification(c, reading, matched ? "InSync" : "Blocked", reason);
  const change: Change = {
    set: {
      ...readFields(c, reading),
      ...said.set,
      plan: undefined,
      ...(record === undefined ? {} : settled(c, record, "Reading")),
    },
    cause,
    journal: said.journal,
    events: [
      ...(matched
        ? [{ type: "Normal" as const, reason: "OperationCompleted", note: "The history holds what the source has." }]
        : []),
      ...planRetired(c.status.plan),
    ],
    metrics: [durationMetric(c, claim, "succeeded")],
  };
  return patch(c, rule, outdated(c, claim) ? { ...change, ...again(c, change) } : change);
}

/** A record's reading of another declaration than today's says nothing of today's. */
function outdated(c: Context, claim: Claim): boolean {
  const { artifact } = c.status;
  const sameSource = claim.source?.contentDigest === artifact?.contentDigest;
  return claim.proves !== undefined && (claim.generation !== c.resource.generation || !sameSource);
}

const again = (c: Context, change: Change): Change => ({
  set: { ...change.set, cycle: cycleAt(c, c.family.reads[0]) },
  cause: {
    at: "dropped",
    leads: "Pending",
    reason: "DesiredStateChanged",
    sentence: "The run is accounted for. What is declared changed since; it is read again.",
  },
});

/**
 * The first failed attempt of a record's own reading ends it: the record stays, and ordinary cycles read what is declared
 * today; while deleting, it is tried again at the interval.
 */
export function historyProofFailed(c: Context, _rule: RuleId, claim: Claim, failure: AttemptFailure): Move | undefined {
  const { record } = c;
  if (record === undefined) return undefined;
  const sentence = withWayOut(c, claim, failure.sentence);
  const position = c.resource.deleting
    ? cycleEnded(c)
    : {
        cycle: cycleAt(c, c.family.reads[0]),
        retryNotBefore: retryAt(c),
        nextReconciliationTime: retryAt(c),
      };
  return patch(c, "6/unproved", {
    set: {
      activeOperation: undefined,
      ...c.family.withRecord({ ...record, next: undefined }),
      ...position,
      ...(c.resource.deleting ? { lastSuccessfulReconciliation: c.status.lastSuccessfulReconciliation } : {}),
    },
    cause: { at: "historyRefused", reason: "OutcomeUnknown", sentence },
    journal: [failureEntry(c, claim.type, failure.reason)],
    events: [{ type: "Warning", reason: "OperationFailed", note: sentence }],
    metrics: [durationMetric(c, claim, "failed")],
  });
}

/** While deleting, the record's own reading is owed again at each interval; else ordinary cycles read. */
export function afterHistoryProof(c: Context, record: ApplyRecord): Move | undefined {
  const { nextReconciliationTime } = c.status;
  if (!c.resource.deleting) return undefined;
  if (ahead(nextReconciliationTime, c.nowMs)) return undefined;
  return patch(c, "8/again", {
    set: {
      ...c.family.withRecord({ ...record, next: "History" }),
      retryNotBefore: undefined,
      nextReconciliationTime: instantOf(c.nowMs),
    },
  });
}
