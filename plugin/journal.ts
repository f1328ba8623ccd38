/** `kubectl ptah journal`: what happened to a resource, as far back as its journal reaches. */
import type { JournalEntry } from "../crds/index.ts";
import type { ResolvedRun } from "../crds/status/index.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import type { Resource, Target } from "./families.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { field, instant, table, visible } from "./text.ts";

/** How a run that was held was settled: a field of the status, shown where no entry says as much. */
const RESOLVED = "RunResolved";

/** What belongs to a run that ended, by its operation and not by its time. */
const OF_A_RUN: ReadonlySet<string> = new Set(["Verified", "RunAcknowledged", RESOLVED]);

interface Row {
  readonly time: string;
  readonly type: string;
  readonly what: string;
  readonly operationID?: string | undefined;
}

/** @throws Failure (nothing stored) when no manager has kept a journal yet */
export async function printJournal(session: Session, target: Target, output: "text" | "json"): Promise<ExitCode> {
  const { name } = target;
  const resource = await readResource(session, target);
  const journal = resource.status?.journal;
  if (journal === undefined) throw nothingStored(`${name} has no journal yet`);
  const entries = inOrder(journal.entries ?? []);
  const resolved = resource.status?.resolvedRun;
  if (output === "json") {
    const { namespace, uid } = resource.metadata;
    const content = {
      version: 1,
      kind: "Journal",
      namespace,
      name,
      uid,
      coveredSince: journal.coveredSince,
      entries,
      resolvedRun: resolved,
    };
    session.io.stdout(`${JSON.stringify(content, undefined, 2)}\n`);
    return EXIT.printed;
  }
  const said = entries.map((entry): Row => {
    const what = wordsOf(entry, verdictOn(entry, resource, entries));
    return { time: entry.time, type: entry.type, what, operationID: entry.operationID };
  });
  const settling = resolved === undefined || isSaid(resolved, entries) ? [] : [settlementRow(resolved)];
  const rows = inOrder([...said, ...settling]).map((row, index, all) => [
    instant(row.time) ?? "",
    joined(row, all[index - 1]) ? `  ${row.type}` : row.type,
    visible(row.what),
  ]);
  const lines = [
    ...field("Covered since", instant(journal.coveredSince)),
    "",
    ...(rows.length === 0 ? ["Nothing has happened since."] : table([["TIME", "ENTRY", "WHAT"], ...rows])),
  ];
  session.io.stdout(`${lines.join("\n")}\n`);
  return EXIT.printed;
}

/**
 * By time, oldest first; a run's end has its Job's clock and may be a moment older than what was written before it. A plan has
 * the time at which it was stored, before the reading that found it necessary was judged: it stays behind that verdict.
 */
function inOrder<T extends { readonly time: string; readonly type: string }>(list: readonly T[]): T[] {
  const placed = list.map((entry, index) => {
    const before = list[index - 1];
    const follows = entry.type === "PlanPublished" && before?.type === "Verified";
    return { entry, ms: Math.max(Date.parse(entry.time), follows ? Date.parse(before.time) : 0) };
  });
  return placed.sort((a, b) => a.ms - b.ms).map(({ entry }) => entry);
}

/** A run's reading and what settled it stand indented where they follow it, so that they read as one execution. */
const joined = (row: Row, before: Row | undefined): boolean =>
  OF_A_RUN.has(row.type) && row.operationID !== undefined && row.operationID === before?.operationID;

/** Whether an entry says already how the run was settled: a person's own, or the reading that settled it then. */
function isSaid(resolved: ResolvedRun, entries: readonly JournalEntry[]): boolean {
  return entries.some(({ type, operationID, time }) => {
    if (operationID !== resolved.operationID) return false;
    return type === "RunAcknowledged" || (type === "Verified" && time === resolved.resolvedAt && !resolved.by);
  });
}

const BY: Readonly<Record<ResolvedRun["resolution"], string>> = {
  Reading: "settled by a reading",
  Superseded: "given up for a newer declaration",
  Acknowledged: "acknowledged",
  Settled: "settled by a person's word",
};

function settlementRow({ operationID, outcome, resolution, by, acknowledgment, resolvedAt }: ResolvedRun): Row {
  const words = [
    outcome,
    `${BY[resolution]} (${resolution})`,
    ...(acknowledgment === undefined ? [] : [`acknowledgment ${acknowledgment.name}`]),
    ...(by === undefined ? [] : [`by ${by.username}`]),
  ];
  return { time: resolvedAt, type: RESOLVED, what: words.join(", "), operationID };
}

/** Why policy does not let a plan run, by reason: the journal holds that a plan was published, the status what became of it. */
const REFUSED: Readonly<Record<string, string>> = {
  PolicyBlocked: "refused by policy (PolicyBlocked)",
  ApplyDisabled: "not applied by policy (ApplyDisabled)",
};

/** What became of a plan: what policy says of the one that stands; of an earlier one, that nothing of it ran. */
function verdictOn(entry: JournalEntry, resource: Resource, entries: readonly JournalEntry[]): string | undefined {
  const uid = entry.plan?.uid;
  if (entry.type !== "PlanPublished" || uid === undefined) return undefined;
  if (uid === resource.status?.plan?.uid) return REFUSED[conditionOf(resource, "Ready")?.reason ?? ""];
  const later = entries.slice(entries.indexOf(entry) + 1);
  const ran = later.some((other) => RUNS.has(other.type) && other.plan?.uid === uid);
  return !ran && later.some((other) => other.type === "PlanPublished") ? "never ran" : undefined;
}

/** Entries of what a plan was dispatched for. */
const RUNS: ReadonlySet<string> = new Set(["ApplyFinished", "RunFinished"]);

/** Names and reasons of one entry; a journal holds no messages. */
function wordsOf(entry: JournalEntry, verdict: string | undefined): string {
  const { plan, replaced, approver, count, stoppedAt, acknowledgedBy } = entry;
  return [
    ...(entry.outcome === undefined ? [] : [entry.outcome]),
    ...(entry.operation === undefined ? [] : [entry.operation]),
    ...(entry.reason === undefined ? [] : [entry.reason]),
    ...(plan === undefined ? [] : [plan.name]),
    ...(entry.appliedCount === undefined
      ? []
      : [`${entry.appliedCount === 0 ? "no whole version" : entry.appliedCount} applied`]),
    ...(stoppedAt === undefined ? [] : [stopOf(stoppedAt)]),
    ...(entry.approvalRequired ? ["asks for approval"] : []),
    ...(verdict === undefined ? [] : [verdict]),
    ...(replaced === undefined ? [] : [`replaces ${replaced.name}`]),
    ...(entry.approvalName === undefined ? [] : [`approval ${entry.approvalName}`]),
    ...(entry.authorization === "Policy" ? ["let by policy"] : []),
    ...(approver === undefined ? [] : [`by ${approver.username}`]),
    ...(entry.acknowledgment === undefined ? [] : [`acknowledgment ${entry.acknowledgment.name}`]),
    ...(acknowledgedBy === undefined ? [] : [`by ${acknowledgedBy.username}`]),
    ...(entry.jobName === undefined ? [] : [`Job ${entry.jobName}`]),
    ...(count === undefined || count < 2 ? [] : [`${count} times until ${instant(entry.lastTime) ?? "now"}`]),
  ].join(", ");
}

const stopOf = ({ version, statement }: NonNullable<JournalEntry["stoppedAt"]>): string =>
  `stopped at version ${version}${statement === undefined ? "" : `, statement ${statement}`}`;
