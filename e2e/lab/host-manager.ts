/** A manager as a process of this machine, under its own account's rights and for one namespace alone. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../cluster/paths.ts";
import { waitFor } from "../cluster/wait.ts";
import { accountKubeconfig } from "../scenarios/admission.ts";
import { OPERATOR_NAMESPACE } from "./install.ts";
import { LAB_LIMITS, type Lab } from "./lab.ts";

const DEPLOYMENT = "deployment/ptah-operator-manager";
const REPLICAS = 2;

/** Scales a Deployment of the operator and waits until exactly so many of its Pods are there and ready. */
export async function scaleOperator(lab: Lab, component: "manager" | "webhook", replicas: number): Promise<void> {
  const deployment = `deployment/ptah-operator-${component}`;
  await lab.must(["scale", deployment, "-n", OPERATOR_NAMESPACE, `--replicas=${replicas}`]);
  await waitFor(
    `${replicas} Pods of the ${component}`,
    async () => {
      const pods = await lab.list("pod", OPERATOR_NAMESPACE, `app.kubernetes.io/component=${component}`);
      const ready = pods.filter((pod) =>
        pod.status?.conditions?.some(
          (c: { type: string; status: string }) => c.type === "Ready" && c.status === "True",
        ),
      );
      return pods.length === replicas && ready.length === replicas;
    },
    { timeoutMs: LAB_LIMITS.rolloutMs, pollMs: LAB_LIMITS.pollMs },
  );
}

export interface HostManagers {
  /** Starts one; the one before must have ended. Nothing is waited for. */
  start(): void;
  /** Ends the running one at once, as a lost machine would. */
  kill(): Promise<void>;
  /** What all of them wrote to their logs. */
  said(): string;
  /** Ends the running one and gives the installed manager its place back. */
  close(): Promise<void>;
}

export interface HostManagerOptions {
  readonly namespace: string;
  /** Image for the operations' Pods; by default the one that is installed. */
  readonly operationImage?: string;
}

/** Takes the installed manager away and makes ready to run managers here instead, without leader election. */
export async function takeOver(lab: Lab, options: HostManagerOptions): Promise<HostManagers> {
  const directory = mkdtempSync(join(tmpdir(), "ptah-host-manager-"));
  const target = { kubectl: lab.kubectlPath, kubeconfig: lab.kubeconfig };
  const kubeconfig = await accountKubeconfig(target, "ptah-operator-manager", directory);
  const arguments_ = await installedArguments(lab);
  await scaleOperator(lab, "manager", 0);
  const image = options.operationImage;
  const own = [
    `--kubeconfig=${kubeconfig}`,
    `--namespace=${options.namespace}`,
    `--coordination-namespace=${OPERATOR_NAMESPACE}`,
    "--leader-elect=false",
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
    ...(image === undefined
      ? []
      : [`--executor-image=${image}`, `--runner-image=${image}`, `--controller-image=${image}`]),
  ];
  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let said = "";
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child?.kill(signal);
    await ended;
    child = undefined;
  };
  return {
    start: () => {
      const started = spawn(`${repositoryRoot}/build/ptah`, ["manager", ...arguments_, ...own]);
      const keep = (chunk: Buffer): void => {
        said += chunk.toString("utf8");
      };
      started.stdout.on("data", keep);
      started.stderr.on("data", keep);
      ended = new Promise((resolve) => started.on("close", resolve));
      child = started;
    },
    kill: () => end("SIGKILL"),
    said: () => said,
    close: async () => {
      await end("SIGTERM");
      rmSync(directory, { recursive: true, force: true });
      await scaleOperator(lab, "manager", REPLICAS);
    },
  };
}

/** The images that the installed manager was told to use: the same execution binding, and so the same plans. */
async function installedArguments(lab: Lab): Promise<string[]> {
  const text = await lab.must(["get", DEPLOYMENT, "-n", OPERATOR_NAMESPACE, "-o", "json"]);
  const args = JSON.parse(text).spec.template.spec.containers[0].args as string[];
  return args.filter((argument) => /^--(executor|runner|controller|scratch)-image=/.test(argument));
}
