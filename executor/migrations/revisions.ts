import { createHash } from "node:crypto";
import type { Migration, Statement } from "./migration.ts";

/**
 * One row of the revision table `schema_migrations`. Only `applied` is clean; `pending` and `failed`, and either with the
 * suffix `:down` (a rollback that stopped), are dirty.
 */
export interface Revision {
  readonly version: number;
  readonly description: string;
  readonly state: string;
  /** Statements known to be committed. */
  readonly applied: number;
  readonly total: number;
  /** Hex SHA-256 of the up file, `partial:h1:…` while dirty, empty in tables that never recorded one. */
  readonly checksum: string;
  /** RFC 3339 in UTC, undefined where the row has none. */
  readonly appliedAt: string | undefined;
  /** Undefined where the table has no such column. */
  readonly executionMillis: number | undefined;
}

/** What a row's writer says of a migration. */
export interface RevisionEntry {
  readonly version: number;
  readonly description: string;
  readonly state: "applied" | "pending" | "failed";
  readonly applied: number;
  readonly total: number;
  readonly error: string | null;
  readonly errorStatement: string | null;
  readonly executionMs: number;
  readonly checksum: string;
}

/** The row of a migration whose every statement is done. */
export function appliedEntry(
  { migration, statements }: { readonly migration: Migration; readonly statements: readonly Statement[] },
  executionMs: number,
): RevisionEntry {
  return {
    version: migration.version,
    description: migration.description,
    state: "applied",
    applied: statements.length,
    total: statements.length,
    error: null,
    errorStatement: null,
    executionMs,
    checksum: migration.checksum,
  };
}

/** The revision table as one reading found it. */
export interface RevisionTable {
  /** False where the table is missing: then nothing was ever applied. */
  readonly present: boolean;
  /** Columns that a writer needs and the table lacks. */
  readonly missingColumns: readonly string[];
  /** Ascending by version. */
  readonly rows: readonly Revision[];
}

/** In the row before a statement is sent: a process that dies leaves it there. The reference's own words. */
export const OUTCOME_UNKNOWN = "statement execution outcome is unknown after process interruption";
/** In the row of a migration that runs in one transaction, until that transaction ends. */
export const INTERRUPTED = "the migration was interrupted before its transaction ended";

export const isDirty = (row: Revision): boolean => row.state !== "applied";

/** How many statements, for a sentence. */
export const counted = (statements: number): string => `${statements} statement${statements === 1 ? "" : "s"}`;

/** Checksum of a dirty row: over the sources of the statements that are committed, in order and without separator. */
export function partialChecksum(statements: readonly Statement[], committed: number): string {
  const hash = createHash("sha256");
  for (const statement of statements.slice(0, committed)) hash.update(statement.source, "utf8");
  return `partial:h1:${hash.digest("base64")}`;
}

/** Columns in the table's order, with what an older table without them means. */
export const COLUMNS: readonly { readonly name: string; readonly definition: string }[] = [
  { name: "version", definition: "BIGINT PRIMARY KEY" },
  { name: "description", definition: "TEXT NOT NULL" },
  { name: "applied_at", definition: "TIMESTAMP DEFAULT CURRENT_TIMESTAMP" },
  { name: "state", definition: "VARCHAR(32) NOT NULL DEFAULT 'applied'" },
  { name: "applied", definition: "INT NOT NULL DEFAULT 1" },
  { name: "total", definition: "INT NOT NULL DEFAULT 1" },
  { name: "error", definition: "TEXT" },
  { name: "error_stmt", definition: "TEXT" },
  { name: "execution_time_ms", definition: "BIGINT NOT NULL DEFAULT 0" },
  { name: "checksum", definition: "VARCHAR(64) NOT NULL DEFAULT ''" },
];
