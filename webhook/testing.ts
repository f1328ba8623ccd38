/** Objects for the tests of this room: one schema whose plan waits for a decision, and the Job and Pod of its Apply. */
import { sha256Digest } from "../crds/canonical.ts";
import { parsePtahSchema, parsePtahSchemaPlan } from "../crds/fields.ts";
import { contentDigest, coordinationDigest, schemaPolicyFingerprint, sourceManifest } from "../crds/fingerprints.ts";
import { jobName, label } from "../crds/names.ts";
import type { PtahMigration } from "../crds/ptahmigration.ts";
import type { PtahMigrationPlan } from "../crds/ptahmigrationplan.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import type { PtahSchemaPlan } from "../crds/ptahschemaplan.ts";
import type { SchemaStatus } from "../crds/status/schema.ts";
import type { ConfigMap, Custom, Job } from "../kube/index.ts";
import type { OperationSpec } from "../workload/operation.ts";
import { DEFAULTS, type WebhookConfig } from "./config.ts";
import type { Reads } from "./reads.ts";
import type { ReviewedObject, ReviewRequest } from "./review.ts";
import { type PersonsWord, stampPerson } from "./reviews/person-stamp.ts";
import { DISPATCH_NOT_AFTER, EXECUTION_NOT_AFTER, NOW, operationObjects } from "./testing-operation.ts";

export const NAMESPACE = "shop";
export { NOW };
export const MANAGER = "system:serviceaccount:ptah-system:ptah-operator-manager";
export const JOB_CONTROLLER = DEFAULTS.jobControllers[0];
export const COLLECTOR = DEFAULTS.garbageCollectors[0];
export const ANN = { username: "ann", uid: "u-ann", groups: ["dba", "dba", " ops ", "system:authenticated"] };

export const config = (over: Partial<WebhookConfig> = {}): WebhookConfig => ({
  manager: MANAGER,
  jobControllers: DEFAULTS.jobControllers,
  garbageCollectors: DEFAULTS.garbageCollectors,
  alwaysGroups: ["dba"],
  requireDistinctApprover: false,
  stateVersion: 1,
  ...over,
});

const digest = (name: string): string => sha256Digest(name);
const pinned = (name: string): string => `ptah/${name}@${digest(name)}`;
const EPOCH = `v1-${"3".repeat(32)}`;
export const BINDING = {
  epoch: EPOCH,
  controllerStateVersion: 1,
  ptahVersion: "0.1.0",
  executorImage: pinned("executor"),
  runnerProtocolVersion: 1,
};
export const PUBLISHER = {
  controllerImage: pinned("manager"),
  controllerRevision: "r1",
  runnerImage: pinned("runner"),
};

export const files: ConfigMap = {
  metadata: { name: "orders-sql", namespace: NAMESPACE, uid: "cm-1", resourceVersion: "1" },
  data: { "schema.sql": "CREATE TABLE t (a int);\n" },
};

const FILES_DIGEST = contentDigest(
  sourceManifest([{ path: "schema.sql", bytes: Buffer.from("CREATE TABLE t (a int);\n") }]),
);
export const SOURCE = { kind: "ConfigMap" as const, identity: "cm-1", contentDigest: FILES_DIGEST };

/** The schema as stored; `spec` members are merged over a plain PostgreSQL declaration. */
export function schemaObject(spec: Record<string, unknown> = {}): ReviewedObject {
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    metadata: { name: "orders", namespace: NAMESPACE, uid: "schema-1", generation: 1 },
    spec: {
      target: { engine: "PostgreSQL", coordinationKey: "orders", urlFrom: { name: "orders-db", key: "url" } },
      desired: { configMap: { name: "orders-sql" } },
      ...spec,
    },
  };
}

function schemaOf(status: SchemaStatus, spec: Record<string, unknown>): Custom<PtahSchema> {
  const parsed = parsePtahSchema(schemaObject(spec));
  if (!parsed.ok) throw new Error(parsed.message);
  return {
    ...parsed.value,
    metadata: { name: "orders", namespace: NAMESPACE, uid: "schema-1", resourceVersion: "7", generation: 1 },
    status,
  };
}

const bound = schemaOf({}, {});

/** The plan that waits. */
export const plan: Custom<PtahSchemaPlan> = planOf();

function planOf(): Custom<PtahSchemaPlan> {
  const { spec } = bound;
  const parsed = parsePtahSchemaPlan({
    metadata: { name: "ptah-plan-1", namespace: NAMESPACE, uid: "plan-1", generation: 1 },
    spec: {
      contractVersion: 2,
      schemaRef: { name: "orders", uid: "schema-1" },
      serial: 1,
      fingerprint: digest("fingerprint"),
      contentDigest: digest("plan bytes"),
      source: SOURCE,
      coordinationDigest: coordinationDigest(NAMESPACE, spec.target) ?? "",
      targetIdentityDigest: digest("target"),
      serverMajor: 17,
      actualStateFingerprint: digest("actual"),
      desiredStateFingerprint: digest("desired"),
      policyFingerprint: schemaPolicyFingerprint(spec.target.engine, spec.policy, spec.execution.connectTimeout),
      executionBindingID: EPOCH,
      ...PUBLISHER,
      controllerStateVersion: 1,
      ptahVersion: BINDING.ptahVersion,
      executorImage: BINDING.executorImage,
      runnerProtocolVersion: 1,
      destructive: false,
      statementCount: 1,
      dialect: "PostgreSQL",
      size: 100,
      chunks: [{ name: "ptah-plan-1-000", index: 0, digest: digest("chunk"), size: 100 }],
    },
    status: {
      observedGeneration: 1,
      conditions: [
        { type: "Ready", status: "True", reason: "Published", message: "", lastTransitionTime: NOW.toISOString() },
      ],
    },
  });
  if (!parsed.ok) throw new Error(parsed.message);
  return {
    ...parsed.value,
    metadata: { name: "ptah-plan-1", namespace: NAMESPACE, uid: "plan-1", resourceVersion: "3", generation: 1 },
  };
}

