/**
 * How a run ends: by its own document where there is one, else unknown. Partial and unknown leave a record that refuses
 * every later Apply; any other run that selected something is read back once.
 */
import { HELD_RUN } from "../../crds/reason.ts";
import type { ApplyRecord, Claim, JournalEntry, MigrationRun, RunOutcome } from "../../crds/status/index.ts";
import { outcomeIsUncertain, type MigrationRun as RunDocument } from "../../workload/migration.ts";
import type { OperationResult } from "../../workload/result.ts";
import { attemptOfClaim, mayStillWrite } from "../attempt.ts";
import { type Context, patch, type Status } from "../context.ts";
import { MESSAGE_MAX } from "../limits.ts";
import type { MetricTransition, Move, RuleId } from "../move.ts";
import { releaseOfOwnLease } from "../obligations/drop.ts";
import { recordOf } from "../obligations/retain.ts";
import { durationMetric, failureMetric } from "../obligations/retry.ts";
import { cycleAt, retryAt } from "../positions.ts";
import { instantOf } from "../time.ts";
import type { Judged, Outcome } from "./family.ts";
import { migrationPlan } from "./migration-fields.ts";

const OUTCOMES: Readonly<Record<RunDocument["outcome"], RunOutcome>> = {
  "up-to-date": "UpToDate",
  applied: "Applied",
  "dry-run": "Unknown",
  failed: "Failed",
  partial: "Partial",
  unknown: "Unknown",
};

/** A child that was started on another database is uncertain; a refusal before the child ran nothing. */
const elsewhere = (claim: Claim, result: OperationResult): boolean =>
  result.childStarted &&
  (result.targetIdentityDigest !== claim.targetIdentityDigest ||
    result.coordinationDigest !== claim.coordinationDigest);

function runOutcome(claim: Claim, result: OperationResult | undefined): RunOutcome {
  if (result === undefined || elsewhere(claim, result)) return "Unknown";
  if (!result.childStarted) return "Failed";
  return result.migrationRun === undefined ? "Unknown" : OUTCOMES[result.migrationRun.outcome];
}

const versions = (list: readonly number[]): string =>
  list.length === 0 ? "nothing" : `${list.length} version${list.length === 1 ? "" : "s"}`;
/** Of a run that may have left a part of a version. */
const whole = (list: readonly number[]): string =>
  list.length === 0 ? "no whole version" : `${list.length} whole version${list.length === 1 ? "" : "s"}`;

export function judgeRun(claim: Claim, result: OperationResult): Judged {
  const { migrationRun: run, error } = result;
  const why = error === undefined ? "" : ` (${error.code}: ${error.message})`;
  if (elsewhere(claim, result)) {
    return { unknown: true, sentence: "The run was started on another database than the one its plan was made for." };
  }
  if (!result.childStarted)
    return { unknown: false, sentence: `The run was refused before it started${why}; nothing was run.` };
  if (run === undefined) return { unknown: true, sentence: `The run left no account of itself${why}.` };
  const unknown = outcomeIsUncertain(run.outcome) || run.outcome === "dry-run";
  return { unknown, sentence: runSentence(run, error) };
}

/** The executor's own sentence says where it stopped and what is kept; a code beside it only where it tells kinds of failure apart. */
function runSentence(run: RunDocument, error: OperationResult["error"]): string {
  const { failure, applied } = run;
  const at = failure === undefined ? "" : ` at statement ${failure.statement} of version ${failure.version}`;
  const where = error === undefined ? at : `: ${error.message}`;
  switch (run.outcome) {
    case "up-to-date":
      return "The run found nothing to do; the history is read back.";
    case "applied":
      return `The run applied ${versions(applied)}; the history is read back.`;
    case "failed":
      return failedSentence(run, error, where);
    case "partial":
      return `The run stopped half-way${where}. It applied ${whole(applied)} before.`;
    default:
      return `What the run did is not known${where}. It applied ${whole(applied)} before.`;
  }
}

/** A run that selected nothing, or whose file was refused, sent no statement. */
function failedSentence(run: RunDocument, error: OperationResult["error"], where: string): string {
  const { failure, applied, planned } = run;
  const refused = error?.code === "apply_refused";
  const why = error === undefined ? where : ` (${error.code}${where})`;
  if (failure === undefined && applied.length === 0 && (refused || planned.length === 0)) {
    return refused
      ? `The run was refused before its first statement${where}; nothing was run.`
      : `The run failed before its first statement${why}; nothing was run.`;
  }
  return `The run failed${why} after it applied ${versions(applied)}.`;
}

export function concludeRun(c: Context, rule: RuleId, claim: Claim, outcome: Outcome): Move {
  const kind = runOutcome(claim, outcome.result);
  const lease = releaseOwed(c, rule, claim, outcome);
  if ("look" in lease) return lease.look;
  const uncertain = kind === "Partial" || kind === "Unknown";
  const selected = wasSelected(outcome.result);
  const sentence = uncertain ? `${outcome.sentence} ${HELD_RUN}` : outcome.sentence;
  const run = lastRunOf(c, claim, outcome, kind, sentence);
  const record = uncertain ? recordFor(c, claim, outcome, kind, lease.release !== undefined) : undefined;
  return patch(c, rule, {
    set: {
      activeOperation: undefined,
      plan: undefined,
      lastRun: run,
      ...(record === undefined ? {} : c.family.withRecord(record)),
      ...positionAfter(c, uncertain, selected),
      ...(lease.release === undefined ? {} : { pendingLockRelease: lease.release }),
    },
    cause: { at: "ran", outcome: kind, selected, sentence },
    journal: [finished(run, outcome.result?.migrationRun)],
    events: [eventOf(kind, sentence)],
    metrics: metricsOf(c, claim, kind),
  });
}

