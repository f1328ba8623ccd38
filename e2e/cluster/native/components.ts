/** The command lines of the cluster's processes. Pure. */
import { join } from "node:path";
import type { ProcessSpec } from "./processes.ts";
import { type Layout, NETWORK, type Ports } from "./settings.ts";

export interface ClusterShape {
  layout: Layout;
  ports: Ports;
  /** Where the API server listens: the node address, or loopback when there is no node. */
  apiAddress: string;
  apiOnly: boolean;
}

export function etcd({ layout, ports }: ClusterShape): ProcessSpec {
  const client = `http://127.0.0.1:${ports.etcdClient}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return {
    name: "etcd",
    program: join(layout.bin, "etcd"),
    args: [
      "--name=ptah",
      `--data-dir=${layout.etcd}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=ptah=${peer}`,
      // A test cluster is made anew after a power cut; waiting for the disk would only slow it.
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
  };
}

export function apiserver(shape: ClusterShape): ProcessSpec {
  const { layout, ports } = shape;
  const pki = (name: string) => join(layout.pki, name);
  // Without a node there is no address that could be advertised to Pods.
  const endpoint = shape.apiOnly ? ["--endpoint-reconciler-type=none"] : [`--advertise-address=${shape.apiAddress}`];
  return {
    name: "kube-apiserver",
    program: join(layout.bin, "kube-apiserver"),
    args: [
      `--bind-address=${shape.apiAddress}`,
      `--secure-port=${ports.api}`,
      ...endpoint,
      `--etcd-servers=http://127.0.0.1:${ports.etcdClient}`,
      `--service-cluster-ip-range=${NETWORK.serviceCidr}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--allow-privileged=true",
      // Webhook Services are dialled by Pod endpoint, so that admission does not hang on packet rules.
      "--enable-aggregator-routing=true",
      `--client-ca-file=${pki("ca.crt")}`,
      `--tls-cert-file=${pki("apiserver.crt")}`,
      `--tls-private-key-file=${pki("apiserver.key")}`,
      `--kubelet-certificate-authority=${pki("ca.crt")}`,
      `--kubelet-client-certificate=${pki("apiserver-kubelet-client.crt")}`,
      `--kubelet-client-key=${pki("apiserver-kubelet-client.key")}`,
      "--kubelet-preferred-address-types=InternalIP",
      `--service-account-issuer=https://kubernetes.default.svc.${NETWORK.clusterDomain}`,
      `--service-account-key-file=${pki("sa.pub")}`,
      `--service-account-signing-key-file=${pki("sa.key")}`,
      "--event-ttl=1h",
    ],
  };
}

export function controllerManager({ layout, ports, apiOnly }: ClusterShape): ProcessSpec {
  const own = join(layout.config, "controller-manager.kubeconfig");
  return {
    name: "kube-controller-manager",
    program: join(layout.bin, "kube-controller-manager"),
    args: [
      ...controllerAccess(own),
      "--bind-address=127.0.0.1",
      `--secure-port=${ports.controllerManager}`,
      "--leader-elect=false",
      "--use-service-account-credentials=true",
      `--root-ca-file=${join(layout.pki, "ca.crt")}`,
      `--service-account-private-key-file=${join(layout.pki, "sa.key")}`,
      `--cluster-signing-cert-file=${join(layout.pki, "ca.crt")}`,
      `--cluster-signing-key-file=${join(layout.pki, "ca.key")}`,
      ...(apiOnly ? [] : [`--cluster-cidr=${NETWORK.podCidr}`]),
    ],
  };
}

export function scheduler({ layout, ports }: ClusterShape): ProcessSpec {
  return {
    name: "kube-scheduler",
    program: join(layout.bin, "kube-scheduler"),
    args: [
      ...controllerAccess(join(layout.config, "scheduler.kubeconfig")),
      "--bind-address=127.0.0.1",
      `--secure-port=${ports.scheduler}`,
      "--leader-elect=false",
    ],
  };
}

export function containerd({ layout }: ClusterShape): ProcessSpec {
  return {
    name: "containerd",
    program: "/usr/bin/containerd",
    args: ["--config", join(layout.config, "containerd.toml")],
  };
}

export function kubelet({ layout }: ClusterShape): ProcessSpec {
  return {
    name: "kubelet",
    program: join(layout.bin, "kubelet"),
    args: [
      `--config=${join(layout.config, "kubelet.json")}`,
      `--kubeconfig=${join(layout.config, "kubelet.kubeconfig")}`,
      `--root-dir=${layout.kubelet}`,
      `--node-ip=${NETWORK.nodeAddress}`,
      `--hostname-override=${NETWORK.nodeName}`,
    ],
  };
}

/** It may not set kernel values on every machine, so it is told to leave connection tracking as it is. */
export function kubeProxy({ layout, ports }: ClusterShape): ProcessSpec {
  return {
    name: "kube-proxy",
    program: join(layout.bin, "kube-proxy"),
    args: [
      `--kubeconfig=${join(layout.config, "kube-proxy.kubeconfig")}`,
      `--hostname-override=${NETWORK.nodeName}`,
      "--proxy-mode=iptables",
      // At once, not up to a second later: a scenario goes on as soon as a server says it is ready.
      "--iptables-min-sync-period=0s",
      `--cluster-cidr=${NETWORK.podCidr}`,
      "--conntrack-max-per-core=0",
      "--conntrack-tcp-timeout-established=0",
      "--conntrack-tcp-timeout-close-wait=0",
      `--healthz-bind-address=127.0.0.1:${ports.proxyHealth}`,
      `--metrics-bind-address=127.0.0.1:${ports.proxyMetrics}`,
    ],
  };
}

export function clusterDns({ layout }: ClusterShape): ProcessSpec {
  return {
    name: "coredns",
    program: join(layout.bin, "coredns"),
    args: ["-conf", join(layout.config, "Corefile")],
  };
}

/** The processes whose life makes the cluster healthy, in the order in which they are started. */
export function expectedProcesses(apiOnly: boolean, controllers: boolean): string[] {
  if (apiOnly) return ["etcd", "kube-apiserver", ...(controllers ? ["kube-controller-manager"] : [])];
  const controlPlane = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
  return [...controlPlane, "containerd", "kubelet", "kube-proxy", "coredns"];
}

function controllerAccess(kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
  ];
}
