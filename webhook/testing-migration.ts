/** A migration whose plan waits for a decision, its History and its Apply, and a run nobody has accounted for. */
import { sha256Digest } from "../crds/canonical.ts";
import { parsePtahMigration, parsePtahMigrationPlan } from "../crds/fields.ts";
import { coordinationDigest, migrationPolicyFingerprint } from "../crds/fingerprints.ts";
import { jobName } from "../crds/names.ts";
import type { PtahMigration } from "../crds/ptahmigration.ts";
import type { PtahMigrationPlan } from "../crds/ptahmigrationplan.ts";
import type { ApplyRecord } from "../crds/status/lifecycle.ts";
import type { MigrationStatus } from "../crds/status/migration.ts";
import type { Custom } from "../kube/index.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { ReviewedObject } from "./review.ts";
import { BINDING, NAMESPACE, PUBLISHER, SOURCE } from "./testing.ts";
import { DISPATCH_NOT_AFTER, EXECUTION_NOT_AFTER, NOW, operationObjects } from "./testing-operation.ts";

const digest = (name: string): string => sha256Digest(name);

/** The migration as stored; `spec` members are merged over a plain declaration. */
export function migrationObject(spec: Record<string, unknown> = {}): ReviewedObject {
  return {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahMigration",
    metadata: { name: "ledger", namespace: NAMESPACE, uid: "migration-1", generation: 1 },
    spec: {
      target: { engine: "MySQL", coordinationKey: "ledger", urlFrom: { name: "ledger-db", key: "url" } },
      artifact: { configMap: { name: "orders-sql" } },
      ...spec,
    },
  };
}

function migrationOf(status: MigrationStatus, spec: Record<string, unknown>): Custom<PtahMigration> {
  const parsed = parsePtahMigration(migrationObject(spec));
  if (!parsed.ok) throw new Error(parsed.message);
  return {
    ...parsed.value,
    metadata: { name: "ledger", namespace: NAMESPACE, uid: "migration-1", resourceVersion: "7", generation: 1 },
    status,
  };
}

const { spec: declared } = migrationOf({}, {});
const SEQUENCE = [{ version: 3, checksum: "h1:three" }];

function planOf(): Custom<PtahMigrationPlan> {
  const metadata = { name: "ptah-mplan-1", namespace: NAMESPACE, uid: "mplan-1", generation: 1 };
  const at = NOW.toISOString();
  const parsed = parsePtahMigrationPlan({
    metadata,
    spec: {
      contractVersion: 2,
      migrationRef: { name: "ledger", uid: "migration-1" },
      serial: 1,
      fingerprint: digest("migration fingerprint"),
      contentDigest: digest("sequence"),
      source: SOURCE,
      coordinationDigest: coordinationDigest(NAMESPACE, declared.target) ?? "",
      targetIdentityDigest: digest("ledger"),
      policyFingerprint: migrationPolicyFingerprint(declared.policy),
      executionBindingID: BINDING.epoch,
      ...PUBLISHER,
      controllerStateVersion: 1,
      ptahVersion: BINDING.ptahVersion,
      executorImage: BINDING.executorImage,
      runnerProtocolVersion: 1,
      historyFingerprint: digest("history"),
      currentVersion: 2,
      stepCount: 1,
      migrations: SEQUENCE,
    },
    status: {
      observedGeneration: 1,
      conditions: [{ type: "Ready", status: "True", reason: "Published", message: "", lastTransitionTime: at }],
    },
  });
  if (!parsed.ok) throw new Error(parsed.message);
  return { ...parsed.value, metadata: { ...metadata, resourceVersion: "3" } };
}

/** The plan that waits. */
export const migrationPlan: Custom<PtahMigrationPlan> = planOf();

/** Status of a migration whose plan waits for a decision. */
export const migrationAwaiting = {
  executionBinding: BINDING,
  history: {
    observedAt: NOW.toISOString(),
    contractVersion: 1,
    currentVersion: 2,
    appliedCount: 2,
    pendingCount: 1,
    fingerprint: digest("history"),
    targetIdentityDigest: digest("ledger"),
  },
  plan: { name: "ptah-mplan-1", uid: "mplan-1", createdAt: NOW.toISOString(), ...migrationPlan.spec },
} satisfies MigrationStatus;

export const migration = (
  status: MigrationStatus = migrationAwaiting,
  spec: Record<string, unknown> = {},
): Custom<PtahMigration> => migrationOf(status, spec);

export const migrationApprovalObject = (spec: Record<string, unknown> = {}): ReviewedObject => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahMigrationApproval",
  metadata: { name: "ok", namespace: NAMESPACE },
  spec: {
    migrationRef: { name: "ledger", uid: "migration-1" },
    planRef: { name: "ptah-mplan-1", uid: "mplan-1" },
    planFingerprint: migrationPlan.spec.fingerprint,
    ...spec,
  },
});

/** The run that nobody has accounted for. */
export const unresolvedRun: ApplyRecord = {
  outcome: "Partial",
  operationID: digest("run"),
  generation: 1,
  job: { name: "ptah-m-apply-ledger-1", uid: "job-9" },
  coordinationDigest: migrationPlan.spec.coordinationDigest,
  leaseDurationSeconds: 1020,
  recordedAt: NOW.toISOString(),
  observeAfter: NOW.toISOString(),
};

export const acknowledgmentObject = (spec: Record<string, unknown> = {}): ReviewedObject => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahMigrationRunAcknowledgment",
  metadata: { name: "seen", namespace: NAMESPACE },
  spec: {
    migrationRef: { name: "ledger", uid: "migration-1" },
    operationID: unresolvedRun.operationID,
    ...spec,
  },
});

const operation = (work: Work): OperationSpec<Work> => ({
  resource: {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahMigration",
    namespace: NAMESPACE,
    name: "ledger",
    uid: "migration-1",
  },
  operationID: digest(work.type),
  attempt: 1,
  inputFingerprint: digest("inputs"),
  jobName: jobName({
    family: "migration",
    name: "ledger",
    uid: "migration-1",
    operation: work.type,
    operationId: digest(work.type),
    bindingEpoch: BINDING.epoch,
    inputFingerprint: digest("inputs"),
    attempt: 1,
  }),
  binding: BINDING,
  manager: PUBLISHER,
  execution: {},
  activeDeadlineSeconds: 900,
  terminationGracePeriodSeconds: 30,
  target: {
    engine: "MySQL",
    urlFrom: { name: "ledger-db", key: "url" },
    coordinationDigest: migrationPlan.spec.coordinationDigest,
  },
  connectTimeout: "10s",
  lockTimeout: "5m",
  work,
});

const source = { configMapName: `ptah-src-${"0".repeat(24)}`, contentDigest: SOURCE.contentDigest };

export const historyRead = operationObjects(operation({ type: "History", source }));
export const migrationApply = operationObjects(
  operation({
    type: "Apply",
    family: "migration",
    source,
    plan: {
      name: "ptah-mplan-1",
      fingerprint: migrationPlan.spec.fingerprint,
      sequenceDigest: migrationPlan.spec.contentDigest,
      historyFingerprint: migrationPlan.spec.historyFingerprint,
      migrations: SEQUENCE,
    },
    expectedCoordinationDigest: migrationPlan.spec.coordinationDigest,
    expectedTargetIdentityDigest: migrationPlan.spec.targetIdentityDigest,
    dispatchNotAfter: DISPATCH_NOT_AFTER,
    executionNotAfter: EXECUTION_NOT_AFTER,
  }),
);
