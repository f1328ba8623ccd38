import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type KubectlTarget, kubectl, tryKubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import { waitFor } from "../../cluster/wait.ts";

/** What the shipped admission policies and roles let pass, on an API server alone: no webhook takes part. */

const BASE = join(import.meta.dir, "../../../manifests/base");
const NAMESPACE = "policy-acceptance";
const START_MS = 60_000;
const POLICY_KINDS = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
const KINDS = new Set([
  ...POLICY_KINDS,
  ...["CustomResourceDefinition", "Namespace", "ServiceAccount"],
  ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
]);
const MANAGER = ["--as=system:serviceaccount:ptah-system:ptah-operator-manager"];
const ANNOTATION = "operator.ptah.run/";

type Manifest = { kind: string } & Record<string, unknown>;

let target: KubectlTarget;
let policies: Manifest[] = [];

const list = (items: readonly Manifest[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });
const inNamespace = (...args: readonly string[]) => [...args, "-n", NAMESPACE];
/** Empty when it was let pass, else what kubectl says. */
const attempt = async (args: readonly string[], input?: string): Promise<string> => {
  const result = await tryKubectl(target, inNamespace(...args), input === undefined ? {} : { input });
  return result.code === 0 ? "" : result.stderr;
};

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  const rendered = parseAllDocuments(await kubectl(target, ["kustomize", BASE])).map((d) => d.toJS() as Manifest);
  const items = rendered.filter((manifest) => KINDS.has(manifest.kind));
  policies = items.filter((manifest) => POLICY_KINDS.includes(manifest.kind));
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await tryKubectl(target, inNamespace("create", "serviceaccount", "default"));
  await kubectl(target, ["apply", "-f", "-"], { input: list(items) });
  await waitFor("PtahSchema is served", () => kubectl(target, inNamespace("get", "ptahs")), { timeoutMs: 20_000 });
  await tryKubectl(
    target,
    inNamespace("delete", "ptahs,ptahm,ptahmplan,ptahchunk,pods,configmaps", "--all", "--force"),
  );
  for (const subject of [schema("orders"), migration("ledger")]) {
    await kubectl(target, ["create", "-f", "-"], { input: JSON.stringify(subject) });
  }
  const forged = [
    "patch",
    "ptahs",
    "orders",
    "--subresource=status",
    "--type=merge",
    "-p",
    '{"status":{"phase":"Failed"}}',
  ];
  await waitFor("the policies are in force", async () => (await attempt(forged)) !== "", { timeoutMs: 30_000 });
}, START_MS);

afterAll(async () => {
  await tryKubectl(target, ["delete", "-f", "-"], { input: list(policies) });
  await tryKubectl(
    target,
    inNamespace("delete", "ptahs,ptahm,ptahmplan,ptahchunk,pods,configmaps", "--all", "--force"),
  );
});

const schema = (name: string): object => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  metadata: { name, namespace: NAMESPACE },
  spec: {
    target: { engine: "PostgreSQL", coordinationKey: "orders", urlFrom: { name: "orders-db", key: "url" } },
    desired: { configMap: { name: "orders-schema" } },
  },
});

const migration = (name: string): object => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahMigration",
  metadata: { name, namespace: NAMESPACE },
  spec: {
    target: { engine: "MySQL", coordinationKey: "ledger", urlFrom: { name: "ledger-db", key: "url" } },
    artifact: { configMap: { name: "ledger-migrations" } },
  },
});

const merge = (kind: string, name: string, patch: object, ...more: readonly string[]) => [
  ...["patch", kind, name, "--type=merge", "-p", JSON.stringify(patch)],
  ...more,
];

describe("a status is evidence", () => {
  const patch = merge("ptahs", "orders", { status: { phase: "Pending" } }, "--subresource=status");

  test("an administrator may not write it and is told the way out", async () => {
    expect(await attempt(patch)).toContain("use kubectl ptah settle");
  });

  test("the manager may", async () => {
    const stored = JSON.parse(await kubectl(target, inNamespace("get", "ptahs", "orders", "-o", "json")));
    const next = JSON.stringify({ ...stored, status: { phase: "Pending" } });
    expect(await attempt(["replace", "--subresource=status", "-f", "-", ...MANAGER], next)).toBe("");
  });
});

describe.each([
  ["ptahs", "orders", "active-operation"],
  ["ptahm", "ledger", "migration-operation"],
])("the manager changes marks, not declarations, of %s", (kind, name, finalizer) => {
  test.each([
    ["a spec", { spec: { suspend: true } }, "may not change a spec"],
    ["a label", { metadata: { labels: { a: "b" } } }, "may not change labels"],
    ["a foreign annotation", { metadata: { annotations: { a: "b" } } }, "only its own annotations"],
    ["a foreign finalizer", { metadata: { finalizers: ["example.org/x"] } }, "only its own finalizer"],
  ])("refuses it %s", async (_, patch, message) => {
    expect(await attempt([...merge(kind, name, patch), ...MANAGER])).toContain(message);
  });

  test("lets it add and remove its finalizer and its mirror", async () => {
    const marks = (finalizers: string[], mirror: string | null) =>
      merge(kind, name, { metadata: { finalizers, annotations: { [`${ANNOTATION}unsettled-apply`]: mirror } } });
    expect(await attempt([...marks([`${ANNOTATION}${finalizer}`], "{}"), ...MANAGER])).toBe("");
    expect(await attempt([...marks([], null), ...MANAGER])).toBe("");
  });
});

