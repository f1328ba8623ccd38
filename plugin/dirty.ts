/** What clears the row that a failed or interrupted version left: which of the three commands fits what is known of it. */
import { commandFor, migrationWayOut } from "../crds/commands.ts";
import { PATCHES } from "../crds/reason.ts";
import type { MigrationHistory, MigrationRun } from "../crds/status/index.ts";
import type { Migration } from "./families.ts";

/** What `set` and `repair` take at their word: a file too many in DIR is recorded as applied without having run. */
const BEFORE_IT =
  "before it: the same with --dry-run, which says what would be run and what only recorded; DIR holds the files of the source and no other, PTAH_DB_URL the database's URL";

/** How the run that left the row ended, where it is that run's. */
function runOf(run: MigrationRun | undefined, version: number): MigrationRun["outcome"] | undefined {
  return run?.failure === undefined || run.failure.version === version ? run?.outcome : undefined;
}

/** The version before it, as `set` wants it: everything above becomes pending, everything up to it counts as applied. */
function before(history: MigrationHistory, version: number): number {
  const applied = (history.revisions ?? []).filter((row) => row.state === "applied" && row.version < version);
  const recorded = applied.reduce((highest, row) => Math.max(highest, row.version), 0);
  return history.currentVersion < version ? Math.max(recorded, history.currentVersion) : recorded;
}

/**
 * Lines, the first a sentence, then one command each behind what it is for, with version and namespace.
 * @returns undefined where the status names no such row
 */
export function dirtySteps({ metadata, status }: Migration): readonly string[] | undefined {
  const row = status?.history?.dirtyRevision;
  if (status?.history === undefined || row === undefined) return undefined;
  const { version, applied, total } = row;
  const command = (verb: string, of: number, more = "") =>
    `ptah migrations ${verb} --migrations-dir DIR --version ${of}${more}`;
  const resume = (from: number, more = "") => command("repair", version, ` --resume-from ${from}${more}`);
  const back = command("set", before(status.history, version));
  const outcome = runOf(status.lastRun, version);
  const held = status.unresolvedRun !== undefined;
  const read = `then (${PATCHES}): ${commandFor("refresh", "migration", metadata)} --wait`;
  const hold = held ? [`after set, which leaves versions pending: ${migrationWayOut(metadata, false)}`] : [];
  if (outcome === "Failed" && applied === 0) {
    return [
      `Nothing of version ${version} is kept. Mend what made it fail, then one of:`,
      `the file stays as it is: ${resume(1)}`,
      `the file is to be edited, or a new plan approved: ${back}`,
      BEFORE_IT,
      read,
      ...hold,
    ];
  }
  const kept = applied === 0 ? "none" : applied === 1 ? "statement 1" : `statements 1 to ${applied}`;
  const byHand = `you ran the rest by hand: ${command("repair", version, " --force")}`;
  if (outcome === "Failed" || outcome === "Partial") {
    return [
      `Of version ${version} ${kept} of ${total} ${applied > 1 ? "are" : "is"} kept. Mend what made it stop, then one of:`,
      `the rest is to run: ${resume(applied + 1)}`,
      byHand,
      `you undid what is kept: ${back}`,
      BEFORE_IT,
      read,
      ...hold,
    ];
  }
  return [
    `Look in the database which statements of version ${version} took effect; its row records ${kept} of ${total}, and the next may have. Then one of:`,
    `the next did not, and the rest is to run: ${resume(applied + 1, " --force")}`,
    byHand,
    `nothing of it is there, or you undid it: ${back}`,
    BEFORE_IT,
    read,
    ...hold,
  ];
}
