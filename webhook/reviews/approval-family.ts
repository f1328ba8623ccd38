import type { ImmutableObjectReference } from "../../crds/common.ts";
import { type Parsed, parsePtahMigrationApproval, parsePtahSchemaApproval } from "../../crds/fields.ts";
import { migrationPolicyFingerprint, schemaPolicyFingerprint } from "../../crds/fingerprints.ts";
import type { PtahMigration } from "../../crds/ptahmigration.ts";
import type { PtahMigrationPlan } from "../../crds/ptahmigrationplan.ts";
import type { PtahSchema } from "../../crds/ptahschema.ts";
import type { PtahSchemaPlan } from "../../crds/ptahschemaplan.ts";
import type { SourceSpec } from "../../crds/source.ts";
import type { ApplyRecord } from "../../crds/status/lifecycle.ts";
import type { Custom } from "../../kube/index.ts";
import { judgePlan } from "../../lifecycle/policy.ts";
import type { Reads } from "../reads.ts";
import type { ReviewedObject } from "../review.ts";
import { type Family, MIGRATION, SCHEMA, type Subject } from "./family.ts";
import { APPROVAL_OF_MIGRATION, APPROVAL_OF_SCHEMA, type PersonsWord } from "./person-stamp.ts";

export type Plan = Custom<PtahSchemaPlan> | Custom<PtahMigrationPlan>;

/** What a person approves, under names that both families have. */
export interface Approved {
  readonly subject: ImmutableObjectReference;
  readonly planRef: ImmutableObjectReference;
  readonly planFingerprint: string;
}

/** In what the approvals of the two families differ. */
export interface ApprovalFamily<S extends Subject, P extends Plan> {
  readonly family: Family;
  readonly word: PersonsWord;
  readonly parse: (object: ReviewedObject) => Parsed<Approved>;
  readonly subject: (reads: Reads, namespace: string, name: string) => Promise<S | undefined>;
  readonly plan: (reads: Reads, namespace: string, name: string) => Promise<P | undefined>;
  readonly subjectOf: (plan: P) => ImmutableObjectReference;
  readonly record: (subject: S) => ApplyRecord | undefined;
  readonly source: (subject: S) => SourceSpec;
  readonly policyFingerprint: (subject: S) => string;
  /** Identity of the database that was last read. */
  readonly readTarget: (subject: S) => string | undefined;
  /** What of the database itself is not as the plan found it. */
  readonly moved: (subject: S, plan: P) => string | undefined;
  /** Why policy leaves nothing for a person to decide: such an approval would only look like a decision. */
  readonly undecidable: (subject: S, plan: P) => "Never" | "Always" | "Destructive" | undefined;
}

export const SCHEMA_APPROVALS: ApprovalFamily<Custom<PtahSchema>, Custom<PtahSchemaPlan>> = {
  family: SCHEMA,
  word: APPROVAL_OF_SCHEMA,
  parse: (object) => {
    const parsed = parsePtahSchemaApproval(object);
    if (!parsed.ok) return parsed;
    const { schemaRef, planRef, planFingerprint } = parsed.value.spec;
    return { ok: true, value: { subject: schemaRef, planRef, planFingerprint } };
  },
  subject: (reads, namespace, name) => reads.schema(namespace, name),
  plan: (reads, namespace, name) => reads.plan(namespace, name),
  subjectOf: (plan) => plan.spec.schemaRef,
  record: (schema) => schema.status?.pendingObservation,
  source: (schema) => schema.spec.desired,
  policyFingerprint: ({ spec }) =>
    schemaPolicyFingerprint(spec.target.engine, spec.policy, spec.execution.connectTimeout),
  readTarget: (schema) => schema.status?.target?.identityDigest,
  moved: () => undefined,
  undecidable: (schema, plan) => {
    const verdict = judgePlan(schema.spec.policy, plan.spec, schema.status?.unproven);
    if (verdict.kind === "ReadyToApply") return "Always";
    if (verdict.reason === "ApplyDisabled") return "Never";
    return verdict.reason === "DestructiveChangesDisabled" ? "Destructive" : undefined;
  },
};

export const MIGRATION_APPROVALS: ApprovalFamily<Custom<PtahMigration>, Custom<PtahMigrationPlan>> = {
  family: MIGRATION,
  word: APPROVAL_OF_MIGRATION,
  parse: (object) => {
    const parsed = parsePtahMigrationApproval(object);
    if (!parsed.ok) return parsed;
    const { migrationRef, planRef, planFingerprint } = parsed.value.spec;
    return { ok: true, value: { subject: migrationRef, planRef, planFingerprint } };
  },
  subject: (reads, namespace, name) => reads.migration(namespace, name),
  plan: (reads, namespace, name) => reads.migrationPlan(namespace, name),
  subjectOf: (plan) => plan.spec.migrationRef,
  record: (migration) => migration.status?.unresolvedRun,
  source: (migration) => migration.spec.artifact,
  policyFingerprint: ({ spec }) => migrationPolicyFingerprint(spec.policy),
  readTarget: (migration) => migration.status?.history?.targetIdentityDigest,
  moved: (migration, plan) =>
    migration.status?.history?.fingerprint === plan.spec.historyFingerprint
      ? undefined
      : "the database's history is not the one the plan continues; wait for the new plan",
  undecidable: ({ spec }) => (spec.policy.apply === "OnApproval" ? undefined : spec.policy.apply),
};
