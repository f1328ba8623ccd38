/** In what the families differ for the shell: which kinds are theirs, and how each is read. Nothing else here names one. */
import type { Parsed } from "../crds/fields.ts";
import type { PtahMigrationRunAcknowledgmentSpec } from "../crds/migrationspec.ts";
import { label } from "../crds/names.ts";
import type { PtahSchemaApprovalSpec } from "../crds/spec.ts";
import type { AcknowledgmentStatus, ApprovalStatus } from "../crds/status/index.ts";
import {
  type Condition,
  type Custom,
  type CustomKindAccess,
  custom,
  type Kind,
  keyOf,
  type RawCustom,
  type Stored,
} from "../kube/index.ts";
import { FAMILIES as LIFECYCLES } from "../lifecycle/families/index.ts";
import type { Family as Lifecycle, PlanSpec, Spec, Status } from "../lifecycle/index.ts";
import type { FamilyName, ResourceFacts } from "../lifecycle/view.ts";
import type { WireOperation } from "../workload/result.ts";

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** A resource of either family. */
export interface ResourceObject extends Stored {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Spec;
  readonly status?: Status | undefined;
}

/** An object about one resource; `about` is the reference that its spec holds. */
interface About<S, T> extends Stored {
  readonly about: Reference;
  readonly spec: S;
  readonly status?: T | undefined;
}

export type PlanObject = About<PlanSpec, { readonly conditions?: readonly Condition[] | undefined }>;
export type ApprovalObject = About<Omit<PtahSchemaApprovalSpec, "schemaRef">, ApprovalStatus>;
export type AcknowledgmentObject = About<
  Omit<PtahMigrationRunAcknowledgmentSpec, "migrationRef">,
  AcknowledgmentStatus
>;
export interface ChunkObject extends Stored {
  readonly spec: { readonly data: string };
}

/** One kind of a family: as it is stored, and as typed data under names that the families share. */
export interface Reads<T extends Stored> {
  readonly raw: Kind<RawCustom>;
  /** Strict: what this version cannot read is `Malformed`. */
  readonly typed: Kind<T>;
  read(object: RawCustom): Parsed<T>;
}

export interface Family {
  readonly name: FamilyName;
  /** What the decision knows of it. */
  readonly lifecycle: Lifecycle;
  /** Label that names the resource on everything that is made for it. */
  readonly label: string;
  readonly resource: Reads<ResourceObject>;
  readonly plan: Reads<PlanObject>;
  /** Parts of a plan; absent where the plan's object holds all of it. */
  readonly chunk?: Reads<ChunkObject>;
  readonly approval: Reads<ApprovalObject>;
  /** People's words about a run; absent where people settle by an annotation alone. */
  readonly acknowledgment?: Reads<AcknowledgmentObject>;
  /** The metric's word on what a plan destroys; nobody reads statements that somebody wrote. */
  readonly destructive: (plan: { readonly destructive: boolean }) => string;
  /** The runner's names of its operations, by those in a claim. */
  readonly wire: Readonly<Record<string, WireOperation>>;
}

function reads<S extends { metadata: unknown }, T extends Stored>(
  access: CustomKindAccess<S>,
  to: (object: Custom<S>) => T,
): Reads<T> {
  return {
    raw: access.raw,
    typed: { ...access.typed, parse: (raw) => to(access.typed.parse(raw)) },
    read: (object) => {
      const parsed = access.read(object);
      return parsed.ok ? { ok: true, value: to(parsed.value) } : parsed;
    },
  };
}

const same = <T>(object: T): T => object;
const ofSchema = <T extends { readonly spec: { readonly schemaRef: Reference } }>(object: T) => ({
  ...object,
  about: object.spec.schemaRef,
});
const ofMigration = <T extends { readonly spec: { readonly migrationRef: Reference } }>(object: T) => ({
  ...object,
  about: object.spec.migrationRef,
});

const schema: Family = {
  name: "schema",
  lifecycle: LIFECYCLES.schema,
  label: label.schema,
  resource: reads(custom.PtahSchema, same),
  plan: reads(custom.PtahSchemaPlan, ofSchema),
  chunk: reads(custom.PtahSchemaPlanChunk, same),
  approval: reads(custom.PtahSchemaApproval, ofSchema),
  destructive: (plan) => String(plan.destructive),
  wire: { Observe: "observe", Plan: "plan", Apply: "apply" },
};

const migration: Family = {
  name: "migration",
  lifecycle: LIFECYCLES.migration,
  label: label.migration,
  resource: reads(custom.PtahMigration, same),
  plan: reads(custom.PtahMigrationPlan, ofMigration),
  approval: reads(custom.PtahMigrationApproval, ofMigration),
  acknowledgment: reads(custom.PtahMigrationRunAcknowledgment, ofMigration),
  destructive: () => "unknown",
  wire: { History: "migration-history", Apply: "migration-apply" },
};

export const FAMILIES: readonly Family[] = [schema, migration];
const BY_KIND: ReadonlyMap<string, Family> = new Map(FAMILIES.map((family) => [family.lifecycle.kind, family]));

/** The family of a resource of this kind; undefined for any other kind. */
export const familyOfKind = (kind: string): Family | undefined => BY_KIND.get(kind);

/** The family of a resource that was read: its kind is one of ours. */
export function familyOf(resource: Pick<ResourceFacts, "kind">): Family {
  const family = BY_KIND.get(resource.kind);
  if (family === undefined) throw new Error(`${resource.kind} is no kind with a lifecycle`);
  return family;
}

/** A resource's key in queue, results and logs: two families may have one name in one namespace. */
export const resourceKey = (
  kind: string,
  at: { readonly namespace?: string | undefined; readonly name: string },
): string => `${kind}/${keyOf({ namespace: at.namespace ?? "", name: at.name })}`;

/** What a key stands for. */
export function ofKey(key: string): {
  readonly family: Family;
  readonly at: { readonly namespace: string; readonly name: string };
} {
  const [kind = "", namespace = "", name = ""] = key.split("/");
  return { family: familyOf({ kind }), at: { namespace, name } };
}
