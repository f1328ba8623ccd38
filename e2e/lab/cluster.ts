import { openCluster, provideImages } from "../cluster/open.ts";
import { createProgress } from "../cluster/progress.ts";

/** Brings the cluster up (or finds it healthy) and loads this tree's images; says what it is doing on standard error. */
export async function ensureCluster(): Promise<void> {
  const progress = createProgress();
  const cluster = await openCluster({ progress });
  await cluster.up({});
  await provideImages(cluster, progress);
}

export async function removeCluster(): Promise<void> {
  const cluster = await openCluster({ progress: createProgress() });
  await cluster.down();
}
