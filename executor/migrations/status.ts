/** The status document of contract 1: what the directory and the database's history are to each other. */
import { CONTRACT_VERSION } from "../contract.ts";
import type { MigrationDatabase } from "./database.ts";
import type { Migration, MigrationDirectory } from "./migration.ts";
import { isDirty, type Revision } from "./revisions.ts";
import { type MigrationState, type Selection, type Standing, select } from "./select.ts";
import { declaredMode } from "./sequence.ts";
import { readTable } from "./store.ts";

/** Rows of the revision table in a document, the newest first. */
const MAX_REVISIONS_REPORTED = 32;
/** Versions named that the directory does not hold. */
const MAX_UNKNOWN_REPORTED = 32;
const MAX_DESCRIPTION_CHARS = 256;
const MAX_CHECKSUM_CHARS = 128;

export interface RevisionReport {
  readonly version: number;
  readonly description?: string;
  readonly state: string;
  readonly applied: number;
  readonly total: number;
  readonly checksum?: string;
  readonly applied_at?: string;
  readonly execution_millis?: number;
}

export interface StatusDocument {
  readonly contract_version: typeof CONTRACT_VERSION;
  /** Highest version applied, 0 where none is. */
  readonly current_version: number;
  readonly checkpoint_version?: number;
  readonly total_migrations: number;
  readonly has_pending_changes: boolean;
  /** What is not applied and not covered by a checkpoint, ascending: pending, out of order and dirty versions. */
  readonly pending_migrations: readonly number[];
  readonly migrations: readonly object[];
  readonly dirty_revision?: { readonly version: number; readonly applied: number; readonly total: number };
  /** Recorded versions that the directory lacks (the newest of them): the database is ahead of it. */
  readonly unknown_versions?: readonly number[];
  readonly revisions: readonly RevisionReport[];
  readonly server_version: string;
  readonly engine: string;
  readonly database_url: string;
}

const OPEN_STATES: readonly MigrationState[] = ["pending", "out-of-order", "dirty"];

/** Reads the history and compares it with the directory. Takes no lock, changes nothing. */
export async function status(database: MigrationDatabase, directory: MigrationDirectory): Promise<StatusDocument> {
  const table = await readTable(database);
  const selection = select(directory.migrations, table.rows);
  return {
    ...statusDocument(selection, table.rows),
    server_version: database.serverVersion,
    engine: database.engine,
    database_url: database.display,
  };
}

export function statusDocument(
  selection: Selection,
  rows: readonly Revision[],
): Omit<StatusDocument, "server_version" | "engine" | "database_url"> {
  const open = selection.standings.filter((s) => OPEN_STATES.includes(s.state)).map((s) => s.migration.version);
  const { checkpointVersion, dirty, unknownVersions } = selection;
  return {
    contract_version: CONTRACT_VERSION,
    current_version: selection.currentVersion,
    ...(checkpointVersion === undefined ? {} : { checkpoint_version: checkpointVersion }),
    total_migrations: selection.standings.length,
    has_pending_changes: open.length > 0,
    pending_migrations: open,
    migrations: selection.standings.map(recordOf),
    ...(dirty === undefined
      ? {}
      : { dirty_revision: { version: dirty.version, applied: dirty.applied, total: dirty.total } }),
    ...(unknownVersions.length === 0 ? {} : { unknown_versions: unknownVersions.slice(-MAX_UNKNOWN_REPORTED) }),
    revisions: rows.slice(-MAX_REVISIONS_REPORTED).reverse().map(revisionReport),
  };
}

function recordOf({ migration, row, state }: Standing): object {
  const mode = declaredMode(migration);
  return {
    version: migration.version,
    ...keyOf(migration),
    description: migration.description.slice(0, MAX_DESCRIPTION_CHARS),
    checksum: migration.checksum,
    ...(row === undefined || row.checksum === ""
      ? {}
      : { applied_checksum: row.checksum.slice(0, MAX_CHECKSUM_CHARS) }),
    ...(migration.checkpoint ? { checkpoint: true } : {}),
    ...(mode === "" ? {} : { transaction_mode: mode }),
    state,
  };
}

const keyOf = (migration: Migration): object =>
  migration.versionKey === undefined ? {} : { version_key: migration.versionKey };

/** A row as it stands; a state nobody here wrote is told as `failed`, since it is dirty and its text may be anything. */
function revisionReport(row: Revision): RevisionReport {
  const known = /^(applied|pending|failed)(:down)?$/.test(row.state);
  return {
    version: row.version,
    ...(row.description === "" ? {} : { description: row.description.slice(0, MAX_DESCRIPTION_CHARS) }),
    state: known || !isDirty(row) ? row.state : "failed",
    applied: row.applied,
    total: row.total,
    ...(row.checksum === "" ? {} : { checksum: row.checksum.slice(0, MAX_CHECKSUM_CHARS) }),
    ...(row.appliedAt === undefined ? {} : { applied_at: row.appliedAt }),
    ...(row.executionMillis === undefined ? {} : { execution_millis: row.executionMillis }),
  };
}
