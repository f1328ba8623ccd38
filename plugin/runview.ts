/** A migration's run as a person reads it: how it ended and where it stopped. Numbers and names, never SQL. */
import type { MigrationHistory, MigrationRun, ResolvedRun, RunFailure } from "../crds/status/index.ts";
import type { UnsettledRecord } from "./families.ts";
import { field, instant, visible, visibleLine } from "./text.ts";

/** `version 3, statement 2 (SQLSTATE 42P07)`. */
export function stoppedAt({ version, statement, sqlState, mysqlErrno }: RunFailure): string {
  const codes = [
    ...(sqlState === undefined ? [] : [`SQLSTATE ${sqlState}`]),
    ...(mysqlErrno === undefined ? [] : [`MySQL error ${mysqlErrno}`]),
  ];
  return `version ${version}, statement ${statement}${codes.length === 0 ? "" : ` (${codes.join(", ")})`}`;
}

/** The row that an interrupted or failed version left. */
export function dirtyOf(history: MigrationHistory | undefined): string | undefined {
  const row = history?.dirtyRevision;
  if (row !== undefined) return `version ${row.version}, ${row.applied} of ${row.total} statements recorded as done`;
  return history?.dirty === true ? "yes" : undefined;
}

/** How long a list of versions may get on one line. */
const VERSIONS_MAX = 32;

/** Versions on one line; bounded. */
export function versionsOf(versions: readonly number[] | undefined): string | undefined {
  if (versions === undefined || versions.length === 0) return undefined;
  const more = versions.length > VERSIONS_MAX ? ` and ${versions.length - VERSIONS_MAX} more` : "";
  return `${versions.slice(0, VERSIONS_MAX).join(", ")}${more}`;
}

/** Which versions a run applied whole; a run that stopped half-way may have kept statements besides. */
export function appliedOf({ outcome, appliedVersions }: MigrationRun): string {
  const halfWay = outcome === "Partial" || outcome === "Unknown";
  return versionsOf(appliedVersions) ?? (halfWay ? "no whole version" : "nothing");
}

/** Until when somebody may still write; undefined where nobody may any more. */
export function mayWriteUntil({ job, executionNotAfter }: UnsettledRecord, nowMs: number): string | undefined {
  const over = job.terminal === true || Date.parse(executionNotAfter ?? "") <= nowMs;
  return over ? undefined : instant(executionNotAfter);
}

/** Who let it run. */
function authorityOf({ approval, authorization }: MigrationRun): string | undefined {
  if (approval !== undefined) return `approval ${approval.name} by ${visible(approval.approver.username)}`;
  return authorization === "Policy" ? "policy (apply: Always)" : undefined;
}

/** Of a run that was held and is settled: when, and by whom or what. */
function settledBy(run: MigrationRun, resolved: ResolvedRun | undefined): string | undefined {
  if (resolved?.operationID !== run.operationID) return undefined;
  const who = resolved.by === undefined ? BY_ITSELF[resolved.resolution] : visible(resolved.by.username);
  return `settled ${instant(resolved.resolvedAt)} by ${who}`;
}

const BY_ITSELF: Readonly<Record<ResolvedRun["resolution"], string>> = {
  Reading: "a reading",
  Superseded: "a newer declaration",
  Acknowledged: "an acknowledgment",
  Settled: "a person's word",
};

/** The last run, field by field; what it said when it ended is marked where it was settled since, lest it read as if it stood. */
export function runLines(run: MigrationRun, resolved: ResolvedRun | undefined): string[] {
  const { verification } = run;
  const settled = settledBy(run, resolved);
  const mark = settled === undefined ? "" : ` (${settled})`;
  const message = run.message === undefined ? undefined : visibleLine(run.message);
  return [
    ...field("Last run", `${run.outcome}${run.finishedAt === undefined ? "" : `, ended ${instant(run.finishedAt)}`}`),
    ...field("Run operation", run.operationID),
    ...field("Run plan", run.plan?.name),
    ...field("Run let by", authorityOf(run)),
    ...field("Run Job", run.job?.name),
    ...field("Run applied", run.appliedVersions === undefined ? undefined : appliedOf(run)),
    ...field("Run stopped at", run.failure && stoppedAt(run.failure)),
    ...field("Run message", message && `${message}${settled === undefined ? "" : ` (That is over: ${settled}.)`}`),
    ...field(
      "Run verified",
      verification === undefined
        ? run.targetIdentityDigest === undefined
          ? "by no reading: it left no account of the database it opened"
          : "not yet by a reading of the database that it named"
        : `${verification.outcome}${verification.reason === undefined ? "" : ` (${verification.reason})`}, read ${instant(verification.observedAt)}${mark}`,
    ),
  ];
}
