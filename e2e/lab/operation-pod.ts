/** The Pod of an Apply while it runs, and the processes in it: this machine is the node. */
import { readdirSync, readFileSync } from "node:fs";
import { JOB_NAME_LABEL } from "../../workload/digest.ts";
import { waitFor } from "../cluster/wait.ts";
import { type KubeObject, LAB_LIMITS, type Lab } from "./lab.ts";
import { readSubject, type Subject } from "./subject.ts";

/** The one Pod of the Apply that is under way. */
export function applyPod(lab: Lab, at: Subject): Promise<KubeObject> {
  return waitFor(
    `the Pod of an Apply of ${at.name}`,
    async () => {
      const operation = (await readSubject(lab, at))?.status?.activeOperation;
      if (operation?.type !== "Apply") return undefined;
      const pods = await lab.list("pod", at.namespace, `${JOB_NAME_LABEL}=${operation.jobName}`);
      return pods.length === 1 ? pods[0] : undefined;
    },
    { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs },
  );
}

/** Ends the executor of a Pod at once, and nothing else of it: the runner above it lives on. */
export function killExecutor(pod: KubeObject): void {
  const found = readdirSync("/proc").filter(
    (entry) => /^\d+$/.test(entry) && isExecutorOf(entry, pod.metadata.uid ?? "-"),
  );
  if (found.length !== 1) throw new Error(`${found.length} executors in ${pod.metadata.name}`);
  process.kill(Number(found[0]), "SIGKILL");
}

/** By its command line, and by the Pod's UID in the name of its cgroup. */
function isExecutorOf(pid: string, podUid: string): boolean {
  try {
    const [, ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    const cgroup = readFileSync(`/proc/${pid}/cgroup`, "utf8").replaceAll("_", "-");
    return args[0] === "migrations" && args[1] === "up" && cgroup.includes(podUid);
  } catch {
    return false;
  }
}
