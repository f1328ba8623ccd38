/** Names, labels, annotations and finalizers that objects in a cluster carry. Contract values: never repurposed. */
import { sha256Hex } from "./canonical.ts";
import { GROUP } from "./common.ts";

export const FINALIZER = `${GROUP}/active-operation`;
export const MIGRATION_FINALIZER = `${GROUP}/migration-operation`;

export const MANAGED_BY = "ptah-operator";
export const OPERATION_CONTAINER = "ptah";
export const ADMISSION_CONFIGURATION = "ptah-operator-admission";
/** The scheduling gate of an Apply's Pod; the manager removes it from the one Pod it has recorded. */
export const RECORDED_GATE = `${GROUP}/recorded`;

export const label = {
  managedBy: "app.kubernetes.io/managed-by",
  component: "app.kubernetes.io/component",
  operation: `${GROUP}/operation`,
  operationId: `${GROUP}/operation-id`,
  schema: `${GROUP}/schema`,
  migration: `${GROUP}/migration`,
  plan: `${GROUP}/plan`,
  coordination: `${GROUP}/coordination`,
  sourceSnapshot: `${GROUP}/source-snapshot`,
} as const;

export const component = { schema: "schema-operation", migration: "migration-operation" } as const;
export const COORDINATION_TARGET = "database-target";

export const annotation = {
  operationId: `${GROUP}/operation-id`,
  inputFingerprint: `${GROUP}/input-fingerprint`,
  executionBindingId: `${GROUP}/execution-binding-id`,
  controllerImage: `${GROUP}/controller-image`,
  controllerRevision: `${GROUP}/controller-revision`,
  controllerStateVersion: `${GROUP}/controller-state-version`,
  ptahVersion: `${GROUP}/ptah-version`,
  admissionSnapshotDigest: `${GROUP}/admission-snapshot-digest`,
  planFingerprint: `${GROUP}/plan-fingerprint`,
  planContentDigest: `${GROUP}/plan-content-digest`,
  sequenceDigest: `${GROUP}/sequence-digest`,
  /** The mirror: what a status-less restore needs to know of an attempt that may have written. */
  unsettledApply: `${GROUP}/unsettled-apply`,
  settledApply: `${GROUP}/settled-apply`,
  settledApplyBy: `${GROUP}/settled-apply-by`,
  readRequestedAt: `${GROUP}/read-requested-at`,
  leaseEpoch: `${GROUP}/lease-epoch`,
  leaseHolderKind: `${GROUP}/lease-holder-kind`,
  leaseHolderNamespace: `${GROUP}/lease-holder-namespace`,
  leaseHolderName: `${GROUP}/lease-holder-name`,
  leaseHolderUid: `${GROUP}/lease-holder-uid`,
  leaseHolderJob: `${GROUP}/lease-holder-job`,
  leaseHolderExecutionNotAfter: `${GROUP}/lease-holder-execution-not-after`,
  crdSchemaVersion: `${GROUP}/crd-schema-version`,
  crdSchemaDigest: `${GROUP}/crd-schema-digest`,
  safeToEvict: "cluster-autoscaler.kubernetes.io/safe-to-evict",
} as const;

const NAME_MAX = 63;
const NUL = "\0";

export type Family = "schema" | "migration";

/** What makes a Job's name: one claim's one attempt. */
export interface JobNaming {
  readonly family: Family;
  /** Name and UID of the PtahSchema or PtahMigration. */
  readonly name: string;
  readonly uid: string;
  /** As in status: `Apply`, not `apply`. */
  readonly operation: string;
  readonly operationId: string;
  /** Epoch of the execution binding. */
  readonly bindingEpoch: string;
  readonly inputFingerprint: string;
  /** From 1. */
  readonly attempt: number;
}

/** The deterministic name of an operation's Job, at most 63 characters. */
export function jobName(id: JobNaming): string {
  const parts = [id.uid, id.operation, id.operationId, id.bindingEpoch, id.inputFingerprint, String(id.attempt)];
  const hash = sha256Hex(parts.join(NUL)).slice(0, 16);
  const prefix = `ptah-${id.family === "migration" ? "m-" : ""}${id.operation.toLowerCase()}-`;
  const room = NAME_MAX - prefix.length - hash.length - 1;
  return `${prefix}${id.name.slice(0, room).replace(/[-.]+$/, "")}-${hash}`;
}

/** An operation id as a label value: 16 hex digits. */
export function operationIdLabel(operationId: string): string {
  return sha256Hex(operationId).slice(0, 16);
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** RFC 4648 base32, lower case, without padding. */
export function base32(bytes: Uint8Array): string {
  let out = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += BASE32[(held >>> bits) & 31] ?? "";
    }
    held &= (1 << bits) - 1;
  }
  return bits > 0 ? out + (BASE32[(held << (5 - bits)) & 31] ?? "") : out;
}

const fromHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

/** Name of the Lease of a realm. @param coordinationDigest `sha256:…` */
export function leaseName(coordinationDigest: string): string {
  return `ptah-t-${base32(fromHex(coordinationDigest.replace(/^sha256:/, "")))}`;
}

/** Holder identity of one operation of one resource. */
export function leaseHolder(uid: string, operationId: string): string {
  return `ptah-h-${base32(fromHex(sha256Hex(`${uid}${NUL}${operationId}`)))}`;
}

const first24 = (digest: string): string => digest.replace(/^sha256:/, "").slice(0, 24);

/** Name of a schema plan. @param fingerprint `sha256:…` */
export const schemaPlanName = (fingerprint: string): string => `ptah-plan-${first24(fingerprint)}`;

/** Name of a migration plan. @param fingerprint `sha256:…` */
export const migrationPlanName = (fingerprint: string): string => `ptah-mplan-${first24(fingerprint)}`;

/** Name of a plan's chunk, and of its projection. */
export const chunkName = (planName: string, index: number): string => `${planName}-${String(index).padStart(3, "0")}`;

/** Name of the immutable snapshot of a ConfigMap source. @param contentDigest `sha256:…` of the manifest */
export const snapshotName = (uid: string, contentDigest: string): string =>
  `ptah-src-${sha256Hex(`${uid}${NUL}${contentDigest}`).slice(0, 24)}`;
