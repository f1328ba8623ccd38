import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KubectlTarget } from "./kubectl.ts";
import { repositoryRoot } from "./paths.ts";

/**
 * Two lines for a person's shell to paste: the cluster, and a PATH with its kubectl and, where it is built, `ptah` and its
 * plugin for kubectl.
 */
export function shellLines(
  { kubeconfig, kubectl }: Readonly<KubectlTarget>,
  built: string = join(repositoryRoot, "build"),
): string {
  const own = kubectl.includes("/") ? [dirname(kubectl)] : [];
  const ptah = existsSync(join(built, "kubectl-ptah")) ? [built] : [];
  return `export KUBECONFIG="${kubeconfig}"\nexport PATH="${[...own, ...ptah, "$PATH"].join(":")}"`;
}