test("the manager gets no Secret", async () => {
  for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete"]) {
    const answer = await tryKubectl(target, ["auth", "can-i", verb, "secrets", "--all-namespaces", ...MANAGER]);
    expect([verb, answer.stdout.trim()]).toEqual([verb, "no"]);
  }
});

describe("what Pods mount and people approve", () => {
  const plan = `ptah-plan-${"a".repeat(24)}`;
  const chunk = {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahSchemaPlanChunk",
    metadata: { name: `${plan}-000`, namespace: NAMESPACE },
    spec: { data: "eA==" },
  };
  const digest = `sha256:${"a".repeat(64)}`;
  const sequence = {
    apiVersion: "operator.ptah.run/v1alpha1",
    kind: "PtahMigrationPlan",
    metadata: { name: `ptah-mplan-${"a".repeat(24)}`, namespace: NAMESPACE },
    spec: {
      contractVersion: 2,
      migrationRef: { name: "ledger", uid: "u" },
      serial: 1,
      fingerprint: digest,
      contentDigest: digest,
      source: { kind: "ConfigMap", identity: "cm", contentDigest: digest },
      coordinationDigest: digest,
      targetIdentityDigest: digest,
      policyFingerprint: digest,
      executionBindingID: `v1-${"3".repeat(32)}`,
      controllerImage: `ptah@${digest}`,
      controllerRevision: "r1",
      controllerStateVersion: 1,
      ptahVersion: "1",
      executorImage: "ptah",
      runnerImage: `ptah@${digest}`,
      runnerProtocolVersion: 1,
      historyFingerprint: digest,
      currentVersion: 0,
      stepCount: 1,
      migrations: [{ version: 1, checksum: "h1:one" }],
    },
  };
  const configMap = (name: string, more: object = {}, labels: Record<string, string> = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: NAMESPACE, labels },
    ...more,
  });
  const create = (object: object, ...as: readonly string[]) =>
    attempt(["create", "-f", "-", ...as], JSON.stringify(object));

  test("plans and their bytes come from the manager alone", async () => {
    expect(await create(chunk)).toContain("plans are published by the operator alone");
    expect(await create(chunk, ...MANAGER)).toBe("");
    expect(await create(sequence)).toContain("plans are published by the operator alone");
    expect(await create(sequence, ...MANAGER)).toBe("");
  });

  test("a snapshot or projection is made by the manager alone, and immutable", async () => {
    const projection = configMap(`${plan}-000`, { immutable: true });
    const labelled = configMap("mine", { immutable: true }, { [`${ANNOTATION}source-snapshot`]: "orders" });
    for (const object of [projection, labelled, configMap(`ptah-src-${"b".repeat(24)}`)]) {
      expect(await create(object)).toContain("created by the operator alone");
    }
    expect(await create(configMap(`${plan}-001`), ...MANAGER)).toContain("are immutable");
    expect(await create(projection, ...MANAGER)).toBe("");
  });

  test("everybody's other ConfigMaps are nobody's business", async () => {
    expect(await create(configMap("ptah-plan"))).toBe("");
  });
});

describe("the gate of an Apply's Pod", () => {
  const pod = (name: string, labels: Record<string, string>) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, labels },
    spec: {
      containers: [{ name: "ptah", image: "ptah" }],
      schedulingGates: [{ name: `${ANNOTATION}recorded` }, { name: "example.org/other" }],
    },
  });
  const ours = { "app.kubernetes.io/managed-by": "ptah-operator" };
  const gates = (name: string, ...left: readonly string[]) => [
    ...["patch", "pod", name, "--type=json", ...MANAGER, "-p"],
    JSON.stringify([{ op: "replace", path: "/spec/schedulingGates", value: left.map((gate) => ({ name: gate })) }]),
  ];

  test("is what the manager may open, and nothing else of the Pod", async () => {
    expect(await attempt(["create", "-f", "-"], JSON.stringify(pod("apply", ours)))).toBe("");
    const labelled = merge("pod", "apply", { metadata: { labels: { a: "b" } } });
    expect(await attempt([...labelled, ...MANAGER])).toContain("may only remove the scheduling gate");
    const image = JSON.stringify([
      { op: "replace", path: "/spec/containers/0/image", value: "other" },
      { op: "remove", path: "/spec/schedulingGates/0" },
    ]);
    expect(await attempt(["patch", "pod", "apply", "--type=json", "-p", image, ...MANAGER])).toContain(
      "may not change a Pod's containers",
    );
    expect(await attempt(gates("apply"))).toContain("may only remove the scheduling gate");
    expect(await attempt(gates("apply", "example.org/other"))).toBe("");
  });

  test("of a Pod that is not ours stays shut", async () => {
    expect(await attempt(["create", "-f", "-"], JSON.stringify(pod("foreign", {})))).toBe("");
    expect(await attempt(gates("foreign", "example.org/other"))).toContain("only Pods of its operations");
  });
});
