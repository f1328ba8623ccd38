/** `make lab`: the cluster with this tree's operator installed, left running; prints how to talk to it. */
import { runAs } from "../cluster/command-line.ts";
import { serverVersions } from "../cluster/open.ts";
import { shellLines } from "../cluster/shell.ts";
import { ensureCluster } from "./cluster.ts";
import { installOperator } from "./install.ts";
import { openLab } from "./lab.ts";

await runAs("lab", async () => {
  await ensureCluster();
  const lab = await openLab();
  await installOperator(lab);
  process.stdout.write(`The operator runs. To talk to it:
${shellLines({ kubeconfig: lab.kubeconfig, kubectl: lab.kubectlPath })}
Database servers (make lab-database ENGINE=postgresql|mariadb|mysql): ${Object.values(serverVersions()).join(", ")}
`);
  return 0;
});
