/** Objects for the tests of this room: one schema whose plan waits for a decision, and the Job and Pod of its Apply. */
import { sha256Digest } from "../crds/canonical.ts";
import { parsePtahSchema, parsePtahSchemaPlan } from "../crds/fields.ts";
import { contentDigest, coordinationDigest, schemaPolicyFingerprint, sourceManifest } from "../crds/fingerprints.ts";
import { jobName, label } from "../crds/names.ts";
import type { PtahMigration } from "../crds/ptahmigration.ts";
import type { PtahMigrationPlan } from "../crds/ptahmigrationplan.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import type { PtahSchemaPlan } from "../crds/ptahschemaplan.ts";
import type { Claim } from "../crds/status/lifecycle.ts";
import type { SchemaStatus } from "../crds/status/schema.ts";
import type { ConfigMap, Custom, Job } from "../kube/index.ts";
import { templateDigest } from "../workload/digest.ts";
import { DEFAULT_ADMISSION_FLAGS, resolveEnvelope, sealSnapshot } from "../workload/envelope.ts";
import { buildJob, buildTemplate } from "../workload/job.ts";
import type { OperationSpec } from "../workload/operation.ts";
import { DEFAULTS, type WebhookConfig } from "./config.ts";
import type { Reads } from "./reads.ts";
import type { ReviewedObject, ReviewRequest } from "./review.ts";

export const NAMESPACE = "shop";
export const NOW = new Date("2026-03-01T12:00:00Z");
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
const BINDING = {
  epoch: EPOCH,
  controllerStateVersion: 1,
  ptahVersion: "0.1.0",
  executorImage: pinned("executor"),
  runnerProtocolVersion: 1,
};
const PUBLISHER = { controllerImage: pinned("manager"), controllerRevision: "r1", runnerImage: pinned("runner") };

export const files: ConfigMap = {
  metadata: { name: "orders-sql", namespace: NAMESPACE, uid: "cm-1", resourceVersion: "1" },
  data: { "schema.sql": "CREATE TABLE t (a int);\n" },
};

const FILES_DIGEST = contentDigest(
  sourceManifest([{ path: "schema.sql", bytes: Buffer.from("CREATE TABLE t (a int);\n") }]),
);
const SOURCE = { kind: "ConfigMap" as const, identity: "cm-1", contentDigest: FILES_DIGEST };

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

const operation = (admissionSnapshotDigest: string | undefined): OperationSpec => ({
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
  ...(admissionSnapshotDigest === undefined ? {} : { admissionSnapshotDigest }),
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
    dispatchNotAfter: "2026-03-01T12:07:30Z",
    executionNotAfter: "2026-03-01T12:15:00Z",
  },
});

const snapshot = snapshotOf();

function snapshotOf() {
  const envelope = resolveEnvelope(
    {},
    {
      serviceAccount: { metadata: { name: "default", uid: "sa-1", resourceVersion: "1" } },
      limitRanges: [],
      runtimeClass: undefined,
      priorityClasses: [],
    },
    DEFAULT_ADMISSION_FLAGS,
  );
  if (!envelope.ok) throw new Error(envelope.sentence);
  return sealSnapshot(envelope.snapshot, templateDigest(buildTemplate(operation(undefined))));
}

/** The claim of the Apply, dispatched and not confirmed yet. */
export const claim: Claim = {
  type: "Apply",
  id: OPERATION,
  inputFingerprint: digest("inputs"),
  startedAt: NOW.toISOString(),
  attempt: 1,
  generation: 1,
  executionBindingID: EPOCH,
  jobName: JOB_NAME,
  dispatchNotAfter: "2026-03-01T12:07:30Z",
  executionNotAfter: "2026-03-01T12:15:00Z",
  admissionSnapshot: snapshot,
  dispatchStarted: true,
};

/** The Job as the manager sends it. */
export const job = buildJob(operation(snapshot.digest)) as unknown as ReviewedObject;

/** The Job as it is stored: with a UID and the Job controller's labels in its template. */
export function storedJob(): Job {
  const built = buildJob(operation(snapshot.digest));
  const labels = { ...built.spec.template.metadata?.labels, ...jobLabels };
  return {
    ...built,
    metadata: { ...built.metadata, name: JOB_NAME, uid: "job-1", resourceVersion: "5" },
    spec: {
      ...built.spec,
      template: { ...built.spec.template, metadata: { ...built.spec.template.metadata, labels } },
    },
  } as unknown as Job;
}

const jobLabels = {
  "batch.kubernetes.io/controller-uid": "job-1",
  "batch.kubernetes.io/job-name": JOB_NAME,
  "controller-uid": "job-1",
  "job-name": JOB_NAME,
};

/** The Pod that the Job controller makes of it, after the API server's own admission. */
export function podObject(spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): ReviewedObject {
  const { template } = storedJob().spec;
  const toleration = (key: string) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${JOB_NAME.slice(0, 57)}-abcde`,
      generateName: `${JOB_NAME}-`,
      namespace: NAMESPACE,
      uid: "pod-1",
      labels: template.metadata?.labels,
      annotations: template.metadata?.annotations,
      finalizers: ["batch.kubernetes.io/job-tracking"],
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          kind: "Job",
          name: JOB_NAME,
          uid: "job-1",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      ...metadata,
    },
    spec: {
      ...template.spec,
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
      tolerations: [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")],
      ...spec,
    },
  } as unknown as ReviewedObject;
}

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
