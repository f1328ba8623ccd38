import { expect, test } from "bun:test";
import { detectionPlan, downPlan, KIND_NODE_IMAGE, kubeletPlan, loadPlan, upPlan } from "./plan.ts";

test("kind runs the same Kubernetes version as the native provider", () => {
  expect(KIND_NODE_IMAGE).toBe("kindest/node:v1.34.4");
  expect(upPlan("/x/kubeconfig")[0]!.args).toContain(KIND_NODE_IMAGE);
});

test("detection looks for the image on the machine before it asks a registry", () => {
  expect(detectionPlan().map(({ program, args }) => [program, args[0]])).toEqual([
    ["docker", "image"],
    ["docker", "pull"],
  ]);
});

test("up and down touch their own kubeconfig and their own cluster only", () => {
  for (const { args } of [...upPlan("/x/kubeconfig"), ...downPlan("/x/kubeconfig")]) {
    expect(args.join(" ")).toContain("--kubeconfig /x/kubeconfig");
    expect(args.join(" ")).toContain("--name ptah");
  }
});

test("a loaded image can be named by digest: it is loaded by tag first, then given the digest's name in the node", () => {
  const image = {
    archive: "/x/ptah.oci.tar",
    tag: "docker.io/local/ptah:dev",
    reference: "docker.io/local/ptah@sha256:abc",
  };
  expect(loadPlan([image]).map(({ program, args }) => [program, ...args].join(" "))).toEqual([
    "kind load image-archive /x/ptah.oci.tar --name ptah",
    "docker exec ptah-control-plane ctr --namespace=k8s.io images tag --force docker.io/local/ptah:dev docker.io/local/ptah@sha256:abc",
  ]);
});

test("the kubelet of the node is stopped and started by the node's own service manager", () => {
  const line = (running: boolean) => kubeletPlan(running)[0]!.args.join(" ");
  expect(line(false)).toBe("exec ptah-control-plane systemctl stop kubelet");
  expect(line(true)).toBe("exec ptah-control-plane systemctl start kubelet");
});
