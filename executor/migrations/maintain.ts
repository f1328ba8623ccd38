/** `migrations set|baseline|repair`: a person's changes of the history, under the same lock as a run. */
import type { Stop } from "../cancel.ts";
import { Refused } from "../contract.ts";
import { MAX_NAMES_IN_REPORT } from "../limits.ts";
import type { MigrationDatabase } from "./database.ts";
import { type Cause, causeOf, codes, type StatementFailure } from "./file-end.ts";
import type { Migration, MigrationDirectory } from "./migration.ts";
import { explained } from "./own-statements.ts";
import { refuseOtherFiles, refuseRollback, requireVersion, resume } from "./resume.ts";
import { appliedEntry, counted, isDirty, type RevisionTable } from "./revisions.ts";
import { type Prepared, prepare } from "./run.ts";
import { modifiedVersions, named } from "./select.ts";
import { deleteRow, ensureTable, insertRow, readTable, updateRow } from "./store.ts";

export interface ChangeInput {
  readonly verb: "set" | "baseline" | "repair";
  readonly database: MigrationDatabase;
  readonly directory: MigrationDirectory;
  readonly version: number;
  readonly resumeFrom: number | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly lockTimeoutMs: number;
  readonly stop: Stop;
}

/** What was changed, or would be. */
export interface ChangeResult {
  readonly outcome: "changed" | "unchanged" | "dry-run" | "failed" | "partial" | "unknown";
  /** Versions now recorded as applied that were not before. */
  readonly recorded: readonly number[];
  /** Versions whose row was removed. */
  readonly removed: readonly number[];
  /** What SQL was sent, or would be: which versions, from which statement of how many; absent where none is. */
  readonly run?: readonly Rerun[];
  /** Of `recorded`, the versions of which nothing is run: a person's word stands for their statements. */
  readonly recorded_only?: readonly number[];
  /** Versions that stay recorded with the checksum of another file than the directory's; absent where there is none. */
  readonly checksum_kept?: readonly number[];
  /** Of a dry run: what would be done, in a sentence. */
  readonly would?: string;
  readonly error?: string;
  readonly failure?: StatementFailure;
  /** What the server refused of the executor's own. */
  readonly cause?: Cause;
}

/** One version of which statements are run. Statements are counted from 1. */
export interface Rerun {
  readonly version: number;
  readonly from_statement: number;
  readonly statements: number;
}

/** Rows to write, found before any is written. */
interface Change {
  readonly record: readonly Prepared[];
  readonly remove: readonly number[];
}

/** @throws Refused, Failure or Canceled while nothing was changed */
export async function change(input: ChangeInput): Promise<ChangeResult> {
  const { database } = input;
  await database.lock(input.lockTimeoutMs);
  try {
    const table = await readTable(database);
    if (input.verb === "repair") refuseOtherFiles(input, table);
    if (input.verb === "repair" && input.resumeFrom !== undefined) return await resume(input, table, input.resumeFrom);
    const planned =
      input.verb === "set"
        ? await setTo(input, table)
        : input.verb === "baseline"
          ? await baseline(input, table)
          : await repair(input, table);
    return await carryOut(input, table, planned);
  } finally {
    await database.unlock();
  }
}

/** Everything up to the version counts as applied, everything above it as pending; no SQL is run. */
async function setTo(input: ChangeInput, table: RevisionTable): Promise<Change> {
  const { version, directory } = input;
  if (version !== 0) {
    requireVersion(directory, version);
    refuseBelowCheckpoint(input, table);
  }
  const clean = new Set(table.rows.filter((row) => !isDirty(row)).map((row) => row.version));
  const missing = directory.migrations.filter((m) => m.version <= version && !clean.has(m.version));
  return {
    record: await prepareAll(input, withoutCovered(missing, version)),
    remove: table.rows.filter((row) => row.version > version).map((row) => row.version),
  };
}

/**
 * A database that was begun at a checkpoint which did not finish has nothing of the versions below: recorded as applied, they would
 * never be run, and neither would the checkpoint.
 */
function refuseBelowCheckpoint({ version, directory }: ChangeInput, { rows }: RevisionTable): void {
  const [first] = rows;
  if (first === undefined || !isDirty(first) || first.version <= version) return;
  if (!directory.migrations.some((m) => m.version === first.version && m.checkpoint)) return;
  throw new Refused(
    "checkpoint_unfinished",
    `the database was begun at checkpoint ${first.version}, which did not finish, and no version below it was run; undo what the checkpoint left, then use migrations set --version 0: the next run begins at the checkpoint again`,
  );
}

/** The first record of a database that was made by other means. */
async function baseline(input: ChangeInput, table: RevisionTable): Promise<Change> {
  const { version, directory, force } = input;
  requireVersion(directory, version);
  if (table.rows.length > 0 && !force) {
    throw new Refused(
      "history_not_empty",
      "the database already has a history; a baseline is for one that has none (--force records it all the same)",
    );
  }
  const clean = new Set(table.rows.filter((row) => !isDirty(row)).map((row) => row.version));
  const missing = directory.migrations.filter((m) => m.version <= version && !clean.has(m.version));
  return { record: await prepareAll(input, withoutCovered(missing, version)), remove: [] };
}

/** A checkpoint stands for what is below it only where it was itself run: it is recorded where the boundary is it. */
const withoutCovered = (missing: readonly Migration[], version: number): readonly Migration[] =>
  missing.filter((m) => !m.checkpoint || m.version === version);

