/** `make lab`: the cluster with this tree's operator installed, left running; prints how to talk to it. */
import { dirname } from "node:path";
import { serverVersions } from "../cluster/open.ts";
import { repositoryRoot } from "../cluster/paths.ts";
import { ensureCluster } from "./cluster.ts";
import { installOperator } from "./install.ts";
import { openLab } from "./lab.ts";

await ensureCluster();
const lab = await openLab();
await installOperator(lab);
process.stdout.write(`The operator runs. To talk to it:
  export KUBECONFIG=${lab.kubeconfig}
  export PATH=${dirname(lab.kubectlPath)}:${repositoryRoot}/build:$PATH
Database servers (make lab-database ENGINE=postgresql|mariadb|mysql): ${Object.values(serverVersions()).join(", ")}
`);
