/** The specs of the schema family, and what both families' specs share: what an author, the manager and an approver write. */
import * as v from "valibot";
import {
  ApplyPolicy,
  ApprovalIdentity,
  DatabaseEngine,
  Digest,
  DriftSeverity,
  ImmutableObjectReference,
  Instant,
  ObjectName,
  ObjectUid,
  TRIMMED,
  TransactionMode,
} from "./common.ts";
import { duration } from "./duration.ts";
import { ExecutionSpec } from "./execution.ts";
import { def, int, keyed, kube, opt, pattern, req, set, text } from "./meta.ts";
import { SourceSpec } from "./source.ts";
import { schemaPlanBindings } from "./status/plan.ts";
import { DatabaseTargetRef, DatabaseTargetSpec } from "./target.ts";

/** Most statements' bytes one plan may hold, and how they are cut. */
export const PLAN_BYTES_MAX = 8 * 1024 * 1024;
export const CHUNK_BYTES_MAX = 512 * 1024;
export const CHUNKS_MAX = PLAN_BYTES_MAX / CHUNK_BYTES_MAX;

const PROTECTED_TABLE = /^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$/;

export const ProtectedTables = set(pattern(PROTECTED_TABLE, 256), 128);
export const Exclude = set(pattern(TRIMMED, 256), 128);

export const SchemaPolicy = v.object({
  apply: def(
    "When a plan may run: Never, OnApproval (a person approves that exact plan), or Always (destructive and " +
      "privilege-changing plans still wait for a person).",
    ApplyPolicy,
    "OnApproval",
  ),
  allowDestructive: def(
    "Whether destructive plans may be approved at all. Such a plan always needs an approval.",
    v.boolean(),
    false,
  ),
  driftSeverity: def("Which drift is reported.", DriftSeverity, "all"),
  exclude: opt("Objects left out of the managed scope, as the executor's patterns.", Exclude),
  lockTimeout: def("Longest wait for the database's own lock.", duration("1s", "10m"), "30s"),
  transactionMode: def("How the statements of a plan are grouped into transactions.", TransactionMode, "file"),
  protectedTables: opt("Tables no plan may touch, as [schema.]table. There is no override.", ProtectedTables),
});
export type SchemaPolicy = v.InferOutput<typeof SchemaPolicy>;

export const HISTORY_PLANS_DEFAULT = 5;

/**
 * The rule that a duration of the spec fits into the Job's deadline. Compared as numbers: a duration made of a string of
 * unknown length exceeds the API server's cost budget.
 */
export const fitsDeadline = (path: string) => {
  const [value, deadline] = [`duration(self.${path})`, "self.execution.activeDeadlineSeconds"];
  return {
    rule:
      `${value}.getSeconds() < ${deadline} || ` +
      `(${value}.getSeconds() == ${deadline} && ${value}.getMilliseconds() % 1000 == 0)`,
    message: `${path} must not exceed execution.activeDeadlineSeconds; where it is not set, its default counts`,
  };
};

/** What the specs of both families say alike about the course of things. */
export const familySpecFields = {
  interval: def("Time between two reads of the database.", duration("10s", "24h"), "10m"),
  execution: def("How an operation's Job runs.", ExecutionSpec, {}),
  suspend: def("Start nothing new. What already runs is seen to its end.", v.boolean(), false),
  history: def(
    "What is kept of the past.",
    v.object({
      keepPlans: def("How many superseded plans are kept.", int(1, 64), HISTORY_PLANS_DEFAULT),
    }),
    {},
  ),
} as const;

export const PtahSchemaSpec = v.pipe(
  v.object({
    target: req("The database that is changed.", DatabaseTargetSpec),
    desired: req("Where the declared schema comes from.", SourceSpec),
    dev: opt(
      "A scratch database of the same major version, in which the declared schema is normalised. Never the target. " +
        "Without it the Pod runs a throwaway server beside the planner.",
      DatabaseTargetRef,
    ),
    policy: def("What may be changed, and who decides.", SchemaPolicy, {}),
    ...familySpecFields,
  }),
  kube({ rules: [fitsDeadline("execution.connectTimeout"), fitsDeadline("policy.lockTimeout")] }),
);
export type PtahSchemaSpec = v.InferOutput<typeof PtahSchemaSpec>;

/** The plan contracts this version publishes: 1 for OCI sources, 2 for ConfigMap and Git sources. */
export const PLAN_CONTRACT_OCI = 1;
export const PLAN_CONTRACT_FILES = 2;

export const PlanChunkReference = v.object({
  name: req("Name of the chunk object.", ObjectName),
  index: req("Position of the chunk.", int(0, CHUNKS_MAX - 1)),
  digest: req("SHA-256 of the chunk's bytes.", Digest),
  size: req("Size of the chunk in bytes.", int(1, CHUNK_BYTES_MAX)),
});
export type PlanChunkReference = v.InferOutput<typeof PlanChunkReference>;

export const PtahSchemaPlanSpec = v.object({
  contractVersion: req("Contract the plan was published under: 1 for OCI sources, 2 for ConfigMap and Git.", int(1, 2)),
  schemaRef: req("The PtahSchema this plan belongs to.", ImmutableObjectReference),
  ...schemaPlanBindings,
  dialect: req("Dialect of the statements.", DatabaseEngine),
  size: req("Size of the plan document in bytes.", int(1, PLAN_BYTES_MAX)),
  chunks: req(
    "The objects that hold the plan document, in order.",
    v.pipe(keyed(PlanChunkReference, "index", CHUNKS_MAX), v.minLength(1)),
  ),
});
export type PtahSchemaPlanSpec = v.InferOutput<typeof PtahSchemaPlanSpec>;

/** Base64 of the largest chunk. */
const CHUNK_BASE64_MAX = Math.ceil(CHUNK_BYTES_MAX / 3) * 4;

export const PtahSchemaPlanChunkSpec = v.object({
  data: req(
    "Bytes of the plan document, base64. Index, size and digest stand in the plan.",
    v.pipe(text(1, CHUNK_BASE64_MAX), kube<string>({ format: "byte" })),
  ),
});
export type PtahSchemaPlanChunkSpec = v.InferOutput<typeof PtahSchemaPlanChunkSpec>;

/** What an approval of either family says besides which resource it is for. */
export const approvalFields = {
  planRef: req("The plan that is approved.", ImmutableObjectReference),
  planFingerprint: req("Fingerprint of the plan that is approved.", Digest),
  approver: req("Who approved. Stamped by admission, whatever the client sent.", ApprovalIdentity),
  approvedAt: req("When. Stamped by admission.", Instant),
  mutationRequestUID: req("UID of the admission request that stamped the approval.", ObjectUid),
} as const;

export const PtahSchemaApprovalSpec = v.object({
  schemaRef: req("The PtahSchema the approval is for.", ImmutableObjectReference),
  ...approvalFields,
});
export type PtahSchemaApprovalSpec = v.InferOutput<typeof PtahSchemaApprovalSpec>;
