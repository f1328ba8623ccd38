/** Every wait, retry and buffer of the cluster room has its bound here; units are in the names. */
export const LIMITS = {
  /** Whether Docker answers and has, or can get, the kind node image. */
  kindDetectionMs: 20_000,
  /** Compiling the control plane on two cold cores takes about ten minutes. */
  goBuildMs: 30 * 60_000,
  packageInstallMs: 10 * 60_000,
  rootfsMs: 10 * 60_000,
  imageLoadMs: 3 * 60_000,
  /** One ordinary helper program: ip, iptables, mount, ctr. */
  commandMs: 60_000,
  kubectlMs: 60_000,
  /** An etcd or API server that is not ready by then has failed; its log says why. */
  apiReadyMs: 90_000,
  nodeReadyMs: 120_000,
  socketReadyMs: 30_000,
  imageVisibleMs: 30_000,
  /** A process gets this long after SIGTERM before SIGKILL. */
  stopGraceMs: 5_000,
  killMs: 10_000,
  pollMs: 100,
  /** One request to a part of the cluster on this machine. */
  probeMs: 5_000,
  /** What a helper program may print before it is cut off. */
  outputBytes: 64 * 1024 * 1024,
  /** Lines of a failed component's log shown with its failure. */
  logTailLines: 15,
  logTailBytes: 64 * 1024,
  /** The image store is kept in memory where this much is free: unpacked images take about 1.5 GiB of it. */
  memoryForImageStoreBytes: 8 * 1024 ** 3,
  imageStoreBytes: 4 * 1024 ** 3,
  /** sun_path of a Unix socket holds 108 bytes with its end mark. */
  socketPathBytes: 107,
  /** Certificates of a throw-away cluster. */
  certificateDays: 30,
  /** Rounds of unmounting: a mount under a mount shows only when the upper one is gone. */
  unmountRounds: 5,
} as const;
