/** Which migrations a run would apply, and what each migration of the directory is to this database. Pure. */
import type { Migration } from "./migration.ts";
import { counted, isDirty, type Revision } from "./revisions.ts";

export type MigrationState = "applied" | "modified" | "dirty" | "pending" | "out-of-order" | "checkpoint-covered";

/** One migration of the directory beside its row. */
export interface Standing {
  readonly migration: Migration;
  readonly row: Revision | undefined;
  readonly state: MigrationState;
}

export interface Selection {
  /** Every migration of the directory, ascending. */
  readonly standings: readonly Standing[];
  /** What a run would apply, in this order. */
  readonly pending: readonly Migration[];
  /** The checkpoint a fresh database starts at, or the newest one this database was started from. */
  readonly checkpointVersion: number | undefined;
  /** Highest version recorded as applied, 0 where there is none. */
  readonly currentVersion: number;
  /** The row of the lowest dirty version. */
  readonly dirty: Revision | undefined;
  /** Recorded versions that the directory does not hold and that no applied checkpoint covers: the database is ahead. */
  readonly unknownVersions: readonly number[];
}

/**
 * Compares the directory with the rows. Linear order: what is pending below the highest applied version is out of order. A
 * database without any row starts at the newest checkpoint; any other passes checkpoints over.
 */
export function select(migrations: readonly Migration[], rows: readonly Revision[]): Selection {
  const byVersion = new Map(rows.map((row) => [row.version, row]));
  const checkpoints = migrations.filter((m) => m.checkpoint);
  const fresh = rows.length === 0;
  const start = fresh ? checkpoints.at(-1)?.version : newestApplied(checkpoints, byVersion);
  const currentVersion = rows.reduce((max, row) => (isDirty(row) ? max : Math.max(max, row.version)), 0);
  const standings = migrations.map((migration): Standing => {
    const row = byVersion.get(migration.version);
    return { migration, row, state: stateOf(migration, row, { fresh, start, currentVersion }) };
  });
  const held = new Set(migrations.map((m) => m.version));
  const unknown = rows.filter((row) => !held.has(row.version) && !(start !== undefined && row.version < start));
  return {
    standings,
    pending: standings.filter((s) => s.state === "pending").map((s) => s.migration),
    checkpointVersion: start,
    currentVersion,
    dirty: rows.find(isDirty),
    unknownVersions: unknown.map((row) => row.version),
  };
}

function newestApplied(checkpoints: readonly Migration[], rows: ReadonlyMap<number, Revision>): number | undefined {
  const applied = checkpoints.filter((c) => {
    const row = rows.get(c.version);
    return row !== undefined && !isDirty(row);
  });
  return applied.at(-1)?.version;
}

interface Boundary {
  readonly fresh: boolean;
  readonly start: number | undefined;
  readonly currentVersion: number;
}

function stateOf(migration: Migration, row: Revision | undefined, at: Boundary): MigrationState {
  if (row !== undefined) {
    if (isDirty(row)) return "dirty";
    // Tables of the earliest releases recorded no checksum: there is nothing to compare.
    return row.checksum === "" || row.checksum === migration.checksum ? "applied" : "modified";
  }
  if (at.start !== undefined && migration.version < at.start) return "checkpoint-covered";
  if (migration.checkpoint && !at.fresh) return "checkpoint-covered";
  return migration.version < at.currentVersion ? "out-of-order" : "pending";
}

/** Why nothing may be run, in the order in which a person has to deal with it. */
export interface Blocker {
  readonly code: "history_dirty" | "history_modified" | "history_ahead" | "history_out_of_order" | "too_many_pending";
  readonly message: string;
  readonly versions: readonly number[];
}

/** Most versions one run applies: the bound of a plan. */
export const MAX_PENDING = 256;
const MAX_VERSIONS_NAMED = 20;

/** Versions whose row is clean and holds another checksum than the directory's file: another file was applied, or it was edited. */
export function modifiedVersions(migrations: readonly Migration[], rows: readonly Revision[]): readonly number[] {
  return select(migrations, rows)
    .standings.filter(({ state }) => state === "modified")
    .map(({ migration }) => migration.version);
}

/** @returns undefined where the pending migrations may be run */
export function blocker(selection: Selection): Blocker | undefined {
  const inState = (state: MigrationState): number[] =>
    selection.standings.filter((s) => s.state === state).map((s) => s.migration.version);
  const { dirty } = selection;
  if (dirty !== undefined) {
    const message = `version ${dirty.version} is recorded as ${dirty.state} after ${dirty.applied} of ${counted(dirty.total)}; establish what it left in the database, then use migrations set or repair`;
    return { code: "history_dirty", message, versions: [dirty.version] };
  }
  const modified = inState("modified");
  if (modified.length > 0) {
    const message = `the file of ${named(modified)} is not the one that was applied; restore it and make the change in a new version`;
    return { code: "history_modified", message, versions: modified };
  }
  const unknown = selection.unknownVersions;
  if (unknown.length > 0) {
    const message = `the database records ${named(unknown)}, which the directory does not hold: the database is ahead; use the directory that was applied`;
    return { code: "history_ahead", message, versions: unknown };
  }
  const late = inState("out-of-order");
  if (late.length > 0) {
    const message = `${named(late)} is below the applied version ${selection.currentVersion} and was never applied; give it a new, higher version`;
    return { code: "history_out_of_order", message, versions: late };
  }
  if (selection.pending.length > MAX_PENDING) {
    const message = `${selection.pending.length} versions are pending and one run applies at most ${MAX_PENDING}; apply the directory in parts`;
    return { code: "too_many_pending", message, versions: [] };
  }
  return undefined;
}

/** Versions for a sentence; the rest is counted. */
export function named(versions: readonly number[], most = MAX_VERSIONS_NAMED): string {
  const shown = versions.slice(0, most).join(", ");
  const rest = versions.length - most;
  return `version${versions.length === 1 ? "" : "s"} ${shown}${rest > 0 ? ` and ${rest} more` : ""}`;
}