/** Past its selection: it planned something, or found nothing to do. */
function wasSelected(result: OperationResult | undefined): boolean {
  const run = result?.migrationRun;
  return run !== undefined && (run.outcome !== "failed" || run.planned.length > 0);
}

/** The Lease is given back with the outcome where nobody may still write; else its record holds it until then. */
function releaseOwed(c: Context, rule: RuleId, claim: Claim, outcome: Outcome): ReturnType<typeof releaseOfOwnLease> {
  const attempt = { ...attemptOfClaim(claim), jobTerminal: outcome.jobTerminal === true };
  return mayStillWrite(attempt, c.nowMs) ? { release: undefined } : releaseOfOwnLease(c, rule, claim);
}

function recordFor(
  c: Context,
  claim: Claim,
  outcome: Outcome,
  kind: "Partial" | "Unknown",
  released: boolean,
): ApplyRecord {
  const plan = migrationPlan(c.status);
  const record = recordOf(c, claim, outcome, kind, {
    ...(plan === undefined ? {} : { historyFingerprint: plan.historyFingerprint }),
  });
  return released ? { ...record, lease: undefined } : record;
}

/** Where the readings stand after a run: its own reading, the record's, or the source after the retry delay. */
function positionAfter(c: Context, uncertain: boolean, selected: boolean): Partial<Status> {
  if (uncertain) return { cycle: cycleAt(c, undefined), retryNotBefore: undefined };
  if (selected) return { cycle: cycleAt(c, "History"), retryNotBefore: undefined };
  return { cycle: cycleAt(c, "Resolve"), retryNotBefore: retryAt(c), nextReconciliationTime: retryAt(c) };
}

function lastRunOf(c: Context, claim: Claim, outcome: Outcome, kind: RunOutcome, sentence: string): MigrationRun {
  const { result } = outcome;
  const run = result?.migrationRun;
  const { approval, plan, source, target } = claim;
  const { executionBinding } = c.status;
  const identity = result?.targetIdentityDigest;
  return {
    outcome: kind,
    operationID: claim.id,
    ...(plan === undefined ? {} : { plan }),
    ...(approval === undefined ? {} : { approval }),
    authorization: approval === undefined ? "Policy" : "Approval",
    job: { name: claim.jobName, ...(claim.jobUID === undefined ? {} : { uid: claim.jobUID }) },
    ...(source === undefined ? {} : { source }),
    ...(target === undefined ? {} : { target }),
    ...(identity === undefined ? {} : { targetIdentityDigest: identity }),
    ...(executionBinding === undefined ? {} : { binding: executionBinding }),
    dispatchedBy: c.view.configuration.manager,
    startedAt: claim.dispatchedAt ?? claim.startedAt,
    finishedAt: instantOf(outcome.finishedAtMs ?? c.nowMs),
    ...(run === undefined ? {} : { appliedVersions: [...run.applied] }),
    ...(run?.failure === undefined ? {} : { failure: run.failure }),
    message: sentence.slice(0, MESSAGE_MAX),
  };
}

/** The run's one entry; the hold of a run that ended uncertain writes none of its own. */
function finished(run: MigrationRun, document: RunDocument | undefined): JournalEntry {
  const { approval, job, plan, authorization, operationID, outcome, finishedAt, startedAt } = run;
  const failure = document?.failure;
  return {
    type: "RunFinished",
    time: finishedAt ?? startedAt,
    operationID,
    ...(plan === undefined ? {} : { plan }),
    ...(approval === undefined
      ? {}
      : { approvalName: approval.name, approvalUID: approval.uid, approver: approval.approver }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(job === undefined ? {} : { jobName: job.name, ...(job.uid === undefined ? {} : { jobUID: job.uid }) }),
    outcome,
    ...(document === undefined ? {} : { appliedCount: document.applied.length }),
    ...(failure === undefined ? {} : { stoppedAt: { version: failure.version, statement: failure.statement } }),
  };
}

function eventOf(kind: RunOutcome, note: string) {
  const good = kind === "Applied" || kind === "UpToDate";
  const uncertain = kind === "Partial" || kind === "Unknown";
  return {
    type: good ? ("Normal" as const) : ("Warning" as const),
    reason: uncertain ? "MigrationRunUncertain" : "MigrationRunFinished",
    note,
  };
}

function metricsOf(c: Context, claim: Claim, kind: RunOutcome): readonly MetricTransition[] {
  if (kind === "Failed") return [failureMetric("apply", "operation"), durationMetric(c, claim, "failed")];
  const uncertain = kind === "Partial" || kind === "Unknown";
  return [
    { metric: "applies_total", outcome: uncertain ? "uncertain" : "completed" },
    durationMetric(c, claim, uncertain ? "unknown" : "succeeded"),
  ];
}
