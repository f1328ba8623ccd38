import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { mustRun, runCommand } from "../command.ts";
import { LIMITS } from "../limits.ts";
import type { ClusterProvider, ClusterStatus, ImageArchive, ProviderContext, UpOptions } from "../provider.ts";
import { detectionPlan, downPlan, kubeletPlan, loadPlan, type PlannedCommand, statusPlan, upPlan } from "./plan.ts";

/** A cluster in Docker containers, for machines whose Docker can obtain the node image. */
export function createKindProvider({ stateDir, progress }: ProviderContext): ClusterProvider {
  const kubeconfig = join(stateDir, "kubeconfig");
  const run = async (plan: readonly PlannedCommand[]) => {
    for (const { program, args, what } of plan) {
      await progress.step(`kind: ${what}`, () => mustRun(program, args, { timeoutMs: LIMITS.goBuildMs }));
    }
  };
  const status = async (): Promise<ClusterStatus> => {
    const [look] = statusPlan(kubeconfig);
    if (!look || !existsSync(kubeconfig))
      return { healthy: false, parts: [{ name: "kind", running: false, detail: "not created" }] };
    const { code, stdout, stderr } = await runCommand(look.program, look.args);
    const detail = (stdout || stderr).trim();
    return { healthy: code === 0, parts: [{ name: look.what, running: code === 0, detail }] };
  };
  return {
    name: "kind",
    kubeconfig,
    kubectl: "kubectl",
    status,
    async up(options: UpOptions) {
      if (options.apiOnly) throw new Error("kind cannot run an API server alone: use PROVIDER=native");
      if ((await status()).healthy) return progress.note("kind: already healthy");
      mkdirSync(stateDir, { recursive: true });
      await run(downPlan(kubeconfig));
      await run(upPlan(kubeconfig));
    },
    down: () => run(downPlan(kubeconfig)),
    loadImages: (images: readonly ImageArchive[]) => run(loadPlan(images)),
    setKubelet: (running) => run(kubeletPlan(running)),
    async prepare() {},
  };
}

/** Whether this machine can run kind at all: bounded, because a registry that is not there answers by silence. */
export async function canRunKind(): Promise<boolean> {
  const deadline = performance.now() + LIMITS.kindDetectionMs;
  if (!(await succeeds("kind", ["version"], deadline))) return false;
  for (const { program, args } of detectionPlan()) {
    if (await succeeds(program, args, deadline)) return true;
  }
  return false;
}

async function succeeds(program: string, args: readonly string[], deadline: number): Promise<boolean> {
  const timeoutMs = deadline - performance.now();
  if (timeoutMs <= 0) return false;
  try {
    return (await runCommand(program, args, { timeoutMs })).code === 0;
  } catch {
    return false;
  }
}
