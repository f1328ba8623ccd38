/** `migrations repair --resume-from`: the rest of a dirty version is run. */
import { Refused } from "../contract.ts";
import { MAX_NAMES_IN_REPORT } from "../limits.ts";
import { applyFile } from "./apply-file.ts";
import type { ChangeInput, ChangeResult, Rerun } from "./maintain.ts";
import type { Migration, MigrationDirectory } from "./migration.ts";
import { counted, isDirty, partialChecksum, type Revision, type RevisionTable } from "./revisions.ts";
import { guarded, type Prepared, prepare } from "./run.ts";
import { modifiedVersions, named } from "./select.ts";
import { sessionMade } from "./session-made.ts";
import { ensureTable } from "./store.ts";

/** Runs a dirty version's statements from the `from`th on, in its own mode. */
export async function resume(input: ChangeInput, table: RevisionTable, from: number): Promise<ChangeResult> {
  const { database, version, stop } = input;
  const migration = requireVersion(input.directory, version);
  const row = table.rows.find((r) => r.version === version);
  if (row === undefined || !isDirty(row)) {
    throw new Refused("revision_not_dirty", `version ${version} is not dirty; nothing is to resume`);
  }
  refuseRollback(row);
  const prepared = await prepare(migration, { database, mode: from === 1 ? "file" : "none" });
  refuseOffset(input, row, prepared, from);
  const lost = from === 1 ? [] : await sessionMade(database, prepared.statements, from);
  if (lost.length > 0 && !input.force) throw sessionLost(version, from, lost);
  const again: Rerun = { version, from_statement: from, statements: prepared.statements.length };
  const told = { removed: [], run: [again], recorded_only: [] };
  if (input.dryRun)
    return {
      outcome: "dry-run",
      recorded: [version],
      ...told,
      would: `${wouldRun(again, prepared.mode)}${withoutSession(lost)}`,
    };
  await ensureTable(database, table);
  stop.check();
  const end = await guarded(migration, () =>
    applyFile(
      {
        database,
        migration,
        statements: prepared.statements,
        stopped: () => stop.signal.aborted,
        committed: from - 1,
      },
      prepared.mode,
    ),
  );
  if (end.kind === "applied") return { outcome: "changed", recorded: [version], ...told };
  const failure = end.failure === undefined ? {} : { failure: end.failure };
  const cause = end.cause === undefined ? {} : { cause: end.cause };
  return { outcome: end.kind, recorded: [], ...told, error: end.sentence, ...failure, ...cause };
}

function wouldRun({ version, from_statement, statements }: Rerun, mode: Prepared["mode"]): string {
  const how = mode === "file" ? "in one transaction" : "one by one, outside a transaction";
  return `would run version ${version} from statement ${from_statement} of ${statements} on, on this database, ${how}, and record it as applied`;
}

/** The statements that were kept are not run again, and what they made of their session ended with it. */
function sessionLost(version: number, from: number, lost: readonly number[]): Refused {
  return new Refused(
    "resume_session_lost",
    `${numbered(lost)} of version ${version} made or read something that ended with its session (a setting, a variable, a temporary table, a lock); run the rest from ${from} on by hand in one session that has it and then say repair --force alone, or make the rest a version of its own; --force beside --resume-from runs it without`,
    { statement: lost[0] ?? from },
  );
}

const withoutSession = (lost: readonly number[]): string =>
  lost.length === 0
    ? ""
    : `; ${numbered(lost)} made or read something that ended with its session, and the rest runs without`;

function numbered(statements: readonly number[]): string {
  const shown = statements.slice(0, MAX_NAMES_IN_REPORT).join(", ");
  const more = statements.length - MAX_NAMES_IN_REPORT;
  return `statement${statements.length === 1 ? "" : "s"} ${shown}${more > 0 ? ` and ${more} more` : ""}`;
}

/** What was committed must be the beginning of the file as it is now, unless a person vouches for it. */
function refuseOffset(input: ChangeInput, row: Revision, { statements }: Prepared, from: number): void {
  if (from > statements.length) {
    throw new Refused(
      "resume_out_of_range",
      `the file has ${counted(statements.length)}, so it cannot be resumed from ${from}`,
    );
  }
  if (input.force) return;
  if (from !== row.applied + 1) {
    throw new Refused(
      "resume_mismatch",
      `${counted(row.applied)} ${row.applied === 1 ? "is" : "are"} recorded as committed, so the next is ${row.applied + 1}; say --force to begin at ${from}`,
    );
  }
  if (row.state !== "failed") {
    throw new Refused(
      "resume_unknown",
      `whether statement ${from} took effect is not recorded; look at the database, then say --force with the statement to begin at`,
    );
  }
  if (row.applied > 0 && row.checksum !== partialChecksum(statements, row.applied)) {
    throw new Refused(
      "resume_file_changed",
      "the statements that were committed are not the beginning of the file any more; put them back, or say --force",
    );
  }
}

/** Versions that the refusal of a whole history names. */
const MAX_MODIFIED_NAMED = 5;

/**
 * A repair of a version that stopped goes by the directory's file of it. Where the rows of other versions are of other files, the
 * directory or the database is not the one that was meant, and that file has nothing to do with what the version left here. A row
 * that is clean and merely of another file is put right by itself, or several could never be.
 * @throws Refused `history_modified`; the repaired version's own file may have been edited
 */
export function refuseOtherFiles({ directory, version }: ChangeInput, { rows }: RevisionTable): void {
  if (!rows.some((row) => row.version === version && isDirty(row))) return;
  const other = modifiedVersions(directory.migrations, rows).filter((modified) => modified !== version);
  if (other.length === 0) return;
  throw new Refused(
    "history_modified",
    `this database was given another file of ${named(other, MAX_MODIFIED_NAMED)} than the directory has, so the two may not belong together; nothing was changed: name the directory and the database that do, or, where the rows are wrong, first put each right with migrations repair --version N --force`,
    { objects: other.map(String) },
  );
}

export function refuseRollback(row: Revision): void {
  if (!row.state.endsWith(":down")) return;
  throw new Refused(
    "rollback_interrupted",
    `the row of version ${row.version} is of a rollback that stopped; rollbacks are not run here, use Ptah's own command line`,
  );
}

export function requireVersion({ migrations }: MigrationDirectory, version: number): Migration {
  const migration = migrations.find((m) => m.version === version);
  if (migration === undefined) throw new Refused("version_unknown", `the directory has no version ${version}`);
  return migration;
}
