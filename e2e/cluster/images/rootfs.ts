import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../command.ts";
import { LIMITS } from "../limits.ts";
import type { Progress } from "../progress.ts";
import { compressLayer, type Layer } from "./oci.ts";

/** A root file system made of a distribution's packages. */
export interface RootfsSpec {
  name: string;
  /** The distribution's release, by codename. */
  suite: string;
  /** The first one is what the root is for: its version is told. */
  packages: readonly string[];
  /** Files that no test needs: documentation, the JIT compiler (most of the size), caches. */
  excludes: readonly string[];
  /** Shell commands of mmdebstrap's hooks; "$1" is the root under construction. */
  setup: readonly string[];
  customize: readonly string[];
  /** Settings of apt while it is built. */
  aptOptions?: readonly string[];
}

export interface Rootfs {
  layer: Layer;
  /** The package that it is for, its version and the release: `mysql-server-core 9.7.4-2 (sid)`. */
  contents: string;
}

/** Left out of every root: what makes two builds differ or holds a generated secret is removed as well. */
const COMMON_EXCLUDES = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"];
const COMMON_CUSTOMIZE = [
  'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/*',
  'rm -f "$1"/etc/ssl/private/* "$1"/etc/ssl/certs/ssl-cert-snakeoil.pem "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/machine-id',
];

/** Builds the root as one layer, or takes it from the cache when the specification is the same. */
export async function ensureRootfs(spec: RootfsSpec, cacheDir: string, progress: Progress): Promise<Rootfs> {
  const directory = join(cacheDir, "images", "rootfs");
  const prefix = `${spec.name}-`;
  const base = `${prefix}${createHash("sha256")
    .update(JSON.stringify(argumentsOf(spec)))
    .digest("hex")
    .slice(0, 16)}`;
  const file = join(directory, `${base}.tar.zst`);
  const description = join(directory, `${base}.json`);
  if (existsSync(file) && existsSync(description)) return described(spec, description, file);
  mkdirSync(directory, { recursive: true });
  const layer = await progress.step(`root file system ${spec.name} from ${spec.suite} (about a minute)`, async () => {
    const tar = join(directory, `${base}.${process.pid}.tar`);
    const mirror = await configuredMirror();
    await mustRun("mmdebstrap", [...argumentsOf(spec), spec.suite, tar, mirror], {
      env: { ...process.env, SOURCE_DATE_EPOCH: "0" },
      timeoutMs: LIMITS.rootfsMs,
    });
    return compressLayer(tar, file);
  });
  const { digest, diffId, sizeBytes } = layer;
  writeFileSync(description, `${JSON.stringify({ digest, diffId, sizeBytes })}\n`);
  for (const name of readdirSync(directory)) {
    if (name.startsWith(prefix) && !name.startsWith(base)) rmSync(join(directory, name));
  }
  return described(spec, description, file);
}

/** A root from the cache; the version is noted beside it once it was read out of the root's own package database. */
async function described(spec: RootfsSpec, description: string, file: string): Promise<Rootfs> {
  const noted = JSON.parse(readFileSync(description, "utf8")) as Omit<Layer, "file"> & { contents?: string };
  let { contents, ...layer } = noted;
  if (contents === undefined) {
    const [name = ""] = spec.packages;
    const status = await mustRun("tar", ["--use-compress-program=zstd", "-xOf", file, "./var/lib/dpkg/status"]);
    contents = `${name} ${packageVersion(status, name)} (${spec.suite})`;
    writeFileSync(description, `${JSON.stringify({ ...layer, contents })}\n`);
  }
  return { layer: { ...layer, file }, contents };
}

/** From a package database (deb-status): the version of one package, without its epoch. @throws when it is not installed. */
export function packageVersion(status: string, name: string): string {
  const entry = status.split("\n\n").find((text) => `${text}\n`.startsWith(`Package: ${name}\n`));
  const version = /^Version: (?:\d+:)?(\S+)$/m.exec(entry ?? "")?.[1];
  if (version === undefined) throw new Error(`the root file system has no package ${name}`);
  return version;
}

function argumentsOf(spec: RootfsSpec): string[] {
  return [
    "--mode=root",
    "--variant=minbase",
    `--include=${spec.packages.join(",")}`,
    ...(spec.aptOptions ?? []).map((option) => `--aptopt=${option}`),
    ...[...COMMON_EXCLUDES, ...spec.excludes].map((path) => `--dpkgopt=path-exclude=${path}`),
    ...spec.setup.map((command) => `--setup-hook=${command}`),
    ...[...spec.customize, ...COMMON_CUSTOMIZE].map((command) => `--customize-hook=${command}`),
  ];
}

/** The distribution mirror that this machine itself is configured with, asked of its own package manager. */
async function configuredMirror(): Promise<string> {
  const targets = await mustRun("apt-get", [
    "indextargets",
    "--format",
    "$(REPO_URI) $(LABEL)",
    "Created-By: Packages",
  ]);
  const mirror = debianMirror(targets);
  if (!mirror)
    throw new Error(
      "this machine's package manager has no Debian mirror configured: images cannot be built from packages",
    );
  return mirror;
}

/** From lines of `address label`: the first address whose label is Debian's main archive. */
export function debianMirror(targets: string): string | undefined {
  const rows = targets.split("\n").map((line) => line.trim().split(" "));
  return rows.find(([, label]) => label === "Debian")?.[0];
}
