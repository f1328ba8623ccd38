/** What the kinds that people steer differ in. Commands are written over this; another kind is another descriptor. */

import { migrationWayOut } from "../crds/commands.ts";
import type { DatabaseTargetSpec } from "../crds/index.ts";
import { PTAH_MIGRATION, type PtahMigration } from "../crds/ptahmigration.ts";
import { PTAH_SCHEMA, type PtahSchema } from "../crds/ptahschema.ts";
import { declaredSource } from "../crds/source.ts";
import { MIGRATION_PHASES, SCHEMA_PHASES, type SchemaStatus } from "../crds/status/index.ts";
import { type Custom, custom, type Kind, type RawCustom, type Stored } from "../kube/index.ts";
import { type Approvals, MIGRATION_APPROVALS, SCHEMA_APPROVALS } from "./approvals.ts";
import type { PlanChoice } from "./load.ts";
import { migrationPlan, type PlanOutput, schemaPlan } from "./plan.ts";
import { applyLines, runText } from "./runchecks.ts";
import type { Session } from "./session.ts";

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
        | "resolvedRun"
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
  /** A plan of it, as it is printed. @throws Failure */
  plan(session: Session, resource: T, choice: PlanChoice, output: PlanOutput): Promise<string>;
  record(resource: T): UnsettledRecord | undefined;
  /** The record as whoever decides on it reads it: what is known of it and, where the kind has that, where to look. */
  shown(resource: T, record: UnsettledRecord, nowMs: number): string;
  /** Why the word of `settle` would count for nothing now, and what does; undefined where it counts. */
  unsettleable(resource: T): string | undefined;
  source(resource: T): SourceView;
}

/** A resource as a command names it. */
export interface Target<T extends Resource = Resource> {
  readonly family: Family<T>;
  readonly name: string;
}

export type Schema = Custom<PtahSchema>;
export type Migration = Custom<PtahMigration>;

export const SCHEMA: Family<Schema> = {
  kind: PTAH_SCHEMA.kind,
  words: ["schema", "schemas", PTAH_SCHEMA.kind.toLowerCase(), PTAH_SCHEMA.plural, PTAH_SCHEMA.shortName],
  phases: SCHEMA_PHASES,
  typed: custom.PtahSchema.typed,
  raw: custom.PtahSchema.raw,
  planCommand: "plan",
  approvals: SCHEMA_APPROVALS,
  plan: schemaPlan,
  record: (schema) => schema.status?.pendingObservation,
  shown: (schema, record, nowMs) => applyLines(schema, record, nowMs).join("\n"),
  unsettleable: () => undefined,
  source: (schema) => ({
    declared: declaredSource(schema.spec.desired),
    contentDigest: schema.status?.source?.contentDigest,
  }),
};

export const MIGRATION: Family<Migration> = {
  kind: PTAH_MIGRATION.kind,
  words: [
    "migration",
    "migrations",
    PTAH_MIGRATION.kind.toLowerCase(),
    PTAH_MIGRATION.plural,
    PTAH_MIGRATION.shortName,
  ],
  phases: MIGRATION_PHASES,
  typed: custom.PtahMigration.typed,
  raw: custom.PtahMigration.raw,
  planCommand: "migration",
  approvals: MIGRATION_APPROVALS,
  plan: migrationPlan,
  record: (migration) => migration.status?.unresolvedRun,
  shown: runText,
  unsettleable: ({ metadata }) =>
    metadata.deletionTimestamp === undefined
      ? `settle counts only while a migration is being deleted; use ${migrationWayOut(metadata, false)}`
      : undefined,
  source: (migration) => ({
    declared: declaredSource(migration.spec.artifact),
    contentDigest: migration.status?.artifact?.contentDigest,
  }),
};

/** Every kind. */
export const FAMILIES: readonly [Family, ...Family[]] = [SCHEMA, MIGRATION];
