/** A schema's own spec and plan: the one place that narrows what the core holds for both families. */
import type { PtahSchemaPlanSpec, PtahSchemaSpec } from "../../crds/spec.ts";
import type { CurrentSchemaPlan } from "../../crds/status/index.ts";
import type { Context, Status } from "../context.ts";
import type { PlanSpec } from "./types.ts";

/** The view's family says whose spec it is. */
export const schemaSpec = (c: Context): PtahSchemaSpec => c.spec as PtahSchemaSpec;
export const schemaPlan = (status: Status): CurrentSchemaPlan | undefined =>
  status.plan as CurrentSchemaPlan | undefined;
export const schemaPlanSpec = (spec: PlanSpec): PtahSchemaPlanSpec => spec as PtahSchemaPlanSpec;
export const chunksOf = (spec: PlanSpec): PtahSchemaPlanSpec["chunks"] => schemaPlanSpec(spec).chunks;
