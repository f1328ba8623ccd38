/** A migration's own spec and plan: the one place that narrows what the core holds for both families. */
import type { PtahMigrationPlanSpec, PtahMigrationSpec } from "../../crds/migrationspec.ts";
import type { CurrentMigrationPlan, MigrationSequence, SequenceStep } from "../../crds/status/index.ts";
import type { Context, Status } from "../context.ts";
import type { PlanSpec } from "./types.ts";

/** The view's family says whose spec it is. */
export const migrationSpec = (c: Context): PtahMigrationSpec => c.spec as PtahMigrationSpec;
export const migrationPlan = (status: Status): CurrentMigrationPlan | undefined =>
  status.plan as CurrentMigrationPlan | undefined;
export const migrationPlanSpec = (spec: PlanSpec): PtahMigrationPlanSpec => spec as PtahMigrationPlanSpec;

/** A step without what only people read. */
function stepOf({ version, versionKey, checksum, checkpoint, transactionMode }: SequenceStep): SequenceStep {
  return {
    version,
    ...(versionKey === undefined ? {} : { versionKey }),
    checksum,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(transactionMode === undefined ? {} : { transactionMode }),
  };
}

/** What a claim and a Job carry of a plan's versions, and their digest covers. */
export const sequenceOf = (steps: readonly SequenceStep[]): MigrationSequence => steps.map(stepOf);
