import { type CommandResult, mustRun, runCommand } from "./command.ts";
import { LIMITS } from "./limits.ts";

/** Where a running cluster's kubectl and administrator's kubeconfig are; every provider has both. */
export interface KubectlTarget {
  kubectl: string;
  kubeconfig: string;
}

export interface KubectlOptions {
  /** Standard input, for `apply -f -`. */
  input?: string;
  timeoutMs?: number;
}

/** Runs kubectl against the cluster, whatever its exit code. @throws Error when it runs past its time. */
export function tryKubectl(
  target: KubectlTarget,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<CommandResult> {
  return runCommand(target.kubectl, args, settings(target, options));
}

/** Runs kubectl, which must succeed, and returns its standard output. */
export function kubectl(target: KubectlTarget, args: readonly string[], options: KubectlOptions = {}): Promise<string> {
  return mustRun(target.kubectl, args, settings(target, options));
}

/** Reads objects as JSON: `kubectlJson(target, ["get", "pods", "-n", "demo"])`. */
export async function kubectlJson<T>(
  target: KubectlTarget,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<T> {
  return JSON.parse(await kubectl(target, [...args, "--output=json"], options)) as T;
}

/** Applies documents given as plain objects. */
export function applyObjects(
  target: KubectlTarget,
  items: readonly object[],
  options: KubectlOptions = {},
): Promise<string> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  return kubectl(target, ["apply", "-f", "-"], { ...options, input });
}

/** The user's own kubeconfig never takes part: a wrong cluster is worse than none. */
function settings({ kubeconfig }: KubectlTarget, options: KubectlOptions) {
  return {
    ...options,
    timeoutMs: options.timeoutMs ?? LIMITS.kubectlMs,
    env: { ...process.env, KUBECONFIG: kubeconfig },
  };
}
