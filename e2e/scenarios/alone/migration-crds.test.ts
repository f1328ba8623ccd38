import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type KubectlTarget, kubectl, kubectlJson, tryKubectl } from "../../cluster/kubectl.ts";
import { openCluster } from "../../cluster/open.ts";
import { createProgress } from "../../cluster/progress.ts";
import { waitFor } from "../../cluster/wait.ts";

/** What the API server itself makes of the migration family's definitions. */

const CRDS = join(import.meta.dir, "../../../crds/yaml");
const NAMESPACE = "migration-crds";
const START_MS = 60_000;
const DIGEST = `sha256:${"a".repeat(64)}`;
const STAMPED_AT = "2026-01-01T00:00:00Z";

let target: KubectlTarget;

beforeAll(async () => {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await kubectl(target, ["apply", "-f", CRDS]);
  await kubectl(target, ["wait", "--for=condition=Established", "--timeout=20s", "-f", CRDS]);
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  await waitFor("PtahMigration is served", () => kubectl(target, ["get", "ptahm", "-n", NAMESPACE]), {
    timeoutMs: 20_000,
  });
}, START_MS);

afterAll(async () => {
  await tryKubectl(target, ["delete", "ptah", "--all", "-n", NAMESPACE, "--wait=false"]);
});

type Document = Record<string, unknown>;

const object = (kind: string, name: string, spec: Document): Document => ({
  apiVersion: "operator.ptah.run/v1alpha1",
  kind,
  metadata: { name, namespace: NAMESPACE },
  spec,
});

const migration = (name: string, spec: Document = {}): Document =>
  object("PtahMigration", name, {
    target: { engine: "MariaDB", coordinationKey: "ledger", urlFrom: { name: "ledger-db", key: "url" } },
    artifact: { configMap: { name: "ledger-migrations" } },
    ...spec,
  });

const create = (document: Document) =>
  tryKubectl(target, ["create", "-f", "-", "-o", "json"], { input: JSON.stringify(document) });

async function refusal(document: Document): Promise<string> {
  const result = await create(document);
  return result.code === 0 ? "accepted" : result.stderr;
}

const writeStatus = (name: string, status: Document) =>
  tryKubectl(target, [
    ...["patch", "ptahm", name, "-n", NAMESPACE, "--subresource=status", "--type=merge"],
    ...["-p", JSON.stringify({ status })],
  ]);

test("an author's shortest migration gets every default, and no transaction mode", async () => {
  const created = JSON.parse((await create(migration("shortest"))).stdout);
  expect(created.spec).toMatchObject({
    policy: { apply: "OnApproval", lockTimeout: "5m" },
    interval: "10m",
    execution: { activeDeadlineSeconds: 900 },
    suspend: false,
    history: { keepPlans: 5 },
  });
  expect(created.spec.policy.transactionMode).toBeUndefined();
  expect(created.status).toEqual({ observedGeneration: -1 });
});

test("a manifest that was written for an OCI artifact is taken unchanged", async () => {
  const created = await create(
    migration("published", {
      artifact: {
        ociRef: "oci://registry.example/ledger:1.2.3",
        verificationPolicyFrom: { name: "policy", key: "policy.yaml" },
        registryAuthFrom: { name: "login", mode: "DockerConfigJSON" },
        transport: { caFrom: { name: "ca", key: "ca.crt" } },
      },
      policy: { apply: "Always", lockTimeout: "1m", transactionMode: "file" },
    }),
  );
  expect(created.stderr).toBe("");
});

test.each([
  ["a lock timeout beyond the deadline", { execution: { activeDeadlineSeconds: 30 } }, "policy.lockTimeout must not"],
  ["one transaction for everything", { policy: { transactionMode: "all" } }, "supported values"],
  ["no source", { artifact: {} }, "exactly one of ociRef, configMap and git"],
  ["a destructive permission", { policy: { allowDestructive: true } }, "unknown field"],
])("refuses %s and says so", async (_, spec, message) => {
  expect(await refusal(migration("refused", spec))).toContain(message);
});

test("a name has to fit a label", async () => {
  expect(await refusal(migration("n".repeat(64)))).toContain("at most 63 characters");
});

test("history and run show in the list that people read", async () => {
  await create(migration("listed"));
  const revisions = [{ version: 1, state: "applied", applied: 1, total: 1 }];
  const history = {
    observedAt: STAMPED_AT,
    contractVersion: 1,
    currentVersion: 20260101000000,
    appliedCount: 1,
    pendingCount: 2,
    fingerprint: DIGEST,
    targetIdentityDigest: DIGEST,
    revisions,
  };
  const lastRun = {
    outcome: "Failed",
    operationID: DIGEST,
    startedAt: STAMPED_AT,
    failure: { version: 2, statement: 3 },
  };
  expect((await writeStatus("listed", { phase: "Blocked", history, lastRun })).stderr).toBe("");
  const line = await kubectl(target, ["get", "ptahm", "listed", "-n", NAMESPACE, "--no-headers"]);
  expect(line.split(/\s+/).slice(0, 5)).toEqual(["listed", "Blocked", "20260101000000", "2", "Failed"]);
  const stored = await kubectlJson<{ status: { history: Document } }>(target, [
    ...["get", "ptahm", "listed", "-n", NAMESPACE],
  ]);
  expect(stored.status.history["revisions"]).toEqual(revisions);
});

test.each([
  ["a run a person resolved without saying who", { resolution: "Acknowledged" }, "by is required"],
  [
    "an acknowledged run without its acknowledgment",
    { resolution: "Acknowledged", by: { username: "jo" } },
    "acknowledgment is required",
  ],
  ["a reading by a person", { resolution: "Reading", by: { username: "jo" } }, "by is required"],
])("refuses %s", async (_, over, message) => {
  await create(migration("resolved"));
  const run = { operationID: DIGEST, outcome: "Unknown", resolvedAt: STAMPED_AT, ...over };
  expect((await writeStatus("resolved", { resolvedRun: run })).stderr).toContain(message);
});

test("a word that nobody stamped is refused, and a stored one never changes", async () => {
  const reference = { name: "ledger", uid: "u" };
  const acknowledgment = (more: Document) =>
    object("PtahMigrationRunAcknowledgment", "word", { migrationRef: reference, operationID: DIGEST, ...more });
  expect(await refusal(acknowledgment({}))).toContain("spec.acknowledgedBy: Required value");
  const stamps = { acknowledgedBy: { username: "jo" }, acknowledgedAt: STAMPED_AT, mutationRequestUID: "r" };
  expect((await create(acknowledgment(stamps))).stderr).toBe("");
  const patch = await tryKubectl(target, [
    ...["patch", "ptahmack", "word", "-n", NAMESPACE, "--type=merge"],
    ...["-p", JSON.stringify({ spec: { operationID: `sha256:${"b".repeat(64)}` } })],
  ]);
  expect(patch.stderr).toContain("spec is immutable");

  const approval = { migrationRef: reference, planRef: reference, planFingerprint: DIGEST };
  expect(await refusal(object("PtahMigrationApproval", "word", approval))).toContain("spec.approver: Required value");
});
