/** The digests by which objects recognise each other: realm, policy, plan, source content. */
import {
  canonicalDigest,
  compareBytewise,
  goStructDigest,
  normalizedSet,
  sha256Digest,
  sha256Hex,
} from "./canonical.ts";
import { durationMs, formatGoDuration } from "./duration.ts";
import { normalizeEngine } from "./engine.ts";
import type { PtahSchemaPlanSpec, SchemaPolicy } from "./spec.ts";
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
    source: {
      kind: plan.source.kind,
      identity: plan.source.identity,
      content_digest: plan.source.contentDigest,
      policy_uid: plan.source.policyUID,
      policy_digest: plan.source.policyDigest,
    },
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
