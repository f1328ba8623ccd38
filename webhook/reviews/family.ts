import { migrationWayOut, type Named, schemaWayOut } from "../../crds/commands.ts";
import { parsePtahMigration, parsePtahSchema } from "../../crds/fields.ts";
import { FINALIZER, label, MIGRATION_FINALIZER } from "../../crds/names.ts";
import type { PtahMigration } from "../../crds/ptahmigration.ts";
import type { PtahSchema } from "../../crds/ptahschema.ts";
import type { Custom } from "../../kube/index.ts";
import type { Reads } from "../reads.ts";
import type { ReviewedObject } from "../review.ts";
import { scratchProblem, sourceProblem } from "./subject-spec.ts";

/** A stored resource of either family: what a rule reads of one, it finds in both. */
export type Subject = Custom<PtahSchema> | Custom<PtahMigration>;

/** In what the families differ for the rules of this room. Every rule stands once and asks here. */
export interface Family {
  readonly kind: "PtahSchema" | "PtahMigration";
  /** What sentences call the resource. */
  readonly noun: "schema" | "migration";
  /** Label of a Pod that names its resource. */
  readonly label: string;
  readonly finalizer: string;
  /** Field of status with the Apply that nobody has accounted for. */
  readonly recordField: "pendingObservation" | "unresolvedRun";
  /** The command by which a person ends that record of this resource. */
  readonly wayOut: (object: Pick<ReviewedObject, "metadata">) => string;
  /** The annotation that settles counts only while the resource is being deleted: elsewhere an object says it. */
  readonly settlesOnlyDeleting: boolean;
  readonly read: (reads: Reads, namespace: string, name: string) => Promise<Subject | undefined>;
  /** What is wrong with what a person declares although the definition admits it, or undefined. */
  readonly declaredProblem: (object: ReviewedObject) => string | undefined;
}

/** What is stored has a name; only one that is being created may still wait for it. */
const named = ({ metadata: { name = "NAME", namespace } }: Pick<ReviewedObject, "metadata">): Named => ({
  name,
  namespace,
});

export const SCHEMA: Family = {
  kind: "PtahSchema",
  noun: "schema",
  label: label.schema,
  finalizer: FINALIZER,
  recordField: "pendingObservation",
  wayOut: (object) => schemaWayOut(named(object)),
  settlesOnlyDeleting: false,
  read: (reads, namespace, name) => reads.schema(namespace, name),
  declaredProblem: (object) => {
    const parsed = parsePtahSchema(object);
    if (!parsed.ok) return parsed.message;
    const { spec } = parsed.value;
    return sourceProblem("spec.desired", spec.desired) ?? scratchProblem(spec);
  },
};

export const MIGRATION: Family = {
  kind: "PtahMigration",
  noun: "migration",
  label: label.migration,
  finalizer: MIGRATION_FINALIZER,
  recordField: "unresolvedRun",
  wayOut: (object) => migrationWayOut(named(object), object.metadata.deletionTimestamp !== undefined),
  settlesOnlyDeleting: true,
  read: (reads, namespace, name) => reads.migration(namespace, name),
  declaredProblem: (object) => {
    const parsed = parsePtahMigration(object);
    return parsed.ok ? sourceProblem("spec.artifact", parsed.value.spec.artifact) : parsed.message;
  },
};

export const FAMILIES: readonly Family[] = [SCHEMA, MIGRATION];
