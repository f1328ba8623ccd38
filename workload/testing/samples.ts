import { sequenceDigest } from "../../crds/fingerprints.ts";
import type { HistoryWork, MigrationApplyWork, OperationSpec, PlanWork, Work } from "../operation.ts";

/** Operations that together show every shape a Job can have; the golden files are named after them. */
const digest = (c: string): string => `sha256:${c.repeat(64)}`;
const image = (name: string, c: string): string => `registry.example/${name}@${digest(c)}`;
const PTAH = image("ptah", "1");

const base: Omit<OperationSpec, "work"> = {
  resource: {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchema",
    namespace: "team-a",
    name: "orders",
    uid: "schema-uid",
  },
  operationID: "operation-01",
  attempt: 1,
  inputFingerprint: digest("f"),
  jobName: "ptah-apply-orders-6674d54604caaf6b",
  binding: {
    epoch: `v1-${"3".repeat(32)}`,
    controllerStateVersion: 1,
    ptahVersion: "0.1.0",
    executorImage: PTAH,
    runnerProtocolVersion: 1,
  },
  manager: { controllerImage: PTAH, controllerRevision: "abc123", runnerImage: PTAH },
  execution: { resources: { requests: { cpu: "0.25", memory: "256Mi" }, limits: { memory: "512Mi" } } },
  activeDeadlineSeconds: 900,
  terminationGracePeriodSeconds: 30,
  target: {
    engine: "PostgreSQL",
    urlFrom: { name: "orders-db", key: "url" },
    coordinationDigest: digest("b"),
  },
  connectTimeout: "10s",
  lockTimeout: "30s",
  admissionSnapshotDigest: digest("e"),
};

const desired: PlanWork["desired"] = {
  source: { configMapName: `ptah-src-${"0".repeat(24)}`, contentDigest: digest("c") },
  scratch: { kind: "Server", image: image("postgresql-17", "2"), major: 17, uid: 999 },
  serverMajor: 17,
};

const plan: OperationSpec = {
  ...base,
  work: { type: "Plan", desired, exclude: [], protectedTables: [], transactionMode: "file" },
};

const migration: Omit<OperationSpec, "work"> = {
  ...base,
  resource: { ...base.resource, kind: "PtahMigration", uid: "migration-uid" },
  jobName: "ptah-m-history-orders-6674d54604caaf6b",
  lockTimeout: "5m",
};

const history: OperationSpec<HistoryWork> = { ...migration, work: { type: "History", source: desired.source } };

const sequence = [
  { version: 3, checksum: "h1:orders-0003" },
  { version: 4, versionKey: "0004", checksum: "h1:orders-0004", checkpoint: true, transactionMode: "none" },
] as const;

const migrationApply: OperationSpec<MigrationApplyWork> = {
  ...migration,
  jobName: "ptah-m-apply-orders-6674d54604caaf6b",
  work: {
    type: "Apply",
    family: "migration",
    source: desired.source,
    plan: {
      name: `ptah-migration-plan-${"5".repeat(24)}`,
      fingerprint: digest("5"),
      sequenceDigest: sequenceDigest(sequence),
      historyFingerprint: digest("8"),
      migrations: sequence,
    },
    expectedCoordinationDigest: digest("b"),
    expectedTargetIdentityDigest: digest("7"),
    dispatchNotAfter: "2026-01-02T03:11:34.000Z",
    executionNotAfter: "2026-01-02T03:19:04.000Z",
  },
};

export const samples = {
  "observe-version": { ...base, work: { type: "Observe", severity: "all", exclude: [] } },
  observe: { ...base, work: { type: "Observe", desired, severity: "destructive", exclude: ["audit.*"] } },
  "observe-dev-url": {
    ...base,
    work: {
      type: "Observe",
      desired: { ...desired, scratch: { kind: "URL", urlFrom: { name: "orders-dev", key: "url" } } },
      severity: "all",
      exclude: [],
    },
  },
  plan,
  "plan-everything": {
    ...plan,
    target: { ...base.target, caFrom: { name: "database-ca", key: "bundle.pem" } },
    execution: {
      ...base.execution,
      serviceAccountName: "runner",
      imagePullSecrets: [{ name: "pull" }],
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "dedicated", operator: "Equal", value: "db", effect: "NoSchedule" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
          },
        },
      },
      runtimeClassName: "sandboxed",
      priorityClassName: "batch",
      podMetadata: { labels: { team: "a" }, annotations: { "sidecar.example/inject": "false" } },
    },
    work: { ...plan.work, exclude: ["audit.*", 'od"d, one'], protectedTables: ["public.users"] } as PlanWork,
  },
  "plan-other-executor": { ...plan, binding: { ...base.binding, executorImage: image("other-executor", "4") } },
  apply: {
    ...base,
    work: {
      type: "Apply",
      plan: {
        name: `ptah-plan-${"5".repeat(24)}`,
        fingerprint: digest("5"),
        contentDigest: digest("6"),
        chunkConfigMaps: [`ptah-plan-${"5".repeat(24)}-000`, `ptah-plan-${"5".repeat(24)}-001`],
      },
      transactionMode: "file",
      expectedCoordinationDigest: digest("b"),
      expectedTargetIdentityDigest: digest("7"),
      dispatchNotAfter: "2026-01-02T03:11:34.000Z",
      executionNotAfter: "2026-01-02T03:19:04.000Z",
    },
  },
  history,
  "migration-apply": migrationApply,
  "migration-apply-mysql": {
    ...migrationApply,
    binding: { ...base.binding, executorImage: image("other-executor", "4") },
    target: { ...base.target, engine: "MySQL", caFrom: { name: "database-ca", key: "bundle.pem" } },
    work: { ...migrationApply.work, transactionMode: "none" },
  },
} satisfies Record<string, OperationSpec<Work>>;
