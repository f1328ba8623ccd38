import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type KubectlTarget, kubectl, kubectlJson, tryKubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import { waitFor } from "../../cluster/wait.ts";

/** What the API server itself makes of the generated definitions: acceptance, defaults, rules, explanations. */

const CRDS = join(import.meta.dir, "../../../crds/yaml");
const NAMESPACE = "crd-acceptance";
const START_MS = 60_000;

let target: KubectlTarget;

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await kubectl(target, ["apply", "-f", CRDS]);
  await kubectl(target, ["wait", "--for=condition=Established", "--timeout=20s", "-f", CRDS]);
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await waitFor("PtahSchema is served", () => kubectl(target, ["get", "ptahs", "-n", NAMESPACE]), {
    timeoutMs: 20_000,
  });
}, START_MS);

afterAll(async () => {
  await tryKubectl(target, ["delete", "ptah", "--all", "-n", NAMESPACE, "--wait=false"]);
});

type Document = Record<string, unknown>;

const schema = (name: string, spec: Document = {}): Document => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  metadata: { name, namespace: NAMESPACE },
  spec: {
    target: { engine: "PostgreSQL", coordinationKey: "orders", urlFrom: { name: "orders-db", key: "url" } },
    desired: { configMap: { name: "orders-schema" } },
    ...spec,
  },
});

const create = (document: Document) =>
  tryKubectl(target, ["create", "-f", "-", "-o", "json"], { input: JSON.stringify(document) });

async function refusal(document: Document): Promise<string> {
  const result = await create(document);
  return result.code === 0 ? "accepted" : result.stderr;
}

