import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root: everything else is named from it. */
export const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Where built programs and root file systems are kept between runs (PTAH_CACHE_DIR; by default .cache). */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return resolve(repositoryRoot, env["PTAH_CACHE_DIR"] || ".cache");
}

/**
 * Where one running cluster keeps all its state (PTAH_CLUSTER_DIR; by default `cluster` in the repository's .cache,
 * `cluster-api` for an API server alone, so that both can run side by side).
 */
export function clusterDir(apiOnly: boolean, env: NodeJS.ProcessEnv = process.env): string {
  const named = env["PTAH_CLUSTER_DIR"];
  if (named) return resolve(repositoryRoot, named);
  return join(repositoryRoot, ".cache", apiOnly ? "cluster-api" : "cluster");
}

/** The file that names every loaded image by digest; scenarios and the demo read it. */
export function imagesFile(stateDir: string): string {
  return join(stateDir, "images.json");
}

/** The file that names the server in every loaded image, with its version. */
export function versionsFile(stateDir: string): string {
  return join(stateDir, "versions.json");
}
