import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../command.ts";
import { buildImages } from "../images/build.ts";
import { PAUSE_TAG } from "../images/catalog.ts";
import { LIMITS } from "../limits.ts";
import { cacheDir } from "../paths.ts";
import type { ClusterProvider, ClusterStatus, ImageArchive, ProviderContext, UpOptions } from "../provider.ts";
import { waitFor } from "../wait.ts";
import { callApi, isApiReady, isNodeReady } from "./api.ts";
import { ensureBinaries, PROGRAMS } from "./binaries.ts";
import { hasNodeLeftovers, removeCluster } from "./cleanup.ts";
import * as components from "./components.ts";
import * as config from "./config.ts";
import { loadIntoContainerd } from "./containerd.ts";
import { type Holder, heldSentence, otherHolder } from "./holder.ts";
import { availableMemoryBytes } from "./leftovers.ts";
import { withLock } from "./lock.ts";
import { makeBridge } from "./network.ts";
import { ensureNodePackages } from "./packages.ts";
import { clusterIdentities, createAuthority, issue, serviceAccountKeys } from "./pki.ts";
import { chooseFreePorts, recordedPorts } from "./ports.ts";
import { logTail, type ProcessSpec, recordedNames, runningProcess, startProcess, stopProcess } from "./processes.ts";
import { type Layout, layoutOf, NETWORK, NODE_PORTS } from "./settings.ts";

/**
 * A Kubernetes of plain processes on this machine: the control plane and the kubelet are built from pinned Go modules,
 * containerd and runc are the distribution's. Needs root for a whole node, nothing special for an API server alone.
 */
export function createNativeProvider(context: ProviderContext, apiOnly: boolean): ClusterProvider {
  const { progress } = context;
  const layout = layoutOf(context.stateDir);
  const shape: components.ClusterShape = {
    layout,
    ports: apiOnly ? recordedPorts(layout) : NODE_PORTS,
    apiAddress: apiOnly ? "127.0.0.1" : NETWORK.nodeAddress,
    apiOnly,
  };

  const holder = (): Holder | undefined => (apiOnly ? undefined : otherHolder(layout.bin));
  // What a node leaves on the machine is told apart by fixed names, so that of another's living one must not be taken away.
  const remove = () => removeCluster(layout, !apiOnly && holder() === undefined);

  const status = async (): Promise<ClusterStatus> => {
    const recorded = recordedNames(layout);
    const required = components.expectedProcesses(apiOnly, false);
    const names = [...new Set([...required, ...recorded])];
    const parts = names.map((name) => {
      const process = runningProcess(layout, name);
      return { name, running: process !== undefined, detail: process ? `pid ${process.pid}` : "not running" };
    });
    const alive = parts.every(({ running }) => running);
    const ready = alive && (await isReady(shape));
    parts.push({ name: apiOnly ? "API server ready" : "node ready", running: ready, detail: ready ? "yes" : "no" });
    const other = holder();
    if (other !== undefined) parts.push({ name: "addresses", running: false, detail: heldSentence(other) });
    return { healthy: ready, parts };
  };

  const up = async (options: UpOptions): Promise<void> => {
    if ((await status()).healthy && hasWanted(shape, options)) return progress.note("cluster: already healthy");
    const other = holder();
    if (other !== undefined) throw new Error(heldSentence(other));
    if (!apiOnly) await ensureNodePackages(progress);
    const binaries = await ensureBinaries(cacheDir(), progress);
    if (recordedNames(layout).length > 0 || hasNodeLeftovers(layout)) {
      await progress.step("cluster: clean what a former run left", remove);
    }
    prepareDirectories(shape, binaries);
    if (apiOnly) shape.ports = await chooseFreePorts(layout);
    const files = await writeIdentities(shape);
    writeConfiguration(shape, files);
    await progress.step("etcd and API server", () => startControlPlane(shape));
    if (!apiOnly || options.controllers) await startProcess(layout, components.controllerManager(shape));
    if (!apiOnly) await startNode(shape, context);
  };

  return {
    name: "native",
    kubeconfig: layout.kubeconfig,
    kubectl: join(layout.bin, "kubectl"),
    status,
    up: (options) => withLock(context.stateDir, () => up(options)),
    down: () => withLock(context.stateDir, () => progress.step("cluster down", remove)),
    loadImages: (images: readonly ImageArchive[]) => loadIntoContainerd(layout, images, progress),
    async setKubelet(running) {
      if (running && runningProcess(layout, "kubelet")) return;
      await (running ? startProcess(layout, components.kubelet(shape)) : stopProcess(layout, "kubelet"));
    },
    async prepare() {
      if (!apiOnly) await ensureNodePackages(progress);
      await ensureBinaries(cacheDir(), progress);
    },
  };
}

