/**
 * The families' own types under neutral names, for the shared core. A rule reads only what both members of a union have; a
 * descriptor narrows to its own in one place.
 */
import type { PtahMigrationPlanSpec, PtahMigrationSpec } from "../../crds/migrationspec.ts";
import type { Family } from "../../crds/names.ts";
import type { SourceSpec } from "../../crds/source.ts";
import type { PtahSchemaPlanSpec, PtahSchemaSpec } from "../../crds/spec.ts";
import type {
  CurrentMigrationPlan,
  CurrentSchemaPlan,
  MigrationPhase,
  MigrationStatus,
  SchemaPhase,
  SchemaStatus,
} from "../../crds/status/index.ts";

export type FamilyName = Family;
export type Spec = PtahSchemaSpec | PtahMigrationSpec;
export type PlanSpec = PtahSchemaPlanSpec | PtahMigrationPlanSpec;
/** The plan that status names. */
export type StandingPlan = CurrentSchemaPlan | CurrentMigrationPlan;
export type Phase = SchemaPhase | MigrationPhase;

type Own<S> = Omit<S, "phase" | "plan">;
/** The status of either family: every field of both, each family writing only its own. */
export type Status = Own<SchemaStatus> &
  Own<MigrationStatus> & {
    readonly phase?: Phase | undefined;
    readonly plan?: StandingPlan | undefined;
  };

/** Where a resource's content comes from. */
export const sourceSpecOf = (spec: Spec): SourceSpec => ("desired" in spec ? spec.desired : spec.artifact);
