/** The door: objects as the API server sent them become typed values, or an error that names the field. */
import * as v from "valibot";
import type { CustomKind } from "./kind.ts";
import { PTAH_MIGRATION, PtahMigration } from "./ptahmigration.ts";
import { PTAH_MIGRATION_APPROVAL, PtahMigrationApproval } from "./ptahmigrationapproval.ts";
import { PTAH_MIGRATION_PLAN, PtahMigrationPlan } from "./ptahmigrationplan.ts";
import { PTAH_MIGRATION_RUN_ACKNOWLEDGMENT, PtahMigrationRunAcknowledgment } from "./ptahmigrationrunacknowledgment.ts";
import { PTAH_SCHEMA, PtahSchema } from "./ptahschema.ts";
import { PTAH_SCHEMA_APPROVAL, PtahSchemaApproval } from "./ptahschemaapproval.ts";
import { PTAH_SCHEMA_PLAN, PTAH_SCHEMA_PLAN_CHUNK, PtahSchemaPlan, PtahSchemaPlanChunk } from "./ptahschemaplan.ts";

/** Every kind this version serves. */
export const KINDS: readonly CustomKind[] = [
  PTAH_SCHEMA,
  PTAH_SCHEMA_PLAN,
  PTAH_SCHEMA_PLAN_CHUNK,
  PTAH_SCHEMA_APPROVAL,
  PTAH_MIGRATION,
  PTAH_MIGRATION_PLAN,
  PTAH_MIGRATION_APPROVAL,
  PTAH_MIGRATION_RUN_ACKNOWLEDGMENT,
];

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: "object_not_readable"; readonly message: string };

/** Most problems one message names. */
const PROBLEMS_MAX = 5;

/**
 * Parses an object of the API. Fields of a newer minor version are left out; a value of a known field that this version
 * does not know is an error, because acting on half an object is not safe.
 * @returns the typed object, or a message that names fields and never their values
 */
export function parseObject<T extends v.GenericSchema>(schema: T, value: unknown): Parsed<v.InferOutput<T>> {
  const result = v.safeParse(schema, value);
  if (result.success) return { ok: true, value: result.output };
  const fields = result.issues.map((issue) => v.getDotPath(issue) ?? "(the object)");
  const shown = [...new Set(fields)].slice(0, PROBLEMS_MAX).join(", ");
  return {
    ok: false,
    code: "object_not_readable",
    message: `This version cannot read ${shown}. Check whether a newer version of the operator wrote the object.`,
  };
}

export const parsePtahSchema = (value: unknown): Parsed<PtahSchema> => parseObject(PtahSchema, value);
export const parsePtahSchemaPlan = (value: unknown): Parsed<PtahSchemaPlan> => parseObject(PtahSchemaPlan, value);
export const parsePtahSchemaPlanChunk = (value: unknown): Parsed<PtahSchemaPlanChunk> =>
  parseObject(PtahSchemaPlanChunk, value);
export const parsePtahSchemaApproval = (value: unknown): Parsed<PtahSchemaApproval> =>
  parseObject(PtahSchemaApproval, value);
export const parsePtahMigration = (value: unknown): Parsed<PtahMigration> => parseObject(PtahMigration, value);
export const parsePtahMigrationPlan = (value: unknown): Parsed<PtahMigrationPlan> =>
  parseObject(PtahMigrationPlan, value);
export const parsePtahMigrationApproval = (value: unknown): Parsed<PtahMigrationApproval> =>
  parseObject(PtahMigrationApproval, value);
export const parsePtahMigrationRunAcknowledgment = (value: unknown): Parsed<PtahMigrationRunAcknowledgment> =>
  parseObject(PtahMigrationRunAcknowledgment, value);