function hasWanted({ layout, apiOnly }: components.ClusterShape, options: UpOptions): boolean {
  const wanted = components.expectedProcesses(apiOnly, options.controllers ?? false);
  return wanted.every((name) => runningProcess(layout, name) !== undefined);
}

async function isReady({ layout, ports, apiAddress, apiOnly }: components.ClusterShape): Promise<boolean> {
  if (!(await isApiReady(layout, apiAddress, ports.api))) return false;
  return apiOnly || isNodeReady(layout, apiAddress, ports.api, NETWORK.nodeName);
}

function prepareDirectories({ layout }: components.ClusterShape, binaries: string): void {
  const { bin, pki, config: configuration, logs, run, podLogs, cniConfig } = layout;
  rmSync(logs, { recursive: true, force: true });
  rmSync(bin, { recursive: true, force: true });
  for (const path of [bin, configuration, logs, run, podLogs, cniConfig]) mkdirSync(path, { recursive: true });
  mkdirSync(pki, { recursive: true, mode: 0o700 });
  for (const name of PROGRAMS) symlinkSync(join(binaries, name), join(bin, name));
}

type Kubeconfigs = Record<string, string>;

/** Makes the authority and all certificates anew, and returns each client's kubeconfig. */
async function writeIdentities({ layout, ports, apiAddress }: components.ClusterShape): Promise<Kubeconfigs> {
  const now = new Date();
  const write = (name: string, text: string) => writeFileSync(join(layout.pki, name), text, { mode: 0o600 });
  const authority = await createAuthority("ptah test cluster", now);
  write("ca.crt", authority.certificate);
  write("ca.key", authority.key);
  const serviceAccounts = serviceAccountKeys();
  write("sa.pub", serviceAccounts.publicKey);
  write("sa.key", serviceAccounts.privateKey);
  const server = `https://${apiAddress}:${ports.api}`;
  const kubeconfigs: Kubeconfigs = {};
  for (const [name, request] of Object.entries(clusterIdentities(apiAddress))) {
    const identity = await issue(authority, request, now);
    write(`${name}.crt`, identity.certificate);
    write(`${name}.key`, identity.key);
    if (request.usage === "client") {
      kubeconfigs[name] = config.kubeconfig(server, authority.certificate, request.commonName, identity);
    }
  }
  return kubeconfigs;
}

function writeConfiguration({ layout, ports, apiOnly }: components.ClusterShape, kubeconfigs: Kubeconfigs): void {
  const write = (name: string, text: string) => writeFileSync(join(layout.config, name), text, { mode: 0o600 });
  for (const [name, text] of Object.entries(kubeconfigs)) write(`${name}.kubeconfig`, text);
  writeFileSync(layout.kubeconfig, kubeconfigs["admin"] ?? "", { mode: 0o600 });
  if (apiOnly) return;
  write("containerd.toml", config.containerdConfig(layout, PAUSE_TAG));
  write("kubelet.json", config.kubeletConfig(layout, ports));
  write("Corefile", config.corefile(layout, ports));
  write("resolv.conf", config.resolvConf());
  write("dns-access.json", config.dnsAccess());
  writeFileSync(join(layout.cniConfig, "10-ptah.conflist"), config.cniConfig(layout));
}

