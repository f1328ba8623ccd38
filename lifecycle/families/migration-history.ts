/**
 * The six verdicts over a history (seed 003): dirty, modified, out of order, ahead, nothing pending, or a sequence. Never
 * guessed: what is pending is the executor's own selection in its own order.
 */
import {
  type MigrationHistory,
  type MigrationStep,
  NAMED_VERSIONS_MAX,
  REVISIONS_MAX,
  SEQUENCE_MAX,
} from "../../crds/status/index.ts";
import type { MigrationRecord, MigrationHistory as ReadHistory } from "../../workload/migration.ts";
import type { Context } from "../context.ts";
import { instantOf } from "../time.ts";
import type { HistoryRefusal } from "./causes.ts";

export type HistoryVerdict =
  | { readonly kind: "Matched" }
  | { readonly kind: "Pending"; readonly steps: readonly MigrationStep[] }
  | { readonly kind: "Refused"; readonly reason: HistoryRefusal; readonly sentence: string }
  /** The report lacks what a plan of it needs. */
  | { readonly kind: "Unpublishable"; readonly sentence: string };

const refused = (reason: HistoryRefusal, sentence: string): HistoryVerdict => ({ kind: "Refused", reason, sentence });

const versionsIn = (history: ReadHistory, state: MigrationRecord["state"]): number[] =>
  history.migrations.filter((record) => record.state === state).map((record) => record.version);

/** Highest version that the source holds. */
export const sourceVersion = (history: ReadHistory): number =>
  history.migrations.reduce((highest, { version }) => Math.max(highest, version), 0);

/** Recorded versions that the source lacks: not only above its end, a version taken out of its middle is one as well. */
function aheadOf(history: ReadHistory): readonly number[] {
  const { unknownVersions, currentVersion } = history;
  if (unknownVersions !== undefined) return unknownVersions;
  return currentVersion > sourceVersion(history) ? [currentVersion] : [];
}

const NAMED_IN_SENTENCE = 5;

function named(versions: readonly number[]): string {
  const shown = versions.slice(0, NAMED_IN_SENTENCE).join(", ");
  const rest = versions.length - NAMED_IN_SENTENCE;
  return `${versions.length === 1 ? "version" : "versions"} ${shown}${rest > 0 ? ` and ${rest} more` : ""}`;
}

export function verdictOf(history: ReadHistory): HistoryVerdict {
  const dirty = history.dirtyRevision?.version ?? versionsIn(history, "dirty")[0];
  if (dirty !== undefined) return refused("HistoryDirty", dirtySentence(dirty, history.dirtyRevision));
  const modified = versionsIn(history, "modified");
  if (modified.length > 0) {
    return refused(
      "HistoryModified",
      `The source holds other files for ${named(modified)} than were applied. Put them back, and make the change in a new version.`,
    );
  }
  const late = versionsIn(history, "out-of-order");
  if (late.length > 0) {
    return refused(
      "HistoryOutOfOrder",
      `The source holds ${named(late)} below version ${history.currentVersion}, which is applied.`,
    );
  }
  const ahead = aheadOf(history);
  if (ahead.length > 0) {
    return refused(
      "HistoryAhead",
      `The database records ${named(ahead)}, which the source does not hold; it ends at ${sourceVersion(history)}.`,
    );
  }
  return history.pendingMigrations.length === 0 ? { kind: "Matched" } : sequence(history);
}

function dirtySentence(version: number, row: ReadHistory["dirtyRevision"]): string {
  const done =
    row === undefined
      ? ""
      : `, ${row.applied === 0 ? "none" : row.applied} of ${row.total} statements recorded as done`;
  return `Version ${version} is not finished in the revision table${done}; its row has to be cleared.`;
}

function sequence(history: ReadHistory): HistoryVerdict {
  const count = history.pendingMigrations.length;
  if (count > SEQUENCE_MAX) {
    return refused("PlanTooLarge", `${count} versions are pending; one plan holds at most ${SEQUENCE_MAX}.`);
  }
  const records = new Map(history.migrations.map((record) => [record.version, record]));
  const steps: MigrationStep[] = [];
  for (const version of history.pendingMigrations) {
    const record = records.get(version);
    if (record?.checksum === undefined) {
      return { kind: "Unpublishable", sentence: `The history says nothing of the file of version ${version}.` };
    }
    steps.push(stepFrom(record, record.checksum));
  }
  return { kind: "Pending", steps };
}

function stepFrom(record: MigrationRecord, checksum: string): MigrationStep {
  const { version, versionKey, checkpoint, transactionMode, description } = record;
  return {
    version,
    ...(versionKey === undefined ? {} : { versionKey }),
    checksum,
    ...(checkpoint === true ? { checkpoint } : {}),
    ...(transactionMode === undefined ? {} : { transactionMode }),
    ...(description === undefined ? {} : { description }),
  };
}

const RECORDED: ReadonlySet<string> = new Set<MigrationRecord["state"]>(["applied", "modified"]);

/** The history as status keeps it. @param coordinationDigest realm of the claim that read it */
export function historyStatus(
  c: Context,
  history: ReadHistory,
  targetIdentityDigest: string,
  coordinationDigest: string | undefined,
): MigrationHistory {
  const { dirtyRevision, checkpointVersion, revisions } = history;
  const dirty = dirtyRevision !== undefined || versionsIn(history, "dirty").length > 0;
  const modified = versionsIn(history, "modified").slice(0, NAMED_VERSIONS_MAX);
  const late = versionsIn(history, "out-of-order").slice(0, NAMED_VERSIONS_MAX);
  const ahead = aheadOf(history).slice(0, NAMED_VERSIONS_MAX);
  return {
    observedAt: instantOf(c.nowMs),
    contractVersion: history.contractVersion,
    currentVersion: history.currentVersion,
    ...(checkpointVersion === undefined ? {} : { checkpointVersion }),
    sourceVersion: sourceVersion(history),
    totalCount: history.totalMigrations,
    appliedCount: history.migrations.filter((record) => RECORDED.has(record.state)).length,
    pendingCount: history.pendingMigrations.length,
    fingerprint: c.tools.historyFingerprint(history),
    ...(coordinationDigest === undefined ? {} : { coordinationDigest }),
    targetIdentityDigest,
    ...(dirty ? { dirty } : {}),
    ...(dirtyRevision === undefined ? {} : { dirtyRevision }),
    ...(modified.length === 0 ? {} : { modifiedVersions: modified }),
    ...(late.length === 0 ? {} : { outOfOrderVersions: late }),
    ...(ahead.length === 0 ? {} : { aheadVersions: ahead }),
    ...(revisions === undefined ? {} : { revisions: revisions.slice(0, REVISIONS_MAX) }),
  };
}

/** Whether the history as status keeps it is one that a person has to do something about. */
export function historyBlocks(history: MigrationHistory | undefined): boolean {
  if (history === undefined) return false;
  return (
    history.dirty === true ||
    (history.modifiedVersions?.length ?? 0) > 0 ||
    (history.outOfOrderVersions?.length ?? 0) > 0 ||
    (history.aheadVersions?.length ?? 0) > 0 ||
    history.pendingCount > 0
  );
}
