/** Versioned directories and the revision table of a database, as few letters; and what the executor reports of them. */
import type { MigrationHistory, MigrationRun } from "../../workload/migration.ts";
import type { Content } from "./values.ts";

/** The versions that a content's directory holds. */
const DIRECTORIES: Readonly<Record<Content, readonly number[]>> = { A: [1, 2], B: [1, 2, 3] };

/**
 * A revision table: versions 1 to `applied` are recorded; `dirty` is the row of the next one, left unfinished; `modified`
 * says that an applied row is of another file.
 */
export interface Revisions {
  readonly applied: number;
  readonly dirty: boolean;
  readonly modified: boolean;
}

/** The table as a database's state: `h2`, `h1!` with a dirty row, `h2*` with a modified one. */
export const tableOf = (applied: number, mark: "" | "!" | "*" = ""): string => `h${applied}${mark}`;

export function revisionsOf(state: string): Revisions {
  return { applied: Number(state.slice(1, 2)), dirty: state.endsWith("!"), modified: state.endsWith("*") };
}

export const directoryOf = (content: string): readonly number[] => DIRECTORIES[content as Content] ?? [];

/** What the executor selects, in its order. */
export function pendingOf(state: string, content: string): readonly number[] {
  const { applied } = revisionsOf(state);
  return directoryOf(content).filter((version) => version > applied);
}

/** Whether the executor would run anything on this table: a dirty, modified or newer one is refused. */
export function runnable(state: string, content: string): boolean {
  const { applied, dirty, modified } = revisionsOf(state);
  return !dirty && !modified && applied <= (directoryOf(content).at(-1) ?? 0);
}

/** Whether a reading of this table finds nothing pending and nothing wrong. */
export const matched = (state: string, content: string): boolean =>
  runnable(state, content) && pendingOf(state, content).length === 0;

/** What a directory's reading reports of a table. @param told false: nothing of the files but their versions */
export function historyDocument(state: string, content: string, told = true): MigrationHistory {
  const { applied, dirty, modified } = revisionsOf(state);
  const directory = directoryOf(content);
  const pending = pendingOf(state, content);
  const recorded = Array.from({ length: applied }, (_, at) => at + 1);
  const unknown = recorded.filter((version) => !directory.includes(version));
  return {
    contractVersion: 1,
    currentVersion: applied,
    totalMigrations: directory.length,
    hasPendingChanges: pending.length > 0,
    pendingMigrations: [...pending],
    migrations: directory.map((version) => ({
      version,
      ...(told ? { checksum: `h1:${version}` } : {}),
      state:
        version > applied
          ? dirty && version === applied + 1
            ? "dirty"
            : "pending"
          : modified && version === applied
            ? "modified"
            : "applied",
    })),
    ...(unknown.length === 0 ? {} : { unknownVersions: unknown }),
    ...(dirty ? { dirtyRevision: { version: applied + 1, applied: 1, total: 2 } } : {}),
  };
}

/** How a run ended, and how many of what it selected it says it applied. */
export interface RunEnd {
  readonly outcome: MigrationRun["outcome"];
  readonly planned: string;
  readonly applied: number;
}

/** A plan's versions as one word, and back. */
export const wordOf = (versions: readonly number[]): string => versions.join(",");
export const versionsOf = (word: string): number[] => (word === "" ? [] : word.split(",").map(Number));

export function runDocument({ outcome, planned, applied }: RunEnd): MigrationRun {
  const versions = versionsOf(planned);
  return { contractVersion: 1, outcome, planned: versions, applied: versions.slice(0, applied) };
}
