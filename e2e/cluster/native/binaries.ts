import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../command.ts";
import { LIMITS } from "../limits.ts";
import { repositoryRoot } from "../paths.ts";
import type { Progress } from "../progress.ts";
import { KUBERNETES_VERSION } from "./settings.ts";

const MODULE_DIR = join(repositoryRoot, "e2e", "cluster", "native", "go");
const SOURCES = ["go.mod", "go.sum", "etcd/main.go", "coredns/main.go"];

const API_ONLY = ["kube-apiserver", "kube-controller-manager", "kubectl"];
const NODE = ["kube-scheduler", "kubelet", "kube-proxy"];

/** Names of the programs a cluster is made of; each is one file in the binaries' directory. */
export const PROGRAMS = ["etcd", "coredns", ...API_ONLY, ...NODE];

/** All in one invocation: the commands share most packages, and each is then compiled once. */
export function goBuildArguments(output: string): string[] {
  return [
    "build",
    "-p",
    "2",
    "-trimpath",
    "-buildvcs=false",
    "-ldflags",
    linkerFlags(),
    "-o",
    `${output}/`,
    "./etcd",
    "./coredns",
    ...[...API_ONLY, ...NODE].map((name) => `k8s.io/kubernetes/cmd/${name}`),
  ];
}

/** Without major and minor the API server's discovery says 0.0, and clients that look at it go wrong. */
function linkerFlags(): string {
  const [major, minor] = KUBERNETES_VERSION.slice(1).split(".");
  const values = { gitVersion: KUBERNETES_VERSION, gitMajor: major, gitMinor: minor };
  const packages = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
  const sets = packages.flatMap((name) => Object.entries(values).map(([key, value]) => `-X ${name}.${key}=${value}`));
  return ["-s", "-w", ...sets].join(" ");
}

/**
 * The directory with the built programs: from the cache when module, sums and flags are the same, else compiled into it.
 * Costs about ten minutes on two cold cores, and nothing afterwards.
 */
export async function ensureBinaries(cacheDir: string, progress: Progress): Promise<string> {
  const directory = join(cacheDir, "native", `bin-${cacheKey()}`);
  if (PROGRAMS.every((name) => existsSync(join(directory, name)))) return directory;
  await progress.step(`control plane ${KUBERNETES_VERSION} from Go modules (about six minutes when cold)`, () =>
    build(directory),
  );
  dropOtherVersions(cacheDir, directory);
  return directory;
}

async function build(directory: string): Promise<void> {
  const staged = `${directory}.${process.pid}`;
  mkdirSync(staged, { recursive: true });
  try {
    await mustRun("go", goBuildArguments(staged), {
      cwd: MODULE_DIR,
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" },
      timeoutMs: LIMITS.goBuildMs,
    });
    rmSync(directory, { recursive: true, force: true });
    renameSync(staged, directory);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function cacheKey(): string {
  const hash = createHash("sha256");
  for (const source of SOURCES)
    hash
      .update(`${source}\0`)
      .update(readFileSync(join(MODULE_DIR, source)))
      .update("\0");
  hash.update(goBuildArguments("out").join("\0")).update(process.arch);
  return hash.digest("hex").slice(0, 16);
}

/** A set of programs is 600 MB: only the current one is kept. */
function dropOtherVersions(cacheDir: string, current: string): void {
  const parent = join(cacheDir, "native");
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (name.startsWith("bin-") && path !== current) rmSync(path, { recursive: true, force: true });
  }
}
