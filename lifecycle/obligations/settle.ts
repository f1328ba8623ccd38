/**
 * Settle: the one place a record is cleared. By a fresh reading of the same database, by a newer declaration that took over,
 * or by a person whose word names that very operation (rule 5), and never while somebody may still write.
 */
import type { ApplyRecord, JournalEntry, ResolvedRun } from "../../crds/status/index.ts";
import { attemptOfRecord, mayStillWrite } from "../attempt.ts";
import { type Context, need, patch, type Status } from "../context.ts";
import type { Word } from "../families/family.ts";
import type { Move } from "../move.ts";
import { cycleAt } from "../positions.ts";
import { instantOf } from "../time.ts";
import { seeRecord } from "./prove.ts";
import { releaseOfRecord } from "./release.ts";

/** Fields of the patch that settles: record and its reading cleared, how, and the release of the Lease it kept. */
export function settled(
  c: Context,
  record: ApplyRecord,
  resolution: ResolvedRun["resolution"],
  word?: Word,
): Partial<Status> {
  return {
    ...c.family.withRecord(undefined),
    activeOperation: undefined,
    resolvedRun: {
      operationID: record.operationID,
      outcome: record.outcome,
      resolution,
      ...(word === undefined ? {} : { by: word.by }),
      ...(word?.acknowledgment === undefined ? {} : { acknowledgment: word.acknowledgment }),
      resolvedAt: instantOf(c.nowMs),
    },
    ...releaseOfRecord(record),
  };
}

/** The journal's word on a proof. */
export function verified(c: Context, record: ApplyRecord, outcome: string): JournalEntry {
  return {
    type: "Verified",
    time: instantOf(c.nowMs),
    operationID: record.operationID,
    ...(record.plan === undefined ? {} : { plan: record.plan }),
    outcome,
  };
}

/** Rule 5: a person's word names the standing record. Also suspended, also deleting. */
export function settleByPerson(c: Context): Move | undefined {
  const { record } = c;
  const word = record === undefined ? undefined : c.family.word(c, record);
  if (record === undefined || word === undefined) return undefined;
  if ("look" in word) return word.look;
  const seen = seeRecord(c, "5", record);
  if (seen !== undefined) return seen;
  if (mayStillWrite(attemptOfRecord(record), c.nowMs)) return undefined;
  // An object's word is believed as it stands now, not as a cache had it.
  const look = word.acknowledgment === undefined ? undefined : need(c, "5", { piece: "acknowledgments" });
  if (look !== undefined) return look;
  return patch(c, "5", {
    set: {
      ...settled(c, record, word.resolution, word),
      cycle: cycleAt(c, c.family.reads[0]),
      retryNotBefore: undefined,
    },
    cause: { at: "settled", username: word.by.username },
    journal: [c.family.settledEntry(c, record, word)],
    events: [c.family.settledEvent(word)],
  });
}
