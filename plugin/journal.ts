/** `kubectl ptah journal`: what happened to a resource, as far back as its journal reaches. */
import type { JournalEntry } from "../crds/index.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import type { Resource, Target } from "./families.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { field, instant, table, visible } from "./text.ts";

/** What belongs to a run that ended, by its operation and not by its time. */
const OF_A_RUN: ReadonlySet<JournalEntry["type"]> = new Set(["Verified", "RunAcknowledged"]);

interface Row {
  readonly entry: JournalEntry;
  /** Under the end of its run. */
  readonly joined: boolean;
}

/** @throws Failure (nothing stored) when no manager has kept a journal yet */
export async function printJournal(session: Session, target: Target, output: "text" | "json"): Promise<ExitCode> {
  const { name } = target;
  const resource = await readResource(session, target);
  const journal = resource.status?.journal;
  if (journal === undefined) throw nothingStored(`${name} has no journal yet`);
  const entries = journal.entries ?? [];
  if (output === "json") {
    const { namespace, uid } = resource.metadata;
    const content = { version: 1, kind: "Journal", namespace, name, uid, coveredSince: journal.coveredSince, entries };
    session.io.stdout(`${JSON.stringify(content, undefined, 2)}\n`);
    return EXIT.printed;
  }
  const rows = joinedByRun(entries).map(({ entry, joined }) => [
    instant(entry.time) ?? "",
    joined ? `  ${entry.type}` : entry.type,
    visible(wordsOf(entry, verdictOn(entry, resource))),
  ]);
  const lines = [
    ...field("Covered since", instant(journal.coveredSince)),
    "",
    ...(rows.length === 0 ? ["Nothing has happened since."] : table([["TIME", "ENTRY", "WHAT"], ...rows])),
  ];
  session.io.stdout(`${lines.join("\n")}\n`);
  return EXIT.printed;
}

/** Oldest first; a run's reading and acknowledgment stand under its end, so that they read as one execution. */
function joinedByRun(entries: readonly JournalEntry[]): Row[] {
  const ends = new Map<string | undefined, JournalEntry>();
  for (const entry of entries) if (entry.type === "RunFinished") ends.set(entry.operationID, entry);
  const endOf = (entry: JournalEntry): JournalEntry | undefined =>
    entry.operationID !== undefined && OF_A_RUN.has(entry.type) ? ends.get(entry.operationID) : undefined;
  return entries
    .filter((entry) => endOf(entry) === undefined)
    .flatMap((entry) => [
      { entry, joined: false },
      ...entries.filter((other) => endOf(other) === entry).map((other) => ({ entry: other, joined: true })),
    ]);
}

/** Why policy does not let a plan run, by reason: the journal holds that a plan was published, the status what became of it. */
const REFUSED: Readonly<Record<string, string>> = {
  PolicyBlocked: "refused by policy (PolicyBlocked)",
  ApplyDisabled: "not applied by policy (ApplyDisabled)",
};

/** What policy says of the plan that stands; nothing of earlier ones. */
function verdictOn(entry: JournalEntry, resource: Resource): string | undefined {
  const stands = entry.type === "PlanPublished" && entry.plan?.uid === resource.status?.plan?.uid;
  return stands ? REFUSED[conditionOf(resource, "Ready")?.reason ?? ""] : undefined;
}

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
