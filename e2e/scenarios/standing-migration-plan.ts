/** A migration whose plan waits for a decision, written by hand on an API server without a manager. */
import {
  contentDigest,
  coordinationDigest,
  migrationPlanFingerprint,
  migrationPolicyFingerprint,
  sequenceDigest,
  sourceManifest,
} from "../../crds/fingerprints.ts";
import { migrationPlanName } from "../../crds/names.ts";
import type { PtahMigration } from "../../crds/ptahmigration.ts";
import { type KubectlTarget, kubectl, kubectlJson } from "../cluster/kubectl.ts";
import { digest, type Meta } from "./standing-plan.ts";

const FILE = "0000000001_accounts.up.sql";
const TEXT = "create table account (id bigint);\n";
const HISTORY = digest("8");
const TARGET = digest("7");
const IMAGE = `registry.example/ptah@${digest("1")}`;
const EPOCH = `v1-${"3".repeat(32)}`;
const COMPONENTS = { controllerStateVersion: 1, ptahVersion: "0.1.0", executorImage: IMAGE, runnerProtocolVersion: 1 };
const SEQUENCE = [{ version: 1, checksum: "h1:accounts" }];

const GROUP = "operator.ptah.run/v1alpha1";

export const migrationObject = (namespace: string, name: string, spec: object = {}): object => ({
  apiVersion: GROUP,
  kind: "PtahMigration",
  metadata: { name, namespace },
  spec: {
    target: { engine: "MySQL", coordinationKey: "ledger", urlFrom: { name: "db", key: "url" } },
    artifact: { configMap: { name: "migrations" } },
    ...spec,
  },
});

export const migrationFiles = (namespace: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "migrations", namespace },
  data: { [FILE]: TEXT },
});

export interface PublishedSequence {
  readonly migrationUid: string;
  readonly planUid: string;
  readonly planName: string;
  readonly fingerprint: string;
  /** The status under which that plan stands. */
  readonly status: { readonly history: object; readonly [field: string]: object };
}

/**
 * Publishes a plan of the stored migration `ledger` and its ConfigMap. It stands once `status` is the migration's.
 * @param manager kubectl flags to act as the manager
 */
export async function publishSequence(
  target: KubectlTarget,
  namespace: string,
  manager: readonly string[],
): Promise<PublishedSequence> {
  const here = ["-n", namespace];
  const { metadata, spec } = await kubectlJson<Meta & Pick<PtahMigration, "spec">>(target, [
    ...["get", "ptahm", "ledger"],
    ...here,
  ]);
  const files = await kubectlJson<Meta>(target, ["get", "configmap", "migrations", ...here]);
  const manifest = sourceManifest([{ path: FILE, bytes: Buffer.from(TEXT) }]);
  const bound = {
    ...COMPONENTS,
    serial: 1,
    contentDigest: sequenceDigest(SEQUENCE),
    source: { kind: "ConfigMap" as const, identity: files.metadata.uid, contentDigest: contentDigest(manifest) },
    coordinationDigest: coordinationDigest(namespace, spec.target) ?? "",
    targetIdentityDigest: TARGET,
    policyFingerprint: migrationPolicyFingerprint(spec.policy),
    executionBindingID: EPOCH,
    historyFingerprint: HISTORY,
    currentVersion: 0,
  };
  const fingerprint = migrationPlanFingerprint({ ...bound, contractVersion: 2, migrationUid: metadata.uid });
  const name = migrationPlanName(fingerprint);
  const publisher = { controllerImage: IMAGE, controllerRevision: "r", runnerImage: IMAGE };
  const bindings = { ...bound, ...publisher, fingerprint, stepCount: 1 };
  const owner = { apiVersion: GROUP, kind: "PtahMigration", name: "ledger", uid: metadata.uid, controller: true };
  const plan = {
    apiVersion: GROUP,
    kind: "PtahMigrationPlan",
    metadata: { name, namespace, ownerReferences: [owner] },
    spec: {
      ...bindings,
      contractVersion: 2,
      migrationRef: { name: "ledger", uid: metadata.uid },
      migrations: SEQUENCE,
    },
  };
  await kubectl(target, ["create", "-f", "-", ...manager, ...here], { input: JSON.stringify(plan) });
  const at = new Date().toISOString();
  const ready = { type: "Ready", status: "True", reason: "Published", message: "", lastTransitionTime: at };
  const patch = JSON.stringify({ status: { observedGeneration: 1, conditions: [ready] } });
  const marking = ["patch", "ptahmplan", name, "--subresource=status", "--type=merge", "-p", patch];
  await kubectl(target, [...marking, ...manager, ...here]);
  const planUid = (await kubectlJson<Meta>(target, ["get", "ptahmplan", name, ...here])).metadata.uid;
  return {
    migrationUid: metadata.uid,
    planUid,
    planName: name,
    fingerprint,
    status: {
      executionBinding: { epoch: EPOCH, ...COMPONENTS },
      history: {
        observedAt: at,
        contractVersion: 1,
        currentVersion: 0,
        appliedCount: 0,
        pendingCount: 1,
        fingerprint: HISTORY,
        targetIdentityDigest: TARGET,
      },
      plan: { name, uid: planUid, createdAt: at, ...bindings },
    },
  };
}

/** An approval of the published plan, as a person writes it. */
export const migrationApprovalObject = (namespace: string, name: string, of: PublishedSequence, spec = {}): object => ({
  apiVersion: GROUP,
  kind: "PtahMigrationApproval",
  metadata: { name, namespace },
  spec: {
    migrationRef: { name: "ledger", uid: of.migrationUid },
    planRef: { name: of.planName, uid: of.planUid },
    planFingerprint: of.fingerprint,
    ...spec,
  },
});

/** A record of a run of that plan that nobody has accounted for. */
export function unresolvedRun(operationID: string): object {
  const at = new Date().toISOString();
  return {
    outcome: "Partial",
    operationID,
    generation: 1,
    job: { name: "ptah-m-apply-ledger-0123456789abcdef", uid: "job" },
    coordinationDigest: digest("b"),
    leaseDurationSeconds: 1020,
    recordedAt: at,
    observeAfter: at,
  };
}

/** An acknowledgment of a run of `ledger`, as a person writes it. */
export const acknowledgmentObject = (
  namespace: string,
  name: string,
  of: PublishedSequence,
  operationID: string,
  spec = {},
): object => ({
  apiVersion: GROUP,
  kind: "PtahMigrationRunAcknowledgment",
  metadata: { name, namespace },
  spec: { migrationRef: { name: "ledger", uid: of.migrationUid }, operationID, ...spec },
});
