/** PtahMigrationRunAcknowledgment: a person's word about one run that nobody could account for. */
import type * as v from "valibot";
import { type CustomKind, columns, conditionColumn } from "./kind.ts";
import { PtahMigrationRunAcknowledgmentSpec } from "./migrationspec.ts";
import { customObject } from "./object.ts";
import { AcknowledgmentStatus } from "./status/migration.ts";

export const PTAH_MIGRATION_RUN_ACKNOWLEDGMENT: CustomKind = {
  kind: "PtahMigrationRunAcknowledgment",
  plural: "ptahmigrationrunacknowledgments",
  shortName: "ptahmack",
  description:
    "PtahMigrationRunAcknowledgment ends the hold of one run that ended partly or unknown, after a person established " +
    "what it did. Write migrationRef and operationID, or use `kubectl ptah acknowledge`; who and when is stamped by " +
    "admission.",
  spec: PtahMigrationRunAcknowledgmentSpec,
  specImmutable: true,
  status: AcknowledgmentStatus,
  columns: columns(
    {
      name: "Migration",
      type: "string",
      jsonPath: ".spec.migrationRef.name",
      description: "The PtahMigration it is for.",
    },
    {
      name: "Acknowledged By",
      type: "string",
      jsonPath: ".spec.acknowledgedBy.username",
      description: "Who acknowledged.",
    },
    conditionColumn("Consumed", "Consumed", "Whether it ended the hold of its run."),
    conditionColumn("Stale", "Stale", "Whether it names a run that nobody waits for."),
    {
      name: "Operation",
      type: "string",
      jsonPath: ".spec.operationID",
      description: "The run that is acknowledged.",
      wide: true,
    },
  ),
};

export const PtahMigrationRunAcknowledgment = customObject(
  PTAH_MIGRATION_RUN_ACKNOWLEDGMENT,
  PtahMigrationRunAcknowledgmentSpec,
  AcknowledgmentStatus,
);
export type PtahMigrationRunAcknowledgment = v.InferOutput<typeof PtahMigrationRunAcknowledgment>;
