/** PtahSchema: a database schema that somebody declares. */
import type * as v from "valibot";
import { type CustomKind, columns, conditionColumn, NAME_FITS_A_LABEL, readyColumns } from "./kind.ts";
import { customObject } from "./object.ts";
import { PtahSchemaSpec } from "./spec.ts";
import { SchemaStatus } from "./status/schema.ts";

export const PTAH_SCHEMA: CustomKind = {
  kind: "PtahSchema",
  plural: "ptahschemas",
  shortName: "ptahs",
  description:
    "PtahSchema declares the schema of a database. The operator plans the difference, holds the plan to policy and to " +
    "an approval of that exact plan, runs it once, and believes only a fresh read of the database.",
  spec: PtahSchemaSpec,
  specImmutable: false,
  status: SchemaStatus,
  statusDefault: { observedGeneration: -1 },
  rules: [NAME_FITS_A_LABEL],
  columns: columns(
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Where the resource is." },
    {
      name: "Digest",
      type: "string",
      jsonPath: ".status.source.digest",
      description: "Content digest of the source.",
      wide: true,
    },
    conditionColumn("Drift", "DriftDetected", "Whether the database differs from what is declared."),
    conditionColumn("Needs Approval", "ApprovalRequired", "Whether a plan waits for a person."),
    conditionColumn("In Sync", "InSync", "Whether a fresh read proved that nothing is left to change."),
    ...readyColumns("Whether the database is as declared and nothing is owed."),
  ),
};

export const PtahSchema = customObject(PTAH_SCHEMA, PtahSchemaSpec, SchemaStatus);
export type PtahSchema = v.InferOutput<typeof PtahSchema>;
