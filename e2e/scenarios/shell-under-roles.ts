/** The manager's own reader and performer, as its ServiceAccount and under the roles of the manifests; no decision takes part. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { connect } from "../../kube/index.ts";
import { Caches } from "../../manager/caches.ts";
import { STATE_VERSION } from "../../manager/contract.ts";
import { Memories } from "../../manager/memory.ts";
import { type Effect, perform } from "../../manager/perform/perform.ts";
import { realWorld } from "../../manager/ports.ts";
import { Results } from "../../manager/results.ts";
import { Reader, type Reading } from "../../manager/view/reader.ts";
import { DEFAULT_ADMISSION_FLAGS } from "../../workload/envelope.ts";
import { type KubectlTarget, kubectl, kubectlJson } from "../cluster/kubectl.ts";
import { configuration } from "./manager-shell.ts";

const BASE = join(import.meta.dir, "../../manifests/base");
const KINDS = new Set([
  "CustomResourceDefinition",
  "Namespace",
  "ServiceAccount",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
]);

/** Definitions and roles as the manifests have them. */
export async function applyRoles(target: KubectlTarget): Promise<void> {
  const rendered = parseAllDocuments(await kubectl(target, ["kustomize", BASE])).map(
    (d) => d.toJS() as { kind: string },
  );
  const items = rendered.filter((manifest) => KINDS.has(manifest.kind));
  await kubectl(target, ["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
}

export interface Shell {
  readonly caches: Caches;
  readonly memories: Memories;
  readonly reader: Reader;
  readonly act: (reading: Reading, move: Effect) => Promise<string>;
  stop(): void;
}

/** Ends once the caches are filled. */
export async function openShell(target: KubectlTarget): Promise<Shell> {
  const memories = new Memories();
  const stopper = new AbortController();
  const world = realWorld();
  const token = (await kubectl(target, ["create", "token", "ptah-operator-manager", "-n", "ptah-system"])).trim();
  const directory = mkdtempSync(join(tmpdir(), "ptah-manager-"));
  const kubeconfig = join(directory, "kubeconfig");
  const admin = await kubectlJson<{ clusters: { cluster: object }[] }>(target, ["config", "view", "--raw"]);
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "m",
      clusters: [{ name: "c", cluster: admin.clusters[0]?.cluster }],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "m", context: { cluster: "c", user: "u", namespace: "ptah-system" } }],
    }),
  );
  const { client } = await connect({ kubeconfig }, {}, "ptah-operator/test");
  const caches = new Caches({
    namespace: undefined,
    stateVersion: STATE_VERSION,
    wake: () => undefined,
    onError: (kind, error) => process.stderr.write(`${kind}: ${error.code} ${error.message}\n`),
    onUnreadable: (kind, key, message) => process.stderr.write(`${kind} ${key}: ${message}\n`),
  });
  caches.run(client, stopper.signal, world).catch(() => undefined);
  await Promise.all(caches.all.map(({ store }) => store.ready));
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const reader = new Reader({
    client,
    caches,
    memories,
    results: new Results(
      client,
      () => undefined,
      () => world.wallMs(),
      async () => undefined,
    ),
    clock: world,
    configuration,
    admission: DEFAULT_ADMISSION_FLAGS,
    coordinationNamespace: "ptah-system",
    fresh: () => world.fresh(),
  });
  const act = (reading: Reading, move: Effect) =>
    perform({ client, caches, memories, clock: world, log, coordinationNamespace: "ptah-system" }, reading, move);
  const stop = (): void => {
    stopper.abort();
    rmSync(directory, { recursive: true, force: true });
  };
  return { caches, memories, reader, act, stop };
}