describe("the definitions on an API server", () => {
  test("an author's shortest manifest gets every default", async () => {
    const created = JSON.parse((await create(schema("shortest"))).stdout);
    expect(created.spec).toEqual({
      target: {
        engine: "PostgreSQL",
        coordinationKey: "orders",
        sharedRealm: false,
        urlFrom: { name: "orders-db", key: "url" },
      },
      desired: { configMap: { name: "orders-schema" } },
      policy: {
        apply: "OnApproval",
        allowDestructive: false,
        driftSeverity: "all",
        lockTimeout: "30s",
        transactionMode: "file",
      },
      interval: "10m",
      execution: { activeDeadlineSeconds: 900, failureRetryInterval: "30s", connectTimeout: "10s" },
      suspend: false,
      history: { keepPlans: 5 },
    });
  });

  test("a resource nobody has looked at yet is not taken for current", async () => {
    const stored = await kubectlJson<{ status: unknown }>(target, ["get", "ptahs", "shortest", "-n", NAMESPACE]);
    expect(stored.status).toEqual({ observedGeneration: -1 });
  });

  test.each([
    ["no source", { desired: {} }, "exactly one of ociRef, configMap and git"],
    [
      "two sources",
      { desired: { configMap: { name: "a" }, git: { repository: "https://git.example/a", ref: "main" } } },
      "exactly one of ociRef, configMap and git",
    ],
    ["OCI without a policy", { desired: { ociRef: "oci://r.example/a" } }, "verificationPolicyFrom is required"],
    [
      "a ConfigMap source with a registry login",
      { desired: { configMap: { name: "a" }, registryAuthFrom: { name: "b" } } },
      "only allowed with ociRef",
    ],
    ["keys and items", { desired: { configMap: { name: "a", keys: ["k"], items: [] } } }, "exclude each other"],
    [
      "ssh without credentials",
      { desired: { git: { repository: "ssh://git.example/a", ref: "main" } } },
      "needs authFrom",
    ],
    [
      "no realm",
      { target: { engine: "PostgreSQL", urlFrom: { name: "a", key: "b" } } },
      "exactly one of coordinationKey and realmRef",
    ],
    [
      "an optional selector",
      { target: { engine: "PostgreSQL", coordinationKey: "k", urlFrom: { name: "a", key: "b", optional: true } } },
      "an optional selector is not supported",
    ],
    ["an interval below its bound", { interval: "9s" }, "must be a duration from 10s to 24h"],
    ["an interval that is no duration", { interval: "soon" }, "spec.interval"],
    [
      "a lock timeout beyond the deadline",
      { policy: { lockTimeout: "31s" }, execution: { activeDeadlineSeconds: 30 } },
      "policy.lockTimeout must not exceed",
    ],
    [
      "a connect timeout just beyond the deadline",
      { policy: { lockTimeout: "1s" }, execution: { activeDeadlineSeconds: 30, connectTimeout: "30.5s" } },
      "execution.connectTimeout must not exceed",
    ],
    ["a repeated exclusion", { policy: { exclude: ["a", "a"] } }, "Duplicate value"],
    ["an exclusion with a space at its end", { policy: { exclude: ["a "] } }, "spec.policy.exclude"],
    ["a protected table that is no name", { policy: { protectedTables: ["a.b.c"] } }, "spec.policy.protectedTables"],
    ["an unknown apply policy", { policy: { apply: "Sometimes" } }, "supported values"],
    ["no plans kept", { history: { keepPlans: 0 } }, "spec.history.keepPlans"],
    [
      "a reserved Pod label",
      { execution: { podMetadata: { labels: { "operator.ptah.run/x": "y" } } } },
      "are reserved",
    ],
    ["a Pod label that is no name", { execution: { podMetadata: { labels: { "a b": "y" } } } }, "qualified names"],
    [
      "a request that is no quantity",
      { execution: { resources: { requests: { memory: "lots" } } } },
      "requests.memory",
    ],
    ["a limit below zero", { execution: { resources: { limits: { cpu: "-1" } } } }, "limits.cpu"],
    ["a node label that is no name", { execution: { nodeSelector: { "a b": "y" } } }, "qualified names"],
    ["a node label's value that is none", { execution: { nodeSelector: { zone: "a b" } } }, "nodeSelector.zone"],
    ["a taint's value that is none", { execution: { tolerations: [{ key: "db", value: "a b" }] } }, "tolerations"],
    ["a field nobody knows", { polic: {} }, "unknown field"],
  ])("refuses %s and says so", async (_, spec, message) => {
    expect(await refusal(schema("refused", spec))).toContain(message);
  });

  test("takes what a service mesh and a scheduler need", async () => {
    const execution = {
      podMetadata: { annotations: { "sidecar.istio.io/inject": "false" } },
      tolerations: [{ key: "db", operator: "Exists", effect: "NoSchedule" }],
      nodeSelector: { "topology.kubernetes.io/zone": "eu-1a" },
      resources: { requests: { cpu: 1, memory: "64Mi" }, limits: { cpu: "1.5", memory: "1e8" } },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
          },
        },
      },
    };
    const created = await create(schema("scheduled", { execution }));
    expect(created.stderr).toBe("");
    expect(JSON.parse(created.stdout).spec.execution).toMatchObject(execution);
  });

  test("a name has to fit a label", async () => {
    expect(await refusal(schema("n".repeat(64)))).toContain("at most 63 characters");
  });

  test("an approval that nobody stamped is refused, and a stored spec never changes", async () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const reference = { name: "orders", uid: "u" };
    const spec = { schemaRef: reference, planRef: reference, planFingerprint: digest };
    const approval = (more: Document) => ({
      apiVersion: "operator.ptah.run/v1alpha1",
      kind: "PtahSchemaApproval",
      metadata: { name: "orders", namespace: NAMESPACE },
      spec: { ...spec, ...more },
    });
    expect(await refusal(approval({}))).toContain("spec.approver: Required value");
    const stamps = { approver: { username: "jo" }, approvedAt: "2026-01-01T00:00:00Z", mutationRequestUID: "r" };
    expect((await create(approval(stamps))).code).toBe(0);
    const patch = await tryKubectl(target, [
      ...["patch", "ptahschemaapproval", "orders", "-n", NAMESPACE, "--type=merge"],
      ...["-p", JSON.stringify({ spec: { approver: { username: "someone else" } } })],
    ]);
    expect(patch.stderr).toContain("spec is immutable");
  });

  test("kubectl explains a field and lists every kind that people read by one word", async () => {
    expect(await kubectl(target, ["explain", "ptahschema.spec.policy.protectedTables"])).toContain("no override");
    const listed = await kubectl(target, ["api-resources", "--categories=ptah", "-o", "name"]);
    expect(listed.trim().split("\n").sort()).toEqual(
      [
        "ptahmigrationapprovals",
        "ptahmigrationplans",
        "ptahmigrationrunacknowledgments",
        "ptahmigrations",
        "ptahschemaapprovals",
        "ptahschemaplans",
        "ptahschemas",
      ].map((plural) => `${plural}.operator.ptah.run`),
    );
  });
});
