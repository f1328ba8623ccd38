/** `make demo`: brings up a real cluster, installs the operator and plays the story; exits 1 when a claim does not hold. */

import { runAs } from "../e2e/cluster/command-line.ts";
import { shellLines } from "../e2e/cluster/shell.ts";
import { ensureCluster, leaveCluster } from "../e2e/lab/cluster.ts";
import { startDatabase } from "../e2e/lab/database.ts";
import { installOperator } from "../e2e/lab/install.ts";
import { freshNamespace, openLab } from "../e2e/lab/lab.ts";
import { ledgerStory } from "./ledger.ts";
import { play, storyEnvironment, type Verdict } from "./step.ts";
import { story } from "./story.ts";

const NAMESPACE = "ptah-demo";

async function main(): Promise<number> {
  const began = performance.now();
  const elapsed = () => `${((performance.now() - began) / 1000).toFixed(0)} s`;
  const cluster = await ensureCluster();
  const lab = await openLab();
  await installOperator(lab);
  await freshNamespace(lab, NAMESPACE);
  const [database, ledger] = await Promise.all([
    startDatabase(lab, { namespace: NAMESPACE }),
    startDatabase(lab, { namespace: NAMESPACE, name: "ledger", engine: "mysql" }),
  ]);
  process.stdout.write(`\nThe lab is ready after ${elapsed()}. The story:\n`);
  const verdicts: Verdict[] = [];
  for (const [index, step] of [...story(lab, database), ...ledgerStory(lab, ledger)].entries()) {
    verdicts.push(...(await play(step, index + 1, storyEnvironment(lab, NAMESPACE))));
    if (verdicts.some((v) => !v.held)) break;
  }
  const broken = verdicts.filter((v) => !v.held);
  const outcome = broken.length === 0 ? "every claim held" : `${broken.length} did not hold`;
  process.stdout.write(`\n${verdicts.length} claims, ${outcome}, ${elapsed()}\n`);
  if (await leaveCluster(cluster)) {
    const lines = shellLines({ kubeconfig: lab.kubeconfig, kubectl: lab.kubectlPath });
    process.stdout.write(
      `The story stays in namespace ${NAMESPACE} (end the cluster: make cluster-down). To talk to it:\n${lines}\n`,
    );
  }
  return broken.length === 0 ? 0 : 1;
}

await runAs("demo", main);
// What a client of the cluster still holds open keeps nobody waiting.
process.exit();
