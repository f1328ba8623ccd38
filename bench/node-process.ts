/** Processes of Pods as this machine sees them: the node is this machine, or a container of it. */
import { readdirSync, readFileSync } from "node:fs";
import { waitFor } from "../e2e/cluster/wait.ts";
import { OPERATOR_NAMESPACE } from "../e2e/lab/install.ts";
import { type KubeClient, kinds } from "../kube/index.ts";
import { limits } from "./limits.ts";

const LEADER_LEASE = "ptah-operator-manager";

/** The process of the manager that leads, once one does. @throws where this account may not see the node's processes */
export function leaderPid(client: KubeClient): Promise<number> {
  return waitFor("a manager that leads", () => findLeader(client), { timeoutMs: limits.leaderMsMax });
}

async function findLeader(client: KubeClient): Promise<number> {
  const lease = await client.get(kinds.Lease, { namespace: OPERATOR_NAMESPACE, name: LEADER_LEASE });
  // The identity is the host name, which in a Pod is the Pod's, and a random part.
  const pod = (lease.spec?.holderIdentity ?? "").replace(/_[^_]*$/, "");
  for (const entry of readdirSync("/proc")) {
    if (/^\d+$/.test(entry) && isManagerOf(Number(entry), pod)) return Number(entry);
  }
  throw new Error(`the process of Pod ${pod} cannot be seen on this machine; root is needed, on the node itself`);
}

function isManagerOf(pid: number, pod: string): boolean {
  try {
    const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    if (!argv[0]?.endsWith("/ptah") || argv[1] !== "manager") return false;
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOSTNAME=${pod}`);
  } catch {
    // It has ended meanwhile, or is another account's.
    return false;
  }
}
