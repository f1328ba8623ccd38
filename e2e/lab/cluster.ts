import { openCluster, provideImages } from "../cluster/open.ts";
import { createProgress } from "../cluster/progress.ts";

/** Brings the cluster up (or finds it healthy) and loads this tree's images; says what it is doing on standard error. */
export async function ensureCluster(): Promise<void> {
  const progress = createProgress();
  const cluster = await openCluster({ progress });
  await cluster.up({});
  await provideImages(cluster, progress);
}

/** Ends the whole cluster, and the API server alone that some scenarios started beside it. */
export async function removeCluster(): Promise<void> {
  const progress = createProgress();
  for (const apiOnly of [false, true]) await (await openCluster({ progress, apiOnly })).down();
}
