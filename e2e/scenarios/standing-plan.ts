/** A schema whose plan waits for a decision, written by hand on an API server without a manager. */
import { contentDigest, coordinationDigest, schemaPolicyFingerprint, sourceManifest } from "../../crds/fingerprints.ts";
import type { SchemaPolicy } from "../../crds/spec.ts";
import type { DatabaseTargetSpec } from "../../crds/target.ts";
import { type KubectlTarget, kubectl, kubectlJson } from "../cluster/kubectl.ts";

export const TEXT = "create table t (id bigint);\n";
export const PLAN = `ptah-plan-${"5".repeat(24)}`;
export const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const IMAGE = `registry.example/ptah@${digest("1")}`;
const EPOCH = `v1-${"3".repeat(32)}`;
const COMPONENTS = { controllerStateVersion: 1, ptahVersion: "0.1.0", executorImage: IMAGE, runnerProtocolVersion: 1 };

export interface Meta {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
}

interface StoredSchema extends Meta {
  readonly spec: {
    readonly target: DatabaseTargetSpec;
    readonly policy: SchemaPolicy;
    readonly execution: { readonly connectTimeout: string };
  };
}

export const schemaObject = (namespace: string, name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  metadata: { name, namespace, ...metadata },
  spec: {
    target: { engine: "PostgreSQL", coordinationKey: "shop", urlFrom: { name: "db", key: "url" } },
    desired: { configMap: { name: "files" } },
    ...spec,
  },
});

export const sourceFiles = (namespace: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "files", namespace },
  data: { "a.sql": TEXT },
});

export interface Published {
  readonly schemaUid: string;
  readonly planUid: string;
  /** The status under which that plan stands. */
  readonly status: object;
}

/**
 * Publishes a plan of the stored schema `orders` and its ConfigMap `files`. It stands once `status` is the schema's.
 * @param manager kubectl flags to act as the manager
 */
export async function publishPlan(
  target: KubectlTarget,
  namespace: string,
  manager: readonly string[],
): Promise<Published> {
  const here = ["-n", namespace];
  const schema = await kubectlJson<StoredSchema>(target, ["get", "ptahs", "orders", ...here]);
  const files = await kubectlJson<Meta>(target, ["get", "configmap", "files", ...here]);
  const bindings = bindingsOf(namespace, schema, files.metadata.uid);
  const schemaUid = schema.metadata.uid;
  const plan = {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchemaPlan",
    metadata: { name: PLAN, namespace },
    spec: {
      ...bindings,
      contractVersion: 2,
      schemaRef: { name: "orders", uid: schemaUid },
      dialect: "PostgreSQL",
      size: 9,
      chunks: [{ name: `${PLAN}-000`, index: 0, digest: digest("6"), size: 9 }],
    },
  };
  await kubectl(target, ["create", "-f", "-", ...manager, ...here], { input: JSON.stringify(plan) });
  const at = new Date().toISOString();
  const ready = { type: "Ready", status: "True", reason: "Published", message: "", lastTransitionTime: at };
  const patch = JSON.stringify({ status: { observedGeneration: 1, conditions: [ready] } });
  const marking = ["patch", "ptahplan", PLAN, "--subresource=status", "--type=merge", "-p", patch];
  await kubectl(target, [...marking, ...manager, ...here]);
  const planUid = (await kubectlJson<Meta>(target, ["get", "ptahplan", PLAN, ...here])).metadata.uid;
  return {
    schemaUid,
    planUid,
    status: {
      executionBinding: { epoch: EPOCH, ...COMPONENTS },
      target: { identityDigest: digest("7") },
      plan: { name: PLAN, uid: planUid, createdAt: at, ...bindings },
    },
  };
}

function bindingsOf(namespace: string, { spec }: StoredSchema, sourceUid: string): object {
  const manifest = sourceManifest([{ path: "a.sql", bytes: Buffer.from(TEXT) }]);
  return {
    ...COMPONENTS,
    serial: 1,
    fingerprint: digest("5"),
    contentDigest: digest("6"),
    source: { kind: "ConfigMap", identity: sourceUid, contentDigest: contentDigest(manifest) },
    coordinationDigest: coordinationDigest(namespace, spec.target),
    targetIdentityDigest: digest("7"),
    serverMajor: 17,
    actualStateFingerprint: digest("8"),
    desiredStateFingerprint: digest("9"),
    policyFingerprint: schemaPolicyFingerprint(spec.target.engine, spec.policy, spec.execution.connectTimeout),
    executionBindingID: EPOCH,
    controllerImage: IMAGE,
    controllerRevision: "r",
    runnerImage: IMAGE,
    destructive: false,
    statementCount: 1,
  };
}

/** An approval of the published plan, as a person writes it. */
export const approvalObject = (namespace: string, name: string, published: Published, spec: object = {}): object => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchemaApproval",
  metadata: { name, namespace },
  spec: {
    schemaRef: { name: "orders", uid: published.schemaUid },
    planRef: { name: PLAN, uid: published.planUid },
    planFingerprint: digest("5"),
    ...spec,
  },
});
