/** PtahMigrationPlan: the versions as they would run, immutable, for people to read and approve. */
import type * as v from "valibot";
import { type CustomKind, columns, conditionColumn } from "./kind.ts";
import { PtahMigrationPlanSpec } from "./migrationspec.ts";
import { customObject } from "./object.ts";
import { MigrationPlanStatus } from "./status/plan.ts";

export const PTAH_MIGRATION_PLAN: CustomKind = {
  kind: "PtahMigrationPlan",
  plural: "ptahmigrationplans",
  shortName: "ptahmplan",
  description:
    "PtahMigrationPlan is one sequence of versions for one database, with the history it continues. Published by the " +
    "operator only. It holds versions and checksums, never SQL: that stays in the source.",
  spec: PtahMigrationPlanSpec,
  specImmutable: true,
  status: MigrationPlanStatus,
  columns: columns(
    {
      name: "Migration",
      type: "string",
      jsonPath: ".spec.migrationRef.name",
      description: "The PtahMigration it is for.",
    },
    {
      name: "From",
      type: "integer",
      jsonPath: ".spec.currentVersion",
      description: "Version the database is at before it.",
    },
    { name: "Steps", type: "integer", jsonPath: ".spec.stepCount", description: "How many versions it runs." },
    conditionColumn("Ready", "Ready", "Whether the plan was stored and read back."),
  ),
};

export const PtahMigrationPlan = customObject(PTAH_MIGRATION_PLAN, PtahMigrationPlanSpec, MigrationPlanStatus);
export type PtahMigrationPlan = v.InferOutput<typeof PtahMigrationPlan>;
