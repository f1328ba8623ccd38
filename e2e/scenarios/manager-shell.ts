/** What the test of the manager's shell works on. */
import { sha256Digest } from "../../crds/canonical.ts";
import type { PtahMigrationPlanSpec } from "../../crds/migrationspec.ts";
import type { PtahSchemaPlanSpec } from "../../crds/spec.ts";
import type { Configuration } from "../../lifecycle/view.ts";
import { STATE_VERSION } from "../../manager/contract.ts";

export const NAMESPACE = "manager-shell";
export const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
export const IMAGE = `registry.example/ptah@${digest("1")}`;

export const configuration: Configuration = {
  components: {
    controllerStateVersion: STATE_VERSION,
    ptahVersion: "0.1.0",
    executorImage: IMAGE,
    runnerProtocolVersion: 1,
  },
  manager: { controllerImage: IMAGE, controllerRevision: "r", runnerImage: IMAGE },
  scratchImages: {},
};

export const schema = {
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  metadata: { name: "storefront", namespace: NAMESPACE, finalizers: ["example.test/other"] },
  spec: {
    target: { engine: "PostgreSQL", coordinationKey: "shop", urlFrom: { name: "db", key: "url" } },
    desired: { configMap: { name: "files" } },
  },
};
export const files = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "files", namespace: NAMESPACE },
  data: { "a.sql": "create table a (id bigint);\n" },
};

const FILE = Buffer.from("");

export function planSpec(name: string, bytes: Uint8Array, uid: string): PtahSchemaPlanSpec {
  return {
    contractVersion: 2,
    schemaRef: { name: "storefront", uid },
    serial: 1,
    fingerprint: digest("5"),
    contentDigest: sha256Digest(bytes),
    source: { kind: "ConfigMap", identity: "c", contentDigest: digest("c") },
    coordinationDigest: digest("b"),
    targetIdentityDigest: digest("7"),
    serverMajor: 17,
    actualStateFingerprint: digest("a"),
    desiredStateFingerprint: digest("d"),
    policyFingerprint: digest("e"),
    executionBindingID: `v1-${"3".repeat(32)}`,
    controllerImage: IMAGE,
    controllerRevision: "r",
    controllerStateVersion: 1,
    ptahVersion: "0.1.0",
    executorImage: IMAGE,
    runnerImage: IMAGE,
    runnerProtocolVersion: 1,
    destructive: false,
    statementCount: 1,
    dialect: "PostgreSQL",
    size: bytes.byteLength,
    chunks: [{ name: `${name}-000`, index: 0, digest: sha256Digest(bytes), size: bytes.byteLength }],
  };
}

export function sequenceSpec(uid: string): PtahMigrationPlanSpec {
  const { schemaRef: _ref, serverMajor: _major, actualStateFingerprint: _actual, ...bound } = planSpec("", FILE, uid);
  const { desiredStateFingerprint: _desired, destructive: _judged, dialect: _dialect, size: _size, ...rest } = bound;
  const { statementCount: _count, chunks: _chunks, ...bindings } = rest;
  return {
    ...bindings,
    migrationRef: { name: "ledger", uid },
    historyFingerprint: digest("8"),
    currentVersion: 0,
    stepCount: 1,
    migrations: [{ version: 1, checksum: "h1:accounts" }],
  };
}
