/** PtahMigration: versioned migrations that somebody wrote. */
import type * as v from "valibot";
import { type CustomKind, columns, NAME_FITS_A_LABEL, readyColumns } from "./kind.ts";
import { PtahMigrationSpec } from "./migrationspec.ts";
import { customObject } from "./object.ts";
import { MigrationStatus } from "./status/migration.ts";

export const PTAH_MIGRATION: CustomKind = {
  kind: "PtahMigration",
  plural: "ptahmigrations",
  shortName: "ptahm",
  description:
    "PtahMigration runs a directory of versioned migrations. The operator reads the database's history, holds the " +
    "pending versions to policy and to an approval of that exact sequence, runs it once, and believes only a fresh read " +
    "of the history.",
  spec: PtahMigrationSpec,
  specImmutable: false,
  status: MigrationStatus,
  statusDefault: { observedGeneration: -1 },
  rules: [NAME_FITS_A_LABEL],
  columns: columns(
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Where the resource is." },
    {
      name: "Current",
      type: "integer",
      jsonPath: ".status.history.currentVersion",
      description: "Version the database is at.",
    },
    {
      name: "Pending",
      type: "integer",
      jsonPath: ".status.history.pendingCount",
      description: "How many versions are pending.",
    },
    {
      name: "Last run",
      type: "string",
      jsonPath: ".status.lastRun.outcome",
      description: "How the last run ended; what has become of the database since, the phase says.",
    },
    {
      name: "Digest",
      type: "string",
      jsonPath: ".status.artifact.digest",
      description: "Content digest of the source.",
      wide: true,
    },
    ...readyColumns("Whether nothing is pending and nothing is owed."),
  ),
};

export const PtahMigration = customObject(PTAH_MIGRATION, PtahMigrationSpec, MigrationStatus);
export type PtahMigration = v.InferOutput<typeof PtahMigration>;
