import { annotation } from "../../crds/names.ts";
import { connect, kindOf, orAbsent, StoredShape } from "../../kube/index.ts";
import { type CommandOptions, type CommandResult, runCommand } from "../cluster/command.ts";
import { imageReferences, openCluster } from "../cluster/open.ts";
import { repositoryRoot } from "../cluster/paths.ts";
import { createProgress } from "../cluster/progress.ts";
import { waitFor } from "../cluster/wait.ts";

/** Any object of the API as far as a scenario looks into it. */
export interface KubeObject {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a scenario reads whatever field it is about
  readonly spec?: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same
  readonly status?: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same
  readonly data?: any;
}

/** Bounds of what scenarios wait for; each names its unit. */
export const LAB_LIMITS = {
  commandMs: 60_000,
  rolloutMs: 120_000,
  databaseMs: 300_000,
  convergenceMs: 300_000,
  /** Before and after a scenario's tests: an empty namespace and its servers. */
  setUpMs: 600_000,
  pollMs: 1_000,
} as const;

/** A running cluster with the operator's parts at hand: what scenarios, the demo and the benchmarks stand on. */
export interface Lab {
  /** Digest-pinned references of the images built for this cluster, by short name. */
  readonly images: Readonly<Record<string, string>>;
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Runs kubectl; the result says how it ended, whatever the code. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** Runs kubectl and expects success; returns what it printed. */
  must(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs `kubectl-ptah`. */
  ptah(args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** Creates or updates objects given as plain data. */
  apply(...objects: object[]): Promise<void>;
  /** One object, or undefined when it is not there. */
  get(kind: string, name: string, namespace?: string): Promise<KubeObject | undefined>;
  list(kind: string, namespace?: string, selector?: string): Promise<KubeObject[]>;
}

const ownKind = (kind: string) =>
  kindOf(
    { group: "operator.ptah.run", version: "v1alpha1", plural: `${kind.toLowerCase()}s`, kind, namespaced: true },
    StoredShape,
  );

/** What scenarios poll: read without a process per look, which is what two cores would otherwise be busy with. */
const POLLED = {
  ptahschema: ownKind("PtahSchema"),
  ptahschemaplan: ownKind("PtahSchemaPlan"),
  ptahschemaapproval: ownKind("PtahSchemaApproval"),
  ptahmigration: ownKind("PtahMigration"),
  ptahmigrationplan: ownKind("PtahMigrationPlan"),
  ptahmigrationapproval: ownKind("PtahMigrationApproval"),
  ptahmigrationrunacknowledgment: ownKind("PtahMigrationRunAcknowledgment"),
};

/** Opens the lab on the cluster whose state is on disk. @throws when its images were never loaded. */
export async function openLab(): Promise<Lab> {
  const { kubeconfig, kubectl: kubectlPath } = await openCluster({ progress: createProgress() });
  const images = Object.fromEntries(Object.entries(imageReferences()));
  const { client } = await connect({ kubeconfig }, {}, "ptah-lab");
  const environment = { ...process.env, KUBECONFIG: kubeconfig, NO_COLOR: "1" };
  const run = (command: string, args: readonly string[], options: CommandOptions = {}) =>
    runCommand(command, args, { timeoutMs: LAB_LIMITS.commandMs, env: environment, ...options });
  const kubectl: Lab["kubectl"] = (args, options) => run(kubectlPath, args, options);
  const must: Lab["must"] = async (args, options) => {
    const result = await kubectl(args, options);
    if (result.code !== 0) throw new Error(`kubectl ${args.slice(0, 4).join(" ")}: ${result.stderr.trim()}`);
    return result.stdout;
  };
  return {
    images,
    kubeconfig,
    kubectlPath,
    kubectl,
    must,
    ptah: (args, options) => run(`${repositoryRoot}/build/kubectl-ptah`, args, options),
    async apply(...objects) {
      const list = { apiVersion: "v1", kind: "List", items: objects };
      await must(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input: JSON.stringify(list) });
    },
    async get(kind, name, namespace) {
      const polled = Object.entries(POLLED).find(([word]) => word === kind)?.[1];
      if (polled !== undefined && namespace !== undefined) {
        return (await orAbsent(client.get(polled, { namespace, name }))) as KubeObject | undefined;
      }
      const result = await kubectl(["get", kind, name, ...inNamespace(namespace), "-o", "json", "--ignore-not-found"]);
      if (result.code !== 0) throw new Error(`kubectl get ${kind}/${name}: ${result.stderr.trim()}`);
      return result.stdout.trim() === "" ? undefined : (JSON.parse(result.stdout) as KubeObject);
    },
    async list(kind, namespace, selector) {
      const selected = selector === undefined ? [] : ["-l", selector];
      const text = await must(["get", kind, ...inNamespace(namespace), ...selected, "-o", "json"]);
      return (JSON.parse(text) as { items: KubeObject[] }).items;
    },
  };
}

function inNamespace(namespace: string | undefined): string[] {
  return namespace === undefined ? [] : ["-n", namespace];
}

/**
 * Removes a namespace. What a broken-off run left unproved cannot be proved in one that goes away: a person's word ends it, as
 * soon as nobody may still write.
 */
export async function removeNamespace(lab: Lab, name: string): Promise<void> {
  await lab.must(["delete", "namespace", name, "--ignore-not-found", "--wait=false"]);
  const gone = async (): Promise<boolean> => {
    if ((await lab.get("namespace", name)) === undefined) return true;
    for (const { kind, metadata, status } of await lab.list("ptahschema,ptahmigration", name)) {
      const { operationID } = status?.pendingObservation ?? status?.unresolvedRun ?? {};
      if (operationID === undefined || metadata.deletionTimestamp === undefined) continue;
      if (metadata.annotations?.[annotation.settledApply] === operationID) continue;
      const target = `${kind === "PtahMigration" ? "migration" : "schema"}/${metadata.name}`;
      await lab.ptah(["settle", target, "-n", name, "--yes"]);
    }
    return false;
  };
  await waitFor(`namespace ${name} to go`, gone, { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs });
}

/** Makes an empty namespace under restricted Pod security, removing one of that name first. */
export async function freshNamespace(lab: Lab, name: string): Promise<void> {
  await removeNamespace(lab, name);
  await lab.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
  });
  await waitFor(`the default ServiceAccount of ${name}`, () => lab.get("serviceaccount", "default", name), {
    timeoutMs: LAB_LIMITS.rolloutMs,
  });
}
