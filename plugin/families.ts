/** What the kinds that people steer differ in. Commands are written over this; another kind is another descriptor. */

import type { DatabaseTargetSpec } from "../crds/index.ts";
import { PTAH_SCHEMA, type PtahSchema } from "../crds/ptahschema.ts";
import { declaredSource } from "../crds/source.ts";
import { SCHEMA_PHASES, type SchemaStatus } from "../crds/status/index.ts";
import { type Custom, custom, type Kind, type RawCustom, type Stored } from "../kube/index.ts";
import { type Approvals, SCHEMA_APPROVALS } from "./approvals.ts";

/** What is alike in every kind: policy, source and plan are the family's own. */
export interface Resource extends Stored {
  readonly spec: { readonly suspend: boolean; readonly target: DatabaseTargetSpec };
  readonly status?:
    | (Pick<
        SchemaStatus,
        | "observedGeneration"
        | "activeOperation"
        | "cycle"
        | "lastReadRequest"
        | "nextReconciliationTime"
        | "journal"
        | "conditions"
      > & { readonly phase?: string | undefined; readonly plan?: { readonly uid: string } | undefined })
    | undefined;
}

/** A dispatched Apply nobody has accounted for yet. */
export type UnsettledRecord = NonNullable<SchemaStatus["pendingObservation"]>;

/** A declared source, and what it was resolved to last. */
export interface SourceView {
  readonly declared: ReturnType<typeof declaredSource>;
  readonly contentDigest: string | undefined;
}

export interface Family<T extends Resource = Resource> {
  readonly kind: string;
  /** What a name may be written behind, `schema/NAME`; the first is the one that is printed. */
  readonly words: readonly [string, ...string[]];
  /** Every phase `wait --for` may name. */
  readonly phases: readonly string[];
  readonly typed: Kind<T>;
  readonly raw: Kind<RawCustom>;
  /** The command that prints its plan. */
  readonly planCommand: string;
  readonly approvals: Approvals<T>;
  record(resource: T): UnsettledRecord | undefined;
  source(resource: T): SourceView;
}

/** A resource as a command names it. */
export interface Target<T extends Resource = Resource> {
  readonly family: Family<T>;
  readonly name: string;
}

export type Schema = Custom<PtahSchema>;

export const SCHEMA: Family<Schema> = {
  kind: PTAH_SCHEMA.kind,
  words: ["schema", "schemas", PTAH_SCHEMA.kind.toLowerCase(), PTAH_SCHEMA.plural, PTAH_SCHEMA.shortName],
  phases: SCHEMA_PHASES,
  typed: custom.PtahSchema.typed,
  raw: custom.PtahSchema.raw,
  planCommand: "plan",
  approvals: SCHEMA_APPROVALS,
  record: (schema) => schema.status?.pendingObservation,
  source: (schema) => ({
    declared: declaredSource(schema.spec.desired),
    contentDigest: schema.status?.source?.contentDigest,
  }),
};

/** Every kind, the one a bare name means first. */
export const FAMILIES: readonly [Family, ...Family[]] = [SCHEMA];
