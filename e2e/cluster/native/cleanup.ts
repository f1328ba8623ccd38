/**
 * Undoes a cluster: its containers, their shims, mounts, network namespaces, packet rules, bridge and control groups.
 * Works from what is found on the machine, so that it also cleans after a crash of everything.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { runCommand } from "../command.ts";
import { LIMITS } from "../limits.ts";
import { imagesFile } from "../paths.ts";
import { waitFor } from "../wait.ts";
import { mountsUnder, networkNamespaceOf } from "./leftovers.ts";
import { removeBridge, removePacketRules } from "./network.ts";
import { commandLine, recordedNames, signal, startTicks, stopProcess } from "./processes.ts";
import { type Layout, NETWORK } from "./settings.ts";

/** Whoever makes work for the others ends first: kubelet before containerd, everything before the API server. */
const STOP_ORDER = [
  "coredns",
  "kube-proxy",
  "kubelet",
  "kube-scheduler",
  "kube-controller-manager",
  "containerd",
  "kube-apiserver",
  "etcd",
];

/** Ends everything of the cluster and removes its state except logs. Safe on a clean machine, and to repeat. */
export async function removeCluster(layout: Layout, hasNode: boolean): Promise<void> {
  await stopRecorded(layout);
  if (hasNode) {
    const namespaces = sandboxNamespaces(layout);
    await killContainers(layout);
    await unmountAll(layout.stateDir);
    await removeNamespaces(namespaces);
    await removePacketRules();
    await removeBridge();
    removeControlGroups();
    removeNetworkResults();
    removeLogLinks(layout);
  }
  assertNothingMounted(layout.stateDir);
  const volatile = [layout.pki, layout.config, layout.run, layout.etcd, layout.kubelet, layout.podLogs];
  const node = [join(layout.stateDir, "containerd"), join(layout.stateDir, "cni")];
  // Who reads these next must not take a cluster that is gone for one that is there.
  const handed = [layout.kubeconfig, imagesFile(layout.stateDir)];
  for (const path of [...volatile, ...node, ...handed]) rmSync(path, { recursive: true, force: true });
}

/** Whether a former run left a part of a node behind. */
export function hasNodeLeftovers(layout: Layout): boolean {
  return existsSync(join(layout.stateDir, "containerd"));
}

async function stopRecorded(layout: Layout): Promise<void> {
  const recorded = recordedNames(layout);
  const known = STOP_ORDER.filter((name) => recorded.includes(name));
  for (const name of [...known, ...recorded.filter((other) => !STOP_ORDER.includes(other))]) {
    await stopProcess(layout, name);
  }
}

/** Shims name our socket in their command line; a container's first process lives in a control group with its id. */
async function killContainers(layout: Layout): Promise<void> {
  const shims = processIds().filter((pid) => isOurShim(commandLine(pid), layout.containerdSocket));
  const ids = new Set(taskDirectories(layout).map((directory) => basename(directory)));
  const inContainers = processIds().filter((pid) => controlGroupNames(pid).some((name) => ids.has(name)));
  const doomed = [...shims, ...inContainers].map((pid) => ({ pid, since: startTicks(pid) }));
  for (const { pid } of doomed) signal(pid, "SIGKILL");
  const gone = () => doomed.every(({ pid, since }) => since === undefined || startTicks(pid) !== since);
  await waitFor("the end of the containers", gone, { timeoutMs: LIMITS.killMs, pollMs: 25 });
}

function isOurShim(command: readonly string[], socket: string): boolean {
  return (command[0] ?? "").includes("containerd-shim") && command.includes(socket);
}

function processIds(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);
}

function controlGroupNames(pid: number): string[] {
  try {
    const lines = readFileSync(`/proc/${pid}/cgroup`, "utf8").trim().split("\n");
    return lines.map((line) => basename(line));
  } catch {
    return [];
  }
}

function taskDirectories(layout: Layout): string[] {
  const parent = join(layout.containerdState, "io.containerd.runtime.v2.task", "k8s.io");
  return existsSync(parent) ? readdirSync(parent).map((id) => join(parent, id)) : [];
}

function sandboxNamespaces(layout: Layout): string[] {
  const paths = taskDirectories(layout).flatMap((directory) => {
    try {
      return networkNamespaceOf(readFileSync(join(directory, "config.json"), "utf8")) ?? [];
    } catch {
      return [];
    }
  });
  // A host-network Pod runs in the node's own namespace, named by process: only named ones were made for Pods.
  return [...new Set(paths)].filter((path) => basename(path).startsWith("cni-"));
}

/** Removing the namespace removes the Pod's end of its veth pair, and so the pair. */
async function removeNamespaces(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await runCommand("umount", ["--lazy", path]);
    rmSync(path, { force: true });
  }
}

async function unmountAll(directory: string): Promise<void> {
  for (let round = 0; round < LIMITS.unmountRounds; round += 1) {
    const points = mountsUnder(readFileSync("/proc/self/mountinfo", "utf8"), directory);
    if (points.length === 0) return;
    await runCommand("umount", ["--lazy", ...points]);
  }
}

/** Deleting through a mount would delete what is mounted: refuse instead. */
function assertNothingMounted(directory: string): void {
  const points = mountsUnder(readFileSync("/proc/self/mountinfo", "utf8"), directory);
  if (points.length > 0) {
    throw new Error(`still mounted under the cluster's directory, unmount by hand: ${points.join(", ")}`);
  }
}

/** The kubelet's groups under every controller; a group that still holds a process stays, and is reused. */
function removeControlGroups(): void {
  const root = "/sys/fs/cgroup";
  if (!existsSync(root)) return;
  for (const name of ["", ...readdirSync(root)]) removeGroup(join(root, name, "kubepods"));
}

function removeGroup(path: string): void {
  if (!existsSync(path)) return;
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeGroup(join(path, entry.name));
    }
    rmdirSync(path);
  } catch {
    // Still in use: the next node takes it over.
  }
}

function removeNetworkResults(): void {
  const directory = "/var/lib/cni/results";
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    if (name.startsWith(`${NETWORK.cniName}-`)) rmSync(join(directory, name), { force: true });
  }
}

/** The kubelet links every container's log from a directory of the system. */
function removeLogLinks(layout: Layout): void {
  const directory = "/var/log/containers";
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isSymbolicLink() && readlinkSync(path).startsWith(`${layout.podLogs}/`)) rmSync(path, { force: true });
  }
}
