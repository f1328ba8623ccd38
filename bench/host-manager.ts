/** The manager as a process of this machine, beside an API server alone, under its own account's rights. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubectlTarget } from "../e2e/cluster/kubectl.ts";
import { openCluster } from "../e2e/cluster/open.ts";
import { cacheDir } from "../e2e/cluster/paths.ts";
import { accountKubeconfig, freePort, installManifests, SYSTEM } from "../e2e/scenarios/admission.ts";
import { connect, type KubeClient } from "../kube/index.ts";
import type { Bench } from "./bench.ts";
import { limits } from "./limits.ts";

/** Pinned as an image must be; nothing is ever pulled, because nothing here runs a Pod. */
const IMAGE = `registry.example/ptah@sha256:${"1".repeat(64)}`;

export interface ApiServer {
  readonly target: KubectlTarget;
  readonly client: KubeClient;
  /** Of the manager's account. */
  readonly managerKubeconfig: string;
}

/** Brings up an API server of the benchmarks' own with the CRDs and accounts, and takes it down after. */
export async function withApiServer<T>(bench: Bench, work: (api: ApiServer) => Promise<T>): Promise<T> {
  const stateDir = join(cacheDir(), "bench-api");
  const cluster = await openCluster({ progress: bench.progress, apiOnly: true, stateDir });
  const directory = mkdtempSync(join(tmpdir(), "ptah-bench-"));
  try {
    await cluster.up({ apiOnly: true });
    const target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
    await installManifests(target);
    const managerKubeconfig = await accountKubeconfig(target, "ptah-operator-manager", directory);
    const { client } = await connect({ kubeconfig: cluster.kubeconfig }, {}, "ptah-bench");
    return await work({ target, client, managerKubeconfig });
  } finally {
    await cluster.down();
    rmSync(directory, { recursive: true, force: true });
  }
}

export interface HostManager {
  readonly pid: number;
  /** From the start of the process to the first 200 of /readyz. */
  readonly readyMs: number;
  stop(): Promise<void>;
}

/** Starts `ptah manager` and waits until it says that it is ready. */
export async function startManager(bench: Bench, api: ApiServer): Promise<HostManager> {
  const [health, metrics] = await Promise.all([freePort(), freePort()]);
  const args = [
    ...["manager", `--executor-image=${IMAGE}`, `--runner-image=${IMAGE}`, `--controller-image=${IMAGE}`],
    ...[`--kubeconfig=${api.managerKubeconfig}`, `--coordination-namespace=${SYSTEM}`, "--log-level=warn"],
    `--health-probe-bind-address=127.0.0.1:${health}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
  ];
  const began = performance.now();
  const child = spawn(bench.ptah, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    await answers(`http://127.0.0.1:${health}/readyz`, child, began);
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}: ${said.trim()}`);
  }
  const readyMs = performance.now() - began;
  if (child.pid === undefined) throw new Error("the manager was not started");
  return { pid: child.pid, readyMs, stop };
}

async function answers(url: string, child: ChildProcess, began: number): Promise<void> {
  for (;;) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    if (child.exitCode !== null) throw new Error(`the manager ended with ${child.exitCode} before it was ready`);
    if (performance.now() - began > limits.startMsMax) throw new Error("the manager did not become ready");
    await new Promise((resolve) => setTimeout(resolve, limits.startPollMs));
  }
}
