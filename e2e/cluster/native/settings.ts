import { join } from "node:path";
import { LIMITS } from "../limits.ts";

/** The pinned versions. The modules' own versions are held by go/go.mod and go/go.sum; this one is what they report. */
export const KUBERNETES_VERSION = "v1.34.4";

/**
 * Names and addresses of the one node. All traffic stays on loopback and on the bridge that this code makes: its own
 * address is the node's address, Pods sit behind it.
 */
export const NETWORK = {
  nodeName: "ptah-node",
  bridge: "ptah0",
  cniName: "ptah",
  nodeAddress: "10.244.0.1",
  podCidr: "10.244.0.0/16",
  podPrefixBits: 16,
  serviceCidr: "10.96.0.0/16",
  apiServiceAddress: "10.96.0.1",
  clusterDomain: "cluster.local",
} as const;

/** Listening ports of one cluster; on loopback or the node address only. */
export interface Ports {
  etcdClient: number;
  etcdPeer: number;
  api: number;
  controllerManager: number;
  scheduler: number;
  kubelet: number;
  kubeletHealth: number;
  proxyHealth: number;
  proxyMetrics: number;
  dnsHealth: number;
  dnsReady: number;
}

export const NODE_PORTS: Ports = {
  etcdClient: 23790,
  etcdPeer: 23800,
  api: 6443,
  controllerManager: 10257,
  scheduler: 10259,
  kubelet: 10250,
  kubeletHealth: 10248,
  proxyHealth: 10256,
  proxyMetrics: 10249,
  dnsHealth: 10180,
  dnsReady: 10181,
};

/** An API server alone stands beside a whole cluster on the same machine. */
export const API_ONLY_PORTS: Ports = {
  ...NODE_PORTS,
  etcdClient: 24790,
  etcdPeer: 24800,
  api: 7443,
  controllerManager: 11257,
};

/** Every path of one cluster, all under its state directory. */
export interface Layout {
  stateDir: string;
  bin: string;
  pki: string;
  config: string;
  logs: string;
  run: string;
  etcd: string;
  kubelet: string;
  podLogs: string;
  containerdRoot: string;
  containerdState: string;
  containerdSocket: string;
  cniConfig: string;
  cniData: string;
  kubeconfig: string;
}

/** @throws Error when the directory is too deep for containerd's Unix socket (107 bytes). */
export function layoutOf(stateDir: string): Layout {
  const path = (...parts: string[]) => join(stateDir, ...parts);
  const layout: Layout = {
    stateDir,
    bin: path("bin"),
    pki: path("pki"),
    config: path("config"),
    logs: path("logs"),
    run: path("run"),
    etcd: path("etcd"),
    kubelet: path("kubelet"),
    podLogs: path("pod-logs"),
    containerdRoot: path("containerd", "root"),
    containerdState: path("containerd", "state"),
    containerdSocket: path("containerd", "containerd.sock"),
    cniConfig: path("cni", "net.d"),
    cniData: path("cni", "data"),
    kubeconfig: path("kubeconfig"),
  };
  // containerd puts ".ttrpc" behind the name for its second socket.
  if (Buffer.byteLength(`${layout.containerdSocket}.ttrpc`) > LIMITS.socketPathBytes) {
    throw new Error(
      `the cluster's directory ${stateDir} is too deep for a Unix socket: set PTAH_CLUSTER_DIR to a shorter one`,
    );
  }
  return layout;
}
