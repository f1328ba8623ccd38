/**
 * The kind provider as data: every command that would be run, in order. Pure, because no Docker registry can be
 * assumed where this project is built; the plan is what its tests hold.
 */
import { KUBERNETES_VERSION } from "../native/settings.ts";
import type { ImageArchive } from "../provider.ts";

export const KIND_CLUSTER = "ptah";
export const KIND_NODE_IMAGE = `kindest/node:${KUBERNETES_VERSION}`;

export interface PlannedCommand {
  program: string;
  args: string[];
  /** What a person reads while it runs. */
  what: string;
}

/** Whether Docker has the node image, or can get it. The first that succeeds decides. */
export function detectionPlan(): PlannedCommand[] {
  return [
    { program: "docker", args: ["image", "inspect", KIND_NODE_IMAGE], what: "look for the node image" },
    { program: "docker", args: ["pull", "--quiet", KIND_NODE_IMAGE], what: "pull the node image" },
  ];
}

export function upPlan(kubeconfig: string): PlannedCommand[] {
  return [
    {
      program: "kind",
      args: [
        "create",
        "cluster",
        "--name",
        KIND_CLUSTER,
        "--image",
        KIND_NODE_IMAGE,
        "--kubeconfig",
        kubeconfig,
        "--wait",
        "120s",
      ],
      what: "create the cluster",
    },
  ];
}

export function downPlan(kubeconfig: string): PlannedCommand[] {
  const args = ["delete", "cluster", "--name", KIND_CLUSTER, "--kubeconfig", kubeconfig];
  return [{ program: "kind", args, what: "delete the cluster" }];
}

export function statusPlan(kubeconfig: string): PlannedCommand[] {
  const args = ["--kubeconfig", kubeconfig, "wait", "--for=condition=Ready", "node", "--all", "--timeout=5s"];
  return [{ program: "kubectl", args, what: "nodes ready" }];
}

export function kubeletPlan(running: boolean): PlannedCommand[] {
  const verb = running ? "start" : "stop";
  const args = ["exec", `${KIND_CLUSTER}-control-plane`, "systemctl", verb, "kubelet"];
  return [{ program: "docker", args, what: `${verb} the kubelet` }];
}

/** kind loads an archive by tag; the name by digest, which the operator demands, is added in the node's containerd. */
export function loadPlan(images: readonly ImageArchive[]): PlannedCommand[] {
  return images.flatMap(({ archive, tag, reference }) => [
    { program: "kind", args: ["load", "image-archive", archive, "--name", KIND_CLUSTER], what: `load ${tag}` },
    {
      program: "docker",
      args: [
        "exec",
        `${KIND_CLUSTER}-control-plane`,
        "ctr",
        "--namespace=k8s.io",
        "images",
        "tag",
        "--force",
        tag,
        reference,
      ],
      what: `name ${tag} by digest`,
    },
  ]);
}
