/** What the test of admission works on: certificates and webhook as processes, beside an API server alone. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { applyObjects, type KubectlTarget, kubectl, kubectlJson, tryKubectl } from "../cluster/kubectl.ts";
import { waitFor } from "../cluster/wait.ts";

const ROOT = join(import.meta.dir, "../..");
const BASE = join(ROOT, "manifests/base");
export const NAMESPACE = "admission-acceptance";
export const SYSTEM = "ptah-system";
export const MANAGER = `system:serviceaccount:${SYSTEM}:ptah-operator-manager`;
export const URL_CONFIGURATION = "ptah-admission-acceptance";
/** Installed first, and left: other tests use the same. */
const LASTING = new Set([
  ...["CustomResourceDefinition", "Namespace", "ServiceAccount", "Secret"],
  ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
]);
const CONFIGURATIONS = new Set(["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}
interface Configuration extends Manifest {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly caBundle?: string; readonly service: { readonly path: string } };
  }[];
}

/** Applies what the manifests ship; the admission configurations are returned, not applied. */
export async function installManifests(target: KubectlTarget): Promise<readonly Configuration[]> {
  const rendered = parseAllDocuments(await kubectl(target, ["kustomize", BASE])).map((d) => d.toJS() as Manifest);
  await applyObjects(
    target,
    rendered.filter((manifest) => LASTING.has(manifest.kind)),
  );
  return rendered.filter((manifest) => CONFIGURATIONS.has(manifest.kind)) as Configuration[];
}

/** The shipped configurations, narrowed to a namespace: other tests share this API server. */
export function narrowed(configurations: readonly Configuration[], namespace: string): Configuration[] {
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  return configurations.map((one) => ({
    ...one,
    webhooks: one.webhooks.map((entry) => ({ ...entry, namespaceSelector })),
  }));
}

/** The same entries under another name, aimed at a process on this machine. */
export function aimedAt(configurations: readonly Configuration[], port: number, caBundle: string): object[] {
  return narrowed(configurations, NAMESPACE).map((one) => ({
    ...one,
    metadata: { name: URL_CONFIGURATION },
    webhooks: one.webhooks.map((entry) => ({
      ...entry,
      clientConfig: { url: `https://127.0.0.1:${port}${entry.clientConfig.service.path}`, caBundle },
    })),
  }));
}

/** A kubeconfig that acts as one of our ServiceAccounts, under exactly its roles. */
export async function accountKubeconfig(target: KubectlTarget, account: string, directory: string): Promise<string> {
  const token = (await kubectl(target, ["create", "token", account, "-n", SYSTEM])).trim();
  const admin = await kubectlJson<{ clusters: { cluster: object }[] }>(target, ["config", "view", "--raw"]);
  const file = join(directory, `${account}.kubeconfig`);
  const config = {
    "current-context": "a",
    clusters: [{ name: "c", cluster: admin.clusters[0]?.cluster }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "a", context: { cluster: "c", user: "u", namespace: SYSTEM } }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

export interface Part {
  readonly process: ChildProcess;
  said(): string;
  ended(): Promise<number>;
}

/** Starts a part of the executable from its source. */
export function start(args: readonly string[]): Part {
  const child = spawn(process.execPath, [join(ROOT, "main.ts"), ...args], { env: { ...process.env, KUBECONFIG: "" } });
  let said = "";
  const keep = (chunk: Buffer): void => {
    said += chunk.toString("utf8");
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const ended = new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? -1)));
  return { process: child, said: () => said, ended: () => ended };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Writes the serving pair where a kubelet would mount it. */
export async function mountCertificate(target: KubectlTarget, directory: string): Promise<void> {
  const secret = await kubectlJson<{ data: Record<string, string> }>(target, [
    ...["get", "secret", "ptah-operator-webhook-tls", "-n", SYSTEM],
  ]);
  for (const key of ["tls.crt", "tls.key"]) {
    writeFileSync(join(directory, key), Buffer.from(secret.data[key] ?? "", "base64"), { mode: 0o600 });
  }
}

export interface Admission {
  readonly directory: string;
  readonly webhook: Part;
  readonly health: number;
  readonly caBundle: string;
  stop(): Promise<void>;
}

/** Certificates made by `ptah certs --once`, then `ptah webhook` serving and in force for our namespace. */
export async function startAdmission(target: KubectlTarget, flags: readonly string[]): Promise<Admission> {
  const directory = mkdtempSync(join(tmpdir(), "ptah-admission-"));
  const shipped = await installManifests(target);
  // In force nowhere: its Service has no endpoints here; it is what `ptah certs` writes its bundles to.
  await applyObjects(target, narrowed(shipped, "no-such-namespace"));
  const certs = start([
    ...["certs", "--once", "--dns-name=127.0.0.1"],
    `--kubeconfig=${await accountKubeconfig(target, "ptah-operator-certs", directory)}`,
  ]);
  if ((await certs.ended()) !== 0) throw new Error(`ptah certs failed: ${certs.said()}`);
  await mountCertificate(target, directory);
  const stored = await kubectlJson<Configuration>(target, [
    "get",
    "validatingwebhookconfiguration",
    "ptah-operator-admission",
  ]);
  const caBundle = stored.webhooks[0]?.clientConfig.caBundle ?? "";
  const [port, health, metrics] = await Promise.all([freePort(), freePort(), freePort()]);
  const webhook = start([
    ...["webhook", "--bind-address=127.0.0.1", `--port=${port}`, `--cert-dir=${directory}`, `--manager=${MANAGER}`],
    ...[`--health-probe-bind-address=127.0.0.1:${health}`, `--metrics-bind-address=127.0.0.1:${metrics}`],
    `--kubeconfig=${await accountKubeconfig(target, "ptah-operator-webhook", directory)}`,
    ...flags,
  ]);
  const ready = async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).ok;
  await waitFor("the webhook is ready", ready, { timeoutMs: 20_000 });
  await applyObjects(target, aimedAt(shipped, port, caBundle));
  return {
    directory,
    webhook,
    health,
    caBundle,
    stop: async () => {
      await tryKubectl(target, [
        ...["delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "--ignore-not-found"],
        ...[URL_CONFIGURATION, "ptah-operator-admission"],
      ]);
      webhook.process.kill("SIGTERM");
      await webhook.ended();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
