/** The digests by which objects recognise each other: realm, policy, plan, source content. */
import {
  canonicalDigest,
  compareBytewise,
  goStructDigest,
  type Json,
  normalizedSet,
  sha256Digest,
  sha256Hex,
} from "./canonical.ts";
import { durationMs, formatGoDuration } from "./duration.ts";
import { normalizeEngine } from "./engine.ts";
import type { MigrationPolicy, PtahMigrationPlanSpec } from "./migrationspec.ts";
import type { PtahSchemaPlanSpec, SchemaPolicy } from "./spec.ts";
import type { SourceBinding } from "./status/binding.ts";
import type { SequenceStep } from "./status/plan.ts";
import type { DatabaseTargetSpec } from "./target.ts";

/** Version of the coordination digest's own contract. */
const COORDINATION_CONTRACT = 1;
const NUL = "\0";

/**
 * The digest that names a database realm: by a key of the namespace, or by a cluster-wide PtahRealm. The two spaces have
 * different members, so that they cannot meet.
 * @returns undefined when the engine is unknown, or not exactly one of key and realm is set
 */
export function coordinationDigest(namespace: string, target: DatabaseTargetSpec): string | undefined {
  const engine = normalizeEngine(target.engine);
  const { coordinationKey, realmRef } = target;
  if (engine === undefined || (coordinationKey === undefined) === (realmRef === undefined)) return undefined;
  return realmRef === undefined
    ? goStructDigest({
        contract_version: COORDINATION_CONTRACT,
        engine,
        namespace,
        coordination_key: coordinationKey ?? "",
      })
    : goStructDigest({ contract_version: COORDINATION_CONTRACT, engine, realm: realmRef.name });
}

/**
 * Digest of what a schema's policy lets a plan contain. `apply` is left out: who decides does not change the plan.
 * @param engine as spelled in the spec
 * @param connectTimeout `spec.execution.connectTimeout`
 */
export function schemaPolicyFingerprint(engine: string, policy: SchemaPolicy, connectTimeout: string): string {
  return goStructDigest({
    engine,
    allow_destructive: policy.allowDestructive,
    drift_severity: policy.driftSeverity,
    exclude: normalizedSet(policy.exclude),
    protected_tables: normalizedSet(policy.protectedTables),
    lock_timeout: formatGoDuration(durationMs(policy.lockTimeout)),
    transaction_mode: policy.transactionMode,
    connect_timeout: formatGoDuration(durationMs(connectTimeout)),
  });
}

/** What a schema plan's fingerprint covers. The plan's records (controllerImage, controllerRevision, runnerImage) are not in it. */
export type PlanFingerprintInput = Omit<
  PtahSchemaPlanSpec,
  "fingerprint" | "controllerImage" | "controllerRevision" | "runnerImage" | "schemaRef" | "chunks" | "size" | "dialect"
> & { readonly schemaUid: string };

/** The identity of a schema plan: digest of everything it is bound to. Its name and every approval derive from it. */
export function schemaPlanFingerprint(plan: PlanFingerprintInput): string {
  return canonicalDigest({
    contract_version: plan.contractVersion,
    serial: plan.serial,
    schema_uid: plan.schemaUid,
    plan_content_digest: plan.contentDigest,
    source: sourceInPlan(plan.source),
    coordination_digest: plan.coordinationDigest,
    target_identity_digest: plan.targetIdentityDigest,
    server_major: plan.serverMajor,
    actual_state_fingerprint: plan.actualStateFingerprint,
    desired_state_fingerprint: plan.desiredStateFingerprint,
    policy_fingerprint: plan.policyFingerprint,
    execution_binding_id: plan.executionBindingID,
    controller_state_version: plan.controllerStateVersion,
    ptah_version: plan.ptahVersion,
    executor_image: plan.executorImage,
    runner_protocol_version: plan.runnerProtocolVersion,
    destructive: plan.destructive,
    privilege_changes: normalizedSet(plan.privilegeChanges),
    statement_count: plan.statementCount,
  });
}

const sourceInPlan = (source: SourceBinding): Json => ({
  kind: source.kind,
  identity: source.identity,
  content_digest: source.contentDigest,
  policy_uid: source.policyUID,
  policy_digest: source.policyDigest,
});

/**
 * Digest of what a migration's policy lets a run do. Other than a schema's it covers `apply`, as the reference does: a
 * plan that was published to wait for a person does not run by itself after an edit.
 */
