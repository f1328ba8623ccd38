import { GROUP, VERSION } from "../crds/common.ts";
import {
  type Parsed,
  parsePtahMigration,
  parsePtahMigrationApproval,
  parsePtahMigrationPlan,
  parsePtahMigrationRunAcknowledgment,
  parsePtahSchema,
  parsePtahSchemaApproval,
  parsePtahSchemaPlan,
  parsePtahSchemaPlanChunk,
} from "../crds/fields.ts";
import type { CustomKind } from "../crds/kind.ts";
import { PTAH_MIGRATION, type PtahMigration } from "../crds/ptahmigration.ts";
import { PTAH_MIGRATION_APPROVAL, type PtahMigrationApproval } from "../crds/ptahmigrationapproval.ts";
import { PTAH_MIGRATION_PLAN, type PtahMigrationPlan } from "../crds/ptahmigrationplan.ts";
import {
  PTAH_MIGRATION_RUN_ACKNOWLEDGMENT,
  type PtahMigrationRunAcknowledgment,
} from "../crds/ptahmigrationrunacknowledgment.ts";
import { PTAH_SCHEMA, type PtahSchema } from "../crds/ptahschema.ts";
import { PTAH_SCHEMA_APPROVAL, type PtahSchemaApproval } from "../crds/ptahschemaapproval.ts";
import {
  PTAH_SCHEMA_PLAN,
  PTAH_SCHEMA_PLAN_CHUNK,
  type PtahSchemaPlan,
  type PtahSchemaPlanChunk,
} from "../crds/ptahschemaplan.ts";
import { KubeError } from "./errors.ts";
import { type Kind, kindOf } from "./kinds.ts";
import { type Stored, StoredShape } from "./objects.ts";

/** An object of one of our kinds: its typed spec and status beside the metadata as the API server has it. */
export type Custom<T> = Omit<T, "metadata"> & Stored;

/** One of our kinds as it is stored, not yet judged; what a watch brings, so that one odd object stops nobody else. */
export interface RawCustom extends Stored {
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface CustomKindAccess<T> {
  /** Strict: an object this version cannot read is `Malformed`, with the names of the fields. */
  readonly typed: Kind<Custom<T>>;
  /** Lenient: metadata is checked, the rest waits for `read`. */
  readonly raw: Kind<RawCustom>;
  /** Parses what `raw` brought. */
  read(object: RawCustom): Parsed<Custom<T>>;
}

function access<T extends { metadata: unknown }>(
  kind: CustomKind,
  parse: (value: unknown) => Parsed<T>,
): CustomKindAccess<T> {
  const facts = { group: GROUP, version: VERSION, plural: kind.plural, kind: kind.kind, namespaced: true };
  const raw = kindOf<RawCustom>(facts, StoredShape);
  const read = (object: RawCustom): Parsed<Custom<T>> => {
    const parsed = parse(object);
    return parsed.ok ? { ok: true, value: { ...parsed.value, metadata: object.metadata } } : parsed;
  };
  return {
    raw,
    read,
    typed: {
      ...facts,
      parse: (value) => {
        const parsed = read(raw.parse(value));
        if (parsed.ok) return parsed.value;
        throw new KubeError({ code: "Malformed", committed: "no" }, `${kind.kind}: ${parsed.message}`);
      },
    },
  };
}

/** Our own kinds. */
export const custom = {
  PtahSchema: access<PtahSchema>(PTAH_SCHEMA, parsePtahSchema),
  PtahSchemaPlan: access<PtahSchemaPlan>(PTAH_SCHEMA_PLAN, parsePtahSchemaPlan),
  PtahSchemaPlanChunk: access<PtahSchemaPlanChunk>(PTAH_SCHEMA_PLAN_CHUNK, parsePtahSchemaPlanChunk),
  PtahSchemaApproval: access<PtahSchemaApproval>(PTAH_SCHEMA_APPROVAL, parsePtahSchemaApproval),
  PtahMigration: access<PtahMigration>(PTAH_MIGRATION, parsePtahMigration),
  PtahMigrationPlan: access<PtahMigrationPlan>(PTAH_MIGRATION_PLAN, parsePtahMigrationPlan),
  PtahMigrationApproval: access<PtahMigrationApproval>(PTAH_MIGRATION_APPROVAL, parsePtahMigrationApproval),
  PtahMigrationRunAcknowledgment: access<PtahMigrationRunAcknowledgment>(
    PTAH_MIGRATION_RUN_ACKNOWLEDGMENT,
    parsePtahMigrationRunAcknowledgment,
  ),
} as const;
