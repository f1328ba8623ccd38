/** The lifecycle journal: bounded, merged, oldest first out (seed 003, "The lifecycle journal"; `status.journal`). */
import { JOURNAL_MAX_ENTRIES, type Journal, type JournalEntry } from "../crds/status/index.ts";
import { JOURNAL_KEPT_MS } from "./limits.ts";
import { instantOf, msOf } from "./time.ts";

/** The journal with new entries, in the order they happened. */
export function journalWith(journal: Journal | undefined, added: readonly JournalEntry[], nowMs: number): Journal {
  let entries: readonly JournalEntry[] = journal?.entries ?? [];
  for (const entry of added) entries = append(entries, entry);
  return bounded(entries, journal?.coveredSince ?? instantOf(nowMs));
}

/** The publication of the plan nothing has carried out yet: the newest, unless an Apply or a run of it ended. */
export function waitingPublication(entries: readonly JournalEntry[] | undefined): JournalEntry | undefined {
  const published = entries?.findLast((entry) => entry.type === "PlanPublished");
  const uid = published?.plan?.uid;
  const ended = entries?.some((e) => (e.type === "ApplyFinished" || e.type === "RunFinished") && e.plan?.uid === uid);
  return ended === true ? undefined : published;
}

function append(entries: readonly JournalEntry[], entry: JournalEntry): readonly JournalEntry[] {
  if (entry.type === "PlanPublished" && entries.some((e) => e.type === entry.type && e.plan?.uid === entry.plan?.uid)) {
    return entries;
  }
  const last = entries.at(-1);
  const repeats =
    entry.type === "OperationFailed" &&
    last?.type === "OperationFailed" &&
    last.operation === entry.operation &&
    last.reason === entry.reason;
  if (!repeats || last === undefined) return [...entries, entry];
  return [...entries.slice(0, -1), { ...last, count: (last.count ?? 1) + 1, lastTime: entry.time }];
}

const endOf = (entry: JournalEntry): number => msOf(entry.lastTime ?? entry.time);

function bounded(entries: readonly JournalEntry[], coveredSince: string): Journal {
  const newest = entries.reduce((latest, entry) => Math.max(latest, endOf(entry)), 0);
  const exempt = exemptEntries(entries);
  let over = entries.length - JOURNAL_MAX_ENTRIES;
  let since = coveredSince;
  const kept: JournalEntry[] = [];
  for (const entry of entries) {
    const dropped = !exempt.has(entry) && (over > 0 || newest - endOf(entry) > JOURNAL_KEPT_MS);
    if (!dropped) {
      kept.push(entry);
      continue;
    }
    over -= 1;
    if (endOf(entry) > msOf(since)) since = instantOf(endOf(entry));
  }
  return { coveredSince: since, entries: kept };
}

/** The waiting plan's publication and its newest approval stay past age and count: a later plan has to name what it replaced. */
function exemptEntries(entries: readonly JournalEntry[]): Set<JournalEntry> {
  const exempt = new Set<JournalEntry>();
  const published = waitingPublication(entries);
  if (published === undefined) return exempt;
  exempt.add(published);
  const uid = published.plan?.uid;
  const approved = entries.findLast((e) => e.type === "ApprovalAccepted" && e.plan?.uid === uid);
  if (approved !== undefined) exempt.add(approved);
  return exempt;
}

/** UIDs of plans that the journal must be able to name: never pruned. */
export function journalledPlans(journal: Journal | undefined): Set<string> {
  const uids = new Set<string>();
  for (const entry of exemptEntries(journal?.entries ?? [])) {
    if (entry.plan !== undefined) uids.add(entry.plan.uid);
  }
  return uids;
}