async function startControlPlane(shape: components.ClusterShape): Promise<void> {
  const { layout, ports, apiAddress, apiOnly } = shape;
  if (!apiOnly) await makeBridge();
  await startProcess(layout, components.etcd(shape));
  await startProcess(layout, components.apiserver(shape));
  await waitFor("a ready API server", () => isApiReady(layout, apiAddress, ports.api), {
    timeoutMs: LIMITS.apiReadyMs,
    onPoll: () => mustLive(shape, ["etcd", "kube-apiserver"]),
  });
}

async function startNode(shape: components.ClusterShape, { progress }: ProviderContext): Promise<void> {
  const { layout, ports, apiAddress } = shape;
  await mountImageStore(layout);
  const parts: ProcessSpec[] = [components.scheduler(shape), components.containerd(shape)];
  for (const part of parts) await startProcess(layout, part);
  const pause = await buildImages(["pause"], { cacheDir: cacheDir(), progress });
  await progress.step("containerd with its pause image", async () => {
    await waitFor("containerd's socket", () => existsSync(layout.containerdSocket), {
      timeoutMs: LIMITS.socketReadyMs,
      onPoll: () => mustLive(shape, ["containerd"]),
    });
    await loadIntoContainerd(layout, [...pause.values()], progress);
  });
  await progress.step("kubelet, proxy and DNS", async () => {
    const access = join(layout.config, "dns-access.json");
    await mustRun(join(layout.bin, "kubectl"), ["--kubeconfig", layout.kubeconfig, "apply", "-f", access]);
    for (const part of [components.kubelet(shape), components.kubeProxy(shape), components.clusterDns(shape)]) {
      await startProcess(layout, part);
    }
    await waitFor("a ready node", () => isReady(shape), {
      timeoutMs: LIMITS.nodeReadyMs,
      onPoll: () => mustLive(shape, components.expectedProcesses(false, true)),
    });
    await waitFor("a default service account", () => hasDefaultAccount(shape), { timeoutMs: LIMITS.nodeReadyMs });
    await waitFor("the cluster's DNS", () => answers(`http://127.0.0.1:${ports.dnsReady}/ready`), {
      timeoutMs: LIMITS.nodeReadyMs,
      onPoll: () => mustLive(shape, ["coredns"]),
    });
  });
  progress.note(`node ${NETWORK.nodeName} at ${apiAddress} is ready`);
}

/**
 * Unpacking and deleting images waits for the disk, and takes tens of seconds on a busy one. Nothing in the store is
 * worth keeping, so it lives in memory where there is plenty; the file system ends with the cluster's mounts.
 */
async function mountImageStore({ containerdRoot }: Layout): Promise<void> {
  mkdirSync(containerdRoot, { recursive: true });
  if (availableMemoryBytes(readFileSync("/proc/meminfo", "utf8")) < LIMITS.memoryForImageStoreBytes) return;
  await mustRun("mount", [
    "-t",
    "tmpfs",
    "-o",
    `size=${LIMITS.imageStoreBytes},mode=0711`,
    "ptah-images",
    containerdRoot,
  ]);
}

/** A Pod is refused until its namespace has this account, which the controller manager makes. */
async function hasDefaultAccount({ layout, ports, apiAddress }: components.ClusterShape): Promise<boolean> {
  const path = "/api/v1/namespaces/default/serviceaccounts/default";
  return (await callApi(layout, apiAddress, ports.api, path)).status === 200;
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(url, { signal: AbortSignal.timeout(LIMITS.probeMs) })).ok;
}

/** Waiting for a process that has ended would only hide why: fail at once with the end of its log. */
function mustLive({ layout }: components.ClusterShape, names: readonly string[]): void {
  for (const name of names) {
    if (runningProcess(layout, name)) continue;
    throw new Error(
      `${name} ended unexpectedly; the end of ${join(layout.logs, `${name}.log`)}:\n${logTail(layout, name)}`,
    );
  }
}
