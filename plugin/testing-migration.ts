/** Migrations of the tests' own: one whose plan waits, and one whose run nobody can account for. */
import { migrationPlanFingerprint, sequenceDigest } from "../crds/fingerprints.ts";
import { migrationPlanName } from "../crds/names.ts";
import { condition, digest, EPOCH, IMAGE, owner, World } from "./testing.ts";

export const STEPS = [
  { version: 3, description: "Add Status", checksum: "c3".repeat(32) },
  { version: 4, description: "Index", checksum: "c4".repeat(32), transactionMode: "none" as const },
];

const bound = {
  contractVersion: 2,
  serial: 1,
  contentDigest: sequenceDigest(STEPS),
  source: { kind: "ConfigMap" as const, identity: "cm-uid", contentDigest: digest("2") },
  coordinationDigest: digest("3"),
  targetIdentityDigest: digest("4"),
  policyFingerprint: digest("7"),
  executionBindingID: EPOCH,
  controllerStateVersion: 1,
  ptahVersion: "0.1.0",
  executorImage: IMAGE,
  runnerProtocolVersion: 1,
  historyFingerprint: digest("5"),
  currentVersion: 2,
};
export const FINGERPRINT = migrationPlanFingerprint({ ...bound, migrationUid: "migration-uid" });
export const MIGRATION_PLAN = migrationPlanName(FINGERPRINT);
export const PLAN_REFERENCE = { name: MIGRATION_PLAN, uid: "mplan-uid", fingerprint: FINGERPRINT };

const history = {
  observedAt: "2026-01-01T00:01:00Z",
  contractVersion: 1,
  currentVersion: 2,
  sourceVersion: 4,
  totalCount: 4,
  appliedCount: 2,
  pendingCount: 2,
  fingerprint: digest("5"),
  targetIdentityDigest: digest("4"),
  revisions: [
    {
      version: 2,
      description: "Orders",
      state: "applied",
      applied: 1,
      total: 1,
      checksum: "c2".repeat(32),
      appliedAt: "2025-12-01T00:00:00Z",
      executionMillis: 12,
    },
    { version: 1, state: "applied" },
  ],
};

/** A world in which a migration's plan of two versions waits for a person. */
export function waitingMigration(engine = "PostgreSQL"): World {
  const world = new World();
  const recorded = { ...bound, controllerImage: IMAGE, controllerRevision: "abc", runnerImage: IMAGE, stepCount: 2 };
  const { contractVersion: _, ...standing } = recorded;
  world.put("ptahmigrations", {
    kind: "PtahMigration",
    metadata: { name: "orders", uid: "migration-uid", generation: 1 },
    spec: {
      target: { engine, coordinationKey: "orders", urlFrom: { name: "db", key: "url" } },
      artifact: { configMap: { name: "orders-sql" } },
    },
    status: {
      observedGeneration: 1,
      phase: "AwaitingApproval",
      history,
      plan: {
        name: MIGRATION_PLAN,
        uid: "mplan-uid",
        ...standing,
        fingerprint: FINGERPRINT,
        createdAt: "2026-01-01T00:01:00Z",
      },
      cycle: { startedAt: "2026-01-01T00:00:00Z", generation: 1, endedAt: "2026-01-01T00:01:00Z" },
      conditions: [
        condition("Ready", "False", "AwaitingApproval", "a plan waits"),
        condition("ApprovalRequired", "True", "AwaitingApproval"),
      ],
    },
  });
  world.put("ptahmigrationplans", {
    metadata: {
      name: MIGRATION_PLAN,
      uid: "mplan-uid",
      creationTimestamp: "2026-01-01T00:01:00Z",
      ownerReferences: owner("PtahMigration", "orders", "migration-uid"),
    },
    spec: {
      ...recorded,
      fingerprint: FINGERPRINT,
      migrationRef: { name: "orders", uid: "migration-uid" },
      migrations: STEPS,
    },
    status: { conditions: [condition("Ready", "True", "Published")] },
  });
  return world;
}

export const RUN = digest("e");

/** How the run of the waiting plan ended, as status keeps it. */
export const lastRun = (change: Record<string, unknown> = {}) => ({
  outcome: "Partial",
  operationID: RUN,
  plan: PLAN_REFERENCE,
  approval: { name: "ok", uid: "ok-uid", approver: { username: "jo" }, approvedAt: "2026-01-01T00:02:00Z" },
  authorization: "Approval",
  job: { name: "ptah-m-apply-orders-1", uid: "job-uid" },
  targetIdentityDigest: digest("4"),
  startedAt: "2026-01-01T00:03:00Z",
  finishedAt: "2026-01-01T00:04:00Z",
  appliedVersions: [3],
  failure: { version: 4, statement: 2, mysqlErrno: 1061, sqlState: "42000" },
  message: "The run stopped half-way.",
  ...change,
});

/** The hold of that run. */
export const heldRun = (change: Record<string, unknown> = {}) => ({
  outcome: "Partial",
  operationID: RUN,
  generation: 1,
  job: { name: "ptah-m-apply-orders-1", uid: "job-uid", terminal: true },
  plan: PLAN_REFERENCE,
  coordinationDigest: digest("3"),
  targetIdentityDigest: digest("4"),
  leaseDurationSeconds: 960,
  executionNotAfter: "2026-01-01T00:20:00Z",
  recordedAt: "2026-01-01T00:04:00Z",
  observeAfter: "2026-01-01T00:20:00Z",
  ...change,
});

/** A world in which a run ended half-way and holds everything. */
export function heldMigration(engine = "MySQL"): World {
  const world = waitingMigration(engine);
  world.status(
    {
      phase: "Blocked",
      plan: undefined,
      lastRun: lastRun(),
      unresolvedRun: heldRun(),
      history: {
        ...history,
        observedAt: "2026-01-01T00:05:00Z",
        currentVersion: 3,
        dirty: true,
        dirtyRevision: { version: 4, applied: 1, total: 3 },
        modifiedVersions: [1],
      },
      conditions: [
        condition("Ready", "False", "OutcomeUnknown", "The run stopped half-way."),
        condition("Blocked", "True", "OutcomeUnknown"),
      ],
    },
    "ptahmigrations",
  );
  return world;
}
