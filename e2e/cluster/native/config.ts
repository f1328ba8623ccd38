/** The texts of every configuration file of the node. Pure. */
import type { KeyedCertificate } from "./pki.ts";
import { type Layout, NETWORK, type Ports } from "./settings.ts";

/** A path or address as a TOML basic string; its escapes are those of JSON. */
const toml = (value: string) => JSON.stringify(value);

/**
 * containerd of its own: own root, state and socket. `restrict_oom_score_adj` because a machine without
 * CAP_SYS_RESOURCE cannot lower it, and every sandbox would die in its start; no pause image is pulled, ours is loaded.
 */
export function containerdConfig(layout: Layout, pauseImage: string): string {
  return `version = 2
root = ${toml(layout.containerdRoot)}
state = ${toml(layout.containerdState)}
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]

[grpc]
  address = ${toml(layout.containerdSocket)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${toml(pauseImage)}
  restrict_oom_score_adj = true
  disable_apparmor = true
  enable_selinux = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = ${toml(layout.cniConfig)}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
}

/** One bridge network; Pods reach the node at the bridge's own address and leave it masqueraded. */
export function cniConfig(layout: Layout): string {
  return json({
    cniVersion: "0.4.0",
    name: NETWORK.cniName,
    plugins: [
      {
        type: "bridge",
        bridge: NETWORK.bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          dataDir: layout.cniData,
          ranges: [[{ subnet: NETWORK.podCidr, gateway: NETWORK.nodeAddress }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  });
}

/** Container log rotation is left at the kubelet's default (10Mi): tests rely on what users have. */
export function kubeletConfig(layout: Layout, ports: Ports): string {
  return json({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: NETWORK.nodeAddress,
    port: ports.kubelet,
    healthzBindAddress: "127.0.0.1",
    healthzPort: ports.kubeletHealth,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${layout.pki}/ca.crt` },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${layout.pki}/kubelet-serving.crt`,
    tlsPrivateKeyFile: `${layout.pki}/kubelet-serving.key`,
    containerRuntimeEndpoint: `unix://${layout.containerdSocket}`,
    cgroupDriver: "cgroupfs",
    failSwapOn: false,
    enforceNodeAllocatable: [],
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    clusterDNS: [NETWORK.nodeAddress],
    clusterDomain: NETWORK.clusterDomain,
    resolvConf: `${layout.config}/resolv.conf`,
    podLogsDir: layout.podLogs,
    podCIDR: NETWORK.podCidr,
    maxPods: 250,
    registerWithTaints: [],
    volumePluginDir: `${layout.kubelet}/volume-plugins`,
  });
}

/** The cluster's DNS knows the cluster alone; a name outside it is answered with "no such name", nothing is forwarded. */
export function corefile(layout: Layout, ports: Ports): string {
  return `.:53 {
    bind ${NETWORK.nodeAddress}
    errors
    health 127.0.0.1:${ports.dnsHealth}
    ready 127.0.0.1:${ports.dnsReady}
    cache 5
    kubernetes ${NETWORK.clusterDomain} in-addr.arpa ip6.arpa {
        kubeconfig ${layout.config}/dns.kubeconfig
        pods insecure
        ttl 5
    }
}
`;
}

/** Pods that ask the node's own resolver ask the cluster's DNS: no question leaves the machine. */
export function resolvConf(): string {
  return `nameserver ${NETWORK.nodeAddress}\n`;
}

export function kubeconfig(server: string, authority: string, user: string, identity: KeyedCertificate): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return json({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "ptah", cluster: { server, "certificate-authority-data": base64(authority) } }],
    users: [
      {
        name: user,
        user: {
          "client-certificate-data": base64(identity.certificate),
          "client-key-data": base64(identity.key),
        },
      },
    ],
    contexts: [{ name: "ptah", context: { cluster: "ptah", user } }],
    "current-context": "ptah",
  });
}

/** What the DNS may read; the API server makes all other roles of a cluster by itself. */
export function dnsAccess(): string {
  const name = "ptah-cluster-dns";
  return json({
    apiVersion: "v1",
    kind: "List",
    items: [
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name },
        rules: [
          { apiGroups: [""], resources: ["services", "namespaces", "pods"], verbs: ["list", "watch"] },
          { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
        ],
      },
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
      },
    ],
  });
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
