import { openCluster, provideImages } from "../cluster/open.ts";
import { createProgress } from "../cluster/progress.ts";

/** A cluster that a run uses, and how it is left. */
export interface UsedCluster {
  /** It ran before this run, so that somebody may still need what is on it. */
  readonly ranBefore: boolean;
}

/** Brings the cluster up (or finds it healthy) and loads this tree's images; says what it is doing on standard error. */
export async function ensureCluster(): Promise<UsedCluster> {
  const progress = createProgress();
  const cluster = await openCluster({ progress });
  const { healthy: ranBefore } = await cluster.status();
  await cluster.up({});
  await provideImages(cluster, progress);
  return { ranBefore };
}

/**
 * Ends the cluster that a run brought up, and the API server alone that some scenarios started beside it. One that ran before
 * stays: databases on it may be somebody's. So does every one with KEEP=1.
 * @returns whether the cluster stays
 */
export async function leaveCluster({ ranBefore }: UsedCluster): Promise<boolean> {
  if (process.env["KEEP"] === "1") return true;
  const progress = createProgress();
  await (await openCluster({ progress, apiOnly: true })).down();
  if (ranBefore) process.stdout.write("\nThe cluster ran before and stays; make cluster-down ends it.\n");
  else await (await openCluster({ progress })).down();
  return ranBefore;
}