export function migrationPolicyFingerprint(policy: MigrationPolicy): string {
  return canonicalDigest({
    apply: policy.apply,
    lock_timeout: formatGoDuration(durationMs(policy.lockTimeout)),
    transaction_mode: policy.transactionMode ?? "",
  });
}

/**
 * The sequence digest: the versions that run, in order, as other implementations compute it (a list of Go maps, so with
 * sorted keys). It is a migration plan's contentDigest, and the Job and the runner check it again.
 */
export function sequenceDigest(steps: readonly SequenceStep[]): string {
  return goStructDigest(
    steps.map((step) => ({
      checkpoint: step.checkpoint ?? false,
      checksum: step.checksum,
      transaction_mode: step.transactionMode ?? "",
      version: step.version,
      version_key: step.versionKey ?? "",
    })),
  );
}

/** A history as the executor reports it, as far as its fingerprint covers it. */
export interface ReportedHistory {
  readonly contractVersion: number;
  readonly currentVersion: number;
  readonly checkpointVersion?: number | undefined;
  readonly totalMigrations: number;
  readonly dirtyRevision?: { readonly version: number; readonly applied: number; readonly total: number } | undefined;
  /** In the order of the report. */
  readonly migrations: readonly {
    readonly version: number;
    readonly versionKey?: string | undefined;
    readonly checksum?: string | undefined;
    readonly appliedChecksum?: string | undefined;
    readonly checkpoint?: boolean | undefined;
    readonly state: string;
  }[];
}

/** Digest of a history: what is applied, what is pending and from which files. A plan continues exactly this one. */
export function historyFingerprint(history: ReportedHistory): string {
  const { dirtyRevision } = history;
  return canonicalDigest({
    contract_version: history.contractVersion,
    current_version: history.currentVersion,
    checkpoint_version: history.checkpointVersion ?? 0,
    total_migrations: history.totalMigrations,
    dirty: dirtyRevision !== undefined,
    dirty_revision:
      dirtyRevision === undefined
        ? undefined
        : { version: dirtyRevision.version, applied: dirtyRevision.applied, total: dirtyRevision.total },
    migrations: history.migrations.map((migration) => ({
      version: migration.version,
      version_key: migration.versionKey ?? "",
      checksum: migration.checksum ?? "",
      applied_checksum: migration.appliedChecksum ?? "",
      checkpoint: migration.checkpoint ?? false,
      state: migration.state,
    })),
  });
}

/** What a migration plan's fingerprint covers. The records of who published it are not in it. */
export type MigrationPlanFingerprintInput = Omit<
  PtahMigrationPlanSpec,
  "fingerprint" | "controllerImage" | "controllerRevision" | "runnerImage" | "migrationRef" | "migrations" | "stepCount"
> & { readonly migrationUid: string };

/** The identity of a migration plan: digest of everything it is bound to. Its name and every approval derive from it. */
export function migrationPlanFingerprint(plan: MigrationPlanFingerprintInput): string {
  return canonicalDigest({
    contract_version: plan.contractVersion,
    serial: plan.serial,
    migration_uid: plan.migrationUid,
    history_fingerprint: plan.historyFingerprint,
    current_version: plan.currentVersion,
    sequence_digest: plan.contentDigest,
    source: sourceInPlan(plan.source),
    coordination_digest: plan.coordinationDigest,
    target_identity_digest: plan.targetIdentityDigest,
    policy_fingerprint: plan.policyFingerprint,
    execution_binding_id: plan.executionBindingID,
    controller_state_version: plan.controllerStateVersion,
    ptah_version: plan.ptahVersion,
    executor_image: plan.executorImage,
    runner_protocol_version: plan.runnerProtocolVersion,
  });
}

/** One file of a source. */
export interface SourceFile {
  /** Relative path, `/` between segments. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/**
 * The manifest of a source: one line per file, sorted by path, `<path> <sizeBytes> <sha256hex>`. The same files give the
 * same manifest whatever key, source or order they came from.
 */
export function sourceManifest(files: readonly SourceFile[]): string {
  return [...files]
    .sort((a, b) => compareBytewise(a.path, b.path))
    .map((file) => `${file.path} ${file.bytes.byteLength} ${sha256Hex(file.bytes)}\n`)
    .join("");
}

/** The content digest of a source: SHA-256 of its manifest. */
export function contentDigest(manifest: string): string {
  return sha256Digest(manifest);
}

/** Identity of a Git source in a plan: another repository or path is another source even when the files match. */
export function gitSourceIdentity(repository: string, path: string): string {
  return sha256Digest(`${repository}${NUL}${path}`);
}
