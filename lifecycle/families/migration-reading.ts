/** What every way to end a reading of the history has in common. */
import type { Claim, JournalEntry, MigrationHistory, MigrationRun, RunVerification } from "../../crds/status/index.ts";
import type { MigrationHistory as ReadHistory } from "../../workload/migration.ts";
import { type Context, patch, type Status } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import { durationMetric, failureEntry } from "../obligations/retry.ts";
import { cycleAt, cycleEnded, retryAt } from "../positions.ts";

/** One reading that came back whole. */
export interface Reading {
  readonly claim: Claim;
  readonly read: ReadHistory;
  readonly history: MigrationHistory;
}

/** What the first reading after a run says of it, where the run named the database that was read. */
export function verification(
  c: Context,
  { history }: Reading,
  outcome: RunVerification["outcome"],
  reason: string,
): { readonly set: Partial<Status>; readonly journal: readonly JournalEntry[] } {
  const { lastRun } = c.status;
  const first = lastRun !== undefined && lastRun.verification === undefined;
  if (!first || lastRun.targetIdentityDigest !== history.targetIdentityDigest) return { set: {}, journal: [] };
  const { observedAt, fingerprint } = history;
  const run: MigrationRun = {
    ...lastRun,
    verification: { outcome, reason, historyFingerprint: fingerprint, observedAt },
  };
  const entry: JournalEntry = {
    type: "Verified",
    time: observedAt,
    operationID: lastRun.operationID,
    ...(lastRun.plan === undefined ? {} : { plan: lastRun.plan }),
    outcome,
    reason,
  };
  return { set: { lastRun: run }, journal: [entry] };
}

/** Fields of every patch that ends a reading which came back whole. */
export function readFields(c: Context, { history }: Reading): Partial<Status> {
  return { activeOperation: undefined, retryNotBefore: undefined, history, ...cycleEnded(c) };
}

/** Failed without a claim: what cannot be published is resolved anew after the retry delay. */
export function unpublished(c: Context, rule: RuleId, { claim, history }: Reading, sentence: string): Move {
  return patch(c, `${rule}/unpublished`, {
    set: {
      activeOperation: undefined,
      history,
      plan: undefined,
      cycle: cycleAt(c, c.family.reads[0]),
      retryNotBefore: retryAt(c),
      nextReconciliationTime: retryAt(c),
    },
    cause: { at: "unpublished", sentence },
    journal: [failureEntry(c, claim.type, "OperationFailed")],
    events: [{ type: "Warning", reason: "OperationFailed", note: sentence }],
    metrics: [durationMetric(c, claim, "failed")],
  });
}