/** Status of a schema whose plan waits for a decision. */
export const awaiting: SchemaStatus = {
  executionBinding: BINDING,
  target: { identityDigest: digest("target") },
  plan: { name: "ptah-plan-1", uid: "plan-1", createdAt: NOW.toISOString(), ...plan.spec },
};

export const schema = (status: SchemaStatus = awaiting, spec: Record<string, unknown> = {}): Custom<PtahSchema> =>
  schemaOf(status, spec);

export const approvalObject = (spec: Record<string, unknown> = {}): ReviewedObject => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchemaApproval",
  metadata: { name: "ok", namespace: NAMESPACE },
  spec: {
    schemaRef: { name: "orders", uid: "schema-1" },
    planRef: { name: "ptah-plan-1", uid: "plan-1" },
    planFingerprint: plan.spec.fingerprint,
    ...spec,
  },
});

const OPERATION = digest("operation");
const JOB_NAME = jobName({
  family: "schema",
  name: "orders",
  uid: "schema-1",
  operation: "Apply",
  operationId: OPERATION,
  bindingEpoch: EPOCH,
  inputFingerprint: digest("inputs"),
  attempt: 1,
});

const operation: OperationSpec = {
  resource: {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    namespace: NAMESPACE,
    name: "orders",
    uid: "schema-1",
  },
  operationID: OPERATION,
  attempt: 1,
  inputFingerprint: digest("inputs"),
  jobName: JOB_NAME,
  binding: BINDING,
  manager: PUBLISHER,
  execution: {},
  activeDeadlineSeconds: 900,
  terminationGracePeriodSeconds: 30,
  target: {
    engine: "PostgreSQL",
    urlFrom: { name: "orders-db", key: "url" },
    coordinationDigest: plan.spec.coordinationDigest,
  },
  connectTimeout: "10s",
  lockTimeout: "30s",
  work: {
    type: "Apply",
    plan: {
      name: "ptah-plan-1",
      fingerprint: plan.spec.fingerprint,
      contentDigest: plan.spec.contentDigest,
      chunkConfigMaps: ["ptah-plan-1-000"],
    },
    transactionMode: "file",
    expectedCoordinationDigest: plan.spec.coordinationDigest,
    expectedTargetIdentityDigest: plan.spec.targetIdentityDigest,
    dispatchNotAfter: DISPATCH_NOT_AFTER,
    executionNotAfter: EXECUTION_NOT_AFTER,
  },
};

/** The claim, Job and Pod of the schema's Apply. */
export const { claim, job, storedJob, podObject } = operationObjects(operation);

export const SCHEMA_LABEL = label.schema;

/** Reads that answer from the given objects and count themselves. */
export function readsOf(
  stored: {
    readonly schema?: Custom<PtahSchema>;
    readonly plan?: Custom<PtahSchemaPlan>;
    readonly migration?: Custom<PtahMigration>;
    readonly migrationPlan?: Custom<PtahMigrationPlan>;
    readonly job?: Job;
    readonly configMaps?: readonly ConfigMap[];
  } = {},
): Reads & { readonly count: () => number } {
  let count = 0;
  const named = <T extends { readonly metadata: { readonly name: string } }>(object: T | undefined, name: string) => {
    count += 1;
    return Promise.resolve(object?.metadata.name === name ? object : undefined);
  };
  return {
    schema: (_, name) => named(stored.schema, name),
    plan: (_, name) => named(stored.plan, name),
    migration: (_, name) => named(stored.migration, name),
    migrationPlan: (_, name) => named(stored.migrationPlan, name),
    job: (_, name) => named(stored.job, name),
    configMap: (_, name) =>
      named(
        (stored.configMaps ?? [files]).find((map) => map.metadata.name === name),
        name,
      ),
    count: () => count,
  };
}

export function request(over: Partial<ReviewRequest> & Pick<ReviewRequest, "object">): ReviewRequest {
  return {
    uid: "request-1",
    operation: over.oldObject === undefined ? "CREATE" : "UPDATE",
    resource: "things",
    subresource: "",
    namespace: NAMESPACE,
    name: over.object.metadata.name ?? "",
    user: ANN,
    ...over,
  };
}

export const manager = { username: MANAGER, uid: "m", groups: ["system:serviceaccounts"] };
export const controller = { username: JOB_CONTROLLER, uid: "j", groups: [] };
export const collector = { username: COLLECTOR, uid: "g", groups: [] };

/** A person's word after its mutating review, its stamps applied as the API server would. */
export function stampedBy(word: PersonsWord, of: ReviewRequest, at = NOW): ReviewRequest {
  const verdict = stampPerson(of, at, word);
  if (!verdict.allowed) throw new Error(verdict.message);
  const spec = { ...(of.object["spec"] as object) };
  for (const { path, value } of verdict.patch ?? []) Object.assign(spec, { [path.replace("/spec/", "")]: value });
  return { ...of, object: { ...of.object, spec } };
}