/** Records a dirty version as applied once a person has finished or undone what it left. */
async function repair(input: ChangeInput, table: RevisionTable): Promise<Change> {
  const migration = requireVersion(input.directory, input.version);
  const row = table.rows.find((r) => r.version === input.version);
  if (row === undefined) {
    throw new Refused(
      "revision_missing",
      `version ${input.version} has no row in the revision table; nothing is to repair`,
    );
  }
  if (!isDirty(row) && row.checksum === migration.checksum) return { record: [], remove: [] };
  refuseRollback(row);
  const complete = isDirty(row) && row.total > 0 && row.applied === row.total;
  if (!complete && !input.force) {
    throw new Refused(
      "repair_incomplete",
      isDirty(row)
        ? `version ${row.version} stopped after ${row.applied} of ${counted(row.total)}; run the rest with --resume-from ${row.applied + 1}, or say --force once the database is as if all had run`
        : `the file of version ${row.version} is not the one that was applied; say --force to record it as it is now`,
    );
  }
  return { record: await prepareAll(input, [migration]), remove: [] };
}

/** No row that is clean is written again by `set` or `baseline`, whatever file it is of; a person is to know of those that stay. */
function keptChecksums(
  { directory }: ChangeInput,
  { rows }: RevisionTable,
  { record, remove }: Change,
): readonly number[] {
  const changed = new Set([...record.map(({ migration }) => migration.version), ...remove]);
  return modifiedVersions(directory.migrations, rows).filter((version) => !changed.has(version));
}

const wouldKeep = (kept: readonly number[]): string =>
  kept.length === 0
    ? ""
    : `; keep the row${kept.length === 1 ? "" : "s"} of ${named(kept)} with the checksums of other files`;

async function carryOut(input: ChangeInput, table: RevisionTable, planned: Change): Promise<ChangeResult> {
  const { database } = input;
  const recorded = planned.record.map((p) => p.migration.version);
  const kept = keptChecksums(input, table, planned);
  const told = {
    recorded,
    removed: planned.remove,
    recorded_only: recorded,
    ...(kept.length === 0 ? {} : { checksum_kept: kept }),
  };
  if (recorded.length + planned.remove.length === 0) return { outcome: "unchanged", ...told };
  if (input.dryRun) return { outcome: "dry-run", ...told, would: `${wouldRecord(planned, table)}${wouldKeep(kept)}` };
  await ensureTable(database, table);
  input.stop.check();
  const there = new Set(table.rows.map((row) => row.version));
  await explained(database, async () => {
    await database.begin();
    for (const version of planned.remove) await deleteRow(database, version);
    for (const one of planned.record) {
      const entry = appliedEntry(one, 0);
      await (there.has(entry.version) ? updateRow(database, entry) : insertRow(database, entry));
    }
  });
  const end = await commitEnd(database);
  return end === undefined ? { outcome: "changed", ...told } : { ...end, recorded: [], removed: [] };
}

/** @returns how it ended where the commit was not answered by success; a lost answer says nothing about the rows */
async function commitEnd(
  database: MigrationDatabase,
): Promise<{ readonly outcome: "failed" | "unknown"; readonly error: string; readonly cause?: Cause } | undefined> {
  try {
    if (await database.commit()) return undefined;
  } catch (error) {
    const answer = database.answerOf(error);
    if (answer?.definite !== true || database.lost()) {
      return {
        outcome: "unknown",
        error:
          "the rows were written, but the commit was not answered; read the history (migrations status) before anything else",
      };
    }
    return {
      outcome: "failed",
      error: `the commit was refused${codes(answer)}; no row was changed; mend the cause and try again`,
      ...causeOf("commit_refused", answer),
    };
  }
  return { outcome: "failed", error: "the server rolled the change back; no row was changed; try again" };
}

/** Which rows would be written and removed, and how little of a version the database is known to hold. */
function wouldRecord({ record, remove }: Change, table: RevisionTable): string {
  const parts = record.map(({ migration: { version }, statements }) => {
    const row = table.rows.find((r) => r.version === version);
    const kept =
      row !== undefined && isDirty(row)
        ? `; its row says that ${row.applied} of its ${counted(row.total)} ${row.applied === 1 ? "is" : "are"} committed`
        : `; it has ${counted(statements.length)}`;
    return `record version ${version} as applied and run none of its statements${kept}`;
  });
  if (remove.length > 0) parts.push(`remove the rows of ${remove.join(", ")}, whose statements are not undone`);
  const [first = "", ...rest] = parts;
  const shown = rest.slice(0, MAX_NAMES_IN_REPORT - 1);
  const more = rest.length > shown.length ? [`do the like for ${rest.length - shown.length} more`] : [];
  return `would ${[first, ...shown, ...more].join("; ")}`;
}

/** Statement counts of the rows come from the files; a file that cannot be run here can still be recorded as one statement. */
async function prepareAll(input: ChangeInput, migrations: readonly Migration[]): Promise<readonly Prepared[]> {
  const prepared: Prepared[] = [];
  for (const migration of migrations) {
    try {
      prepared.push(await prepare(migration, { database: input.database, mode: "file" }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const only = { text: "", source: migration.up.text, line: 1, number: 1 };
      prepared.push({ migration, mode: "none", statements: [only] });
    }
  }
  return prepared;
}
