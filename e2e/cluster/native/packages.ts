import { existsSync } from "node:fs";
import { mustRun } from "../command.ts";
import { LIMITS } from "../limits.ts";
import type { Progress } from "../progress.ts";

/** Distribution packages by the file each one is needed for. */
const NODE_PACKAGES: Record<string, string> = {
  "/usr/bin/containerd": "containerd",
  "/usr/sbin/runc": "runc",
  "/usr/lib/cni/bridge": "containernetworking-plugins",
  "/usr/sbin/iptables": "iptables",
  "/usr/sbin/conntrack": "conntrack",
  "/usr/sbin/ip": "iproute2",
  "/usr/bin/mount": "mount",
};

const IMAGE_PACKAGES: Record<string, string> = {
  "/usr/bin/mmdebstrap": "mmdebstrap",
  "/usr/bin/busybox": "busybox-static",
  "/usr/bin/zstd": "zstd",
  "/etc/ssl/certs/ca-certificates.crt": "ca-certificates",
  "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
};

export function ensureNodePackages(progress: Progress): Promise<void> {
  return ensurePackages(NODE_PACKAGES, progress);
}

export function ensureImagePackages(progress: Progress): Promise<void> {
  return ensurePackages(IMAGE_PACKAGES, progress);
}

/** Installs what is missing; with nothing missing it asks no package manager and takes no time. */
async function ensurePackages(wanted: Record<string, string>, progress: Progress): Promise<void> {
  const missing = Object.entries(wanted).flatMap(([file, name]) => (existsSync(file) ? [] : [name]));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(`the native cluster needs the packages ${missing.join(", ")}: install them, or run as root`);
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await progress.step(`distribution packages: ${missing.join(" ")}`, async () => {
    await mustRun("apt-get", ["update", "-q"], { env, timeoutMs: LIMITS.packageInstallMs });
    const options = ["-y", "-q", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0"];
    await mustRun("apt-get", ["install", ...options, ...missing], { env, timeoutMs: LIMITS.packageInstallMs });
  });
}
