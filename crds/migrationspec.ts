/** The specs of the migration family. */
import * as v from "valibot";
import { ApplyPolicy, ApprovalIdentity, Digest, ImmutableObjectReference, Instant, ObjectUid } from "./common.ts";
import { duration } from "./duration.ts";
import { atomic, def, int, kube, opt, req } from "./meta.ts";
import { SourceSpec } from "./source.ts";
import { approvalFields, familySpecFields, fitsDeadline } from "./spec.ts";
import { MigrationStep, migrationPlanBindings, SEQUENCE_MAX } from "./status/plan.ts";
import { DatabaseTargetSpec } from "./target.ts";

export const MigrationPolicy = v.object({
  apply: def(
    "When a plan may run: Never, OnApproval (a person approves that exact plan), or Always.",
    ApplyPolicy,
    "OnApproval",
  ),
  lockTimeout: def("Longest wait for the database's own migration lock.", duration("1s", "1h"), "5m"),
  transactionMode: opt(
    "How the statements of a migration are grouped into transactions. Unset leaves it to the executor.",
    v.picklist(["file", "none"]),
  ),
});
export type MigrationPolicy = v.InferOutput<typeof MigrationPolicy>;

export const PtahMigrationSpec = v.pipe(
  v.object({
    target: req("The database that is changed.", DatabaseTargetSpec),
    artifact: req("Where the directory of versioned migrations comes from.", SourceSpec),
    policy: def("Who decides, and how a run behaves.", MigrationPolicy, {}),
    ...familySpecFields,
  }),
  kube({ rules: [fitsDeadline("execution.connectTimeout"), fitsDeadline("policy.lockTimeout")] }),
);
export type PtahMigrationSpec = v.InferOutput<typeof PtahMigrationSpec>;

export const PtahMigrationPlanSpec = v.object({
  contractVersion: req("Contract the plan was published under: 1 for OCI sources, 2 for ConfigMap and Git.", int(1, 2)),
  migrationRef: req("The PtahMigration this plan belongs to.", ImmutableObjectReference),
  ...migrationPlanBindings,
  migrations: req(
    "The versions that run, in this order, and nothing else.",
    v.pipe(atomic(MigrationStep, SEQUENCE_MAX), v.minLength(1)),
  ),
});
export type PtahMigrationPlanSpec = v.InferOutput<typeof PtahMigrationPlanSpec>;

export const PtahMigrationApprovalSpec = v.object({
  migrationRef: req("The PtahMigration the approval is for.", ImmutableObjectReference),
  ...approvalFields,
});
export type PtahMigrationApprovalSpec = v.InferOutput<typeof PtahMigrationApprovalSpec>;

export const PtahMigrationRunAcknowledgmentSpec = v.object({
  migrationRef: req("The PtahMigration whose run is acknowledged.", ImmutableObjectReference),
  operationID: req("The run that is acknowledged: status.unresolvedRun.operationID.", Digest),
  acknowledgedBy: req("Who acknowledged. Stamped by admission, whatever the client sent.", ApprovalIdentity),
  acknowledgedAt: req("When. Stamped by admission.", Instant),
  mutationRequestUID: req("UID of the admission request that stamped the acknowledgment.", ObjectUid),
});
export type PtahMigrationRunAcknowledgmentSpec = v.InferOutput<typeof PtahMigrationRunAcknowledgmentSpec>;
