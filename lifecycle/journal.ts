/** The lifecycle journal: bounded, merged, oldest first out (seed 003, "The lifecycle journal"; `status.journal`). */
import { JOURNAL_MAX_ENTRIES, type Journal, type JournalEntry } from "../crds/status/index.ts";
import { JOURNAL_KEPT_MS } from "./limits.ts";
import { instantOf, msOf } from "./time.ts";

interface StandingPlan {
  readonly uid: string;
}

/**
 * The journal with new entries, in the order they happened.
 * @param standing the plan nothing has carried out yet: the entry that published it and its newest approval stay past age and count
 */
export function journalWith(
  journal: Journal | undefined,
  added: readonly JournalEntry[],
  standing: StandingPlan | undefined,
  nowMs: number,
): Journal {
  let entries: readonly JournalEntry[] = journal?.entries ?? [];
  for (const entry of added) entries = append(entries, entry);
  return bounded(entries, journal?.coveredSince ?? instantOf(nowMs), standing);
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

function bounded(entries: readonly JournalEntry[], coveredSince: string, standing: StandingPlan | undefined): Journal {
  const newest = entries.reduce((latest, entry) => Math.max(latest, endOf(entry)), 0);
  const exempt = exemptEntries(entries, standing);
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

function exemptEntries(entries: readonly JournalEntry[], standing: StandingPlan | undefined): Set<JournalEntry> {
  const exempt = new Set<JournalEntry>();
  if (standing === undefined) return exempt;
  const published = entries.findLast((e) => e.type === "PlanPublished" && e.plan?.uid === standing.uid);
  const approved = entries.findLast((e) => e.type === "ApprovalAccepted" && e.plan?.uid === standing.uid);
  if (published !== undefined) exempt.add(published);
  if (approved !== undefined) exempt.add(approved);
  return exempt;
}

/** UIDs of plans that the journal must be able to name: never pruned. */
export function journalledPlans(journal: Journal | undefined, standing: StandingPlan | undefined): Set<string> {
  const uids = new Set<string>();
  for (const entry of exemptEntries(journal?.entries ?? [], standing)) {
    if (entry.plan !== undefined) uids.add(entry.plan.uid);
  }
  return uids;
}
