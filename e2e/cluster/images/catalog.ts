/** The images of tests and the demo: what each is made of. */
import { chmodSync, existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../command.ts";
import { LIMITS } from "../limits.ts";
import { repositoryRoot } from "../paths.ts";
import { archiveFile, type ImageBuild, layerFile, REGISTRY, SYSTEM_PATH } from "./build-context.ts";
import { buildServer, SERVERS } from "./database-servers.ts";
import { type BuiltImage, layerOf, writeImage } from "./oci.ts";
import type { TarEntry } from "./tar.ts";

const CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
/** The user of the product's Pods. */
const PTAH_UID = 65532;

/** One builder per image name; the names are the keys of images.json. */
export const IMAGES = {
  pause: buildPause,
  busybox: buildBusybox,
  ptah: buildPtah,
  postgres15: (build: ImageBuild) => buildServer(build, SERVERS.postgres15),
  postgres17: (build: ImageBuild) => buildServer(build, SERVERS.postgres17),
  mariadb: (build: ImageBuild) => buildServer(build, SERVERS.mariadb),
  mysql: (build: ImageBuild) => buildServer(build, SERVERS.mysql),
} satisfies Record<string, (build: ImageBuild) => Promise<BuiltImage>>;

export type ImageName = keyof typeof IMAGES;

export function isImageName(name: string): name is ImageName {
  return Object.hasOwn(IMAGES, name);
}

/** What keeps a Pod's shared namespaces open: a program that sleeps. */
export const PAUSE_TAG = `${REGISTRY}/pause:1`;

async function buildPause({ cacheDir }: ImageBuild): Promise<BuiltImage> {
  const layer = await layerOf([busyboxBinary()], layerFile(cacheDir, "pause"));
  const config = { user: "65535:65535", entrypoint: ["/bin/busybox", "sleep", "2147483647"] };
  return writeImage({ name: `${REGISTRY}/pause`, tag: "1", layers: [layer], config }, archiveFile(cacheDir, "pause"));
}

/** A shell with the usual tools, for bare Jobs and probes of the cluster itself. */
async function buildBusybox({ cacheDir }: ImageBuild): Promise<BuiltImage> {
  const applets = (await mustRun("/usr/bin/busybox", ["--list"])).trim().split("\n");
  const links = applets
    .filter((name) => name !== "busybox")
    .map((name): TarEntry => ({ type: "symlink", path: `bin/${name}`, mode: 0o777, target: "busybox" }));
  const entries = [busyboxBinary(), ...links, ...userFiles("nobody", 65534), temporaryDirectory()];
  const layer = await layerOf(entries, layerFile(cacheDir, "busybox"));
  const config = { user: "65534:65534", entrypoint: [], command: ["sh"], env: { PATH: "/bin" } };
  return writeImage(
    { name: `${REGISTRY}/busybox`, tag: "1", layers: [layer], config },
    archiveFile(cacheDir, "busybox"),
  );
}

/** The product: the one executable, the few system libraries that it is linked with, and the public authorities. */
async function buildPtah(build: ImageBuild): Promise<BuiltImage> {
  const { cacheDir } = build;
  const entries = await ptahEntries(build, "ptah");
  const layer = await layerOf(entries, layerFile(cacheDir, "ptah"));
  const spec = { name: `${REGISTRY}/ptah`, tag: "dev", layers: [layer], config: PTAH_CONFIG };
  return writeImage(spec, archiveFile(cacheDir, "ptah"));
}

/**
 * The product with another program in its place, which runs it under the name `ptah-itself` and may do with its output as it
 * likes: how a damaged result comes out of a Pod. The program is a shell script.
 */
export async function buildWrappedPtah(build: ImageBuild, script: string): Promise<BuiltImage> {
  const { cacheDir } = build;
  const wrapper: TarEntry = { type: "file", path: "usr/local/bin/ptah", mode: 0o755, content: script };
  const shell: TarEntry = { type: "symlink", path: "bin/sh", mode: 0o777, target: "busybox" };
  const entries = [...(await ptahEntries(build, "ptah-itself")), busyboxBinary(), shell, wrapper];
  const layer = await layerOf(entries, layerFile(cacheDir, "wrapped-ptah"));
  const spec = { name: `${REGISTRY}/wrapped-ptah`, tag: "dev", layers: [layer], config: PTAH_CONFIG };
  return writeImage(spec, archiveFile(cacheDir, "wrapped-ptah"));
}

const PTAH_CONFIG = {
  user: `${PTAH_UID}:${PTAH_UID}`,
  entrypoint: ["/usr/local/bin/ptah"],
  env: { PATH: SYSTEM_PATH, SSL_CERT_FILE: CA_BUNDLE },
  workingDir: "/",
};

async function ptahEntries({ progress }: ImageBuild, name: string): Promise<TarEntry[]> {
  const executable = join(repositoryRoot, "build", "ptah");
  if (!existsSync(executable)) {
    await progress.step("build/ptah", () =>
      mustRun(process.execPath, [join(repositoryRoot, "tools", "build.ts")], {
        cwd: repositoryRoot,
        timeoutMs: LIMITS.goBuildMs,
      }),
    );
  }
  chmodSync(executable, 0o755);
  const libraries = sharedLibraries(await mustRun("ldd", [executable]));
  return [
    { type: "copy", path: `usr/local/bin/${name}`, mode: 0o755, source: executable },
    { type: "symlink", path: "usr/local/bin/kubectl-ptah", mode: 0o777, target: name },
    ...libraries.map(
      (path): TarEntry => ({ type: "copy", path: path.slice(1), mode: 0o755, source: realpathSync(path) }),
    ),
    { type: "copy", path: CA_BUNDLE.slice(1), mode: 0o644, source: CA_BUNDLE },
    { type: "file", path: "etc/nsswitch.conf", mode: 0o644, content: "hosts: files dns\n" },
    ...userFiles("ptah", PTAH_UID),
    temporaryDirectory(),
  ];
}

/** Absolute paths of the libraries that `ldd` names; the kernel's own has no file. */
export function sharedLibraries(ldd: string): string[] {
  const paths = ldd.split("\n").flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
  return [...new Set(paths)];
}

function busyboxBinary(): TarEntry {
  return { type: "copy", path: "bin/busybox", mode: 0o755, source: "/usr/bin/busybox" };
}

function userFiles(name: string, id: number): TarEntry[] {
  const passwd = `root:x:0:0:root:/root:/sbin/nologin\n${name}:x:${id}:${id}:${name}:/tmp:/sbin/nologin\n`;
  return [
    { type: "file", path: "etc/passwd", mode: 0o644, content: passwd },
    { type: "file", path: "etc/group", mode: 0o644, content: `root:x:0:\n${name}:x:${id}:\n` },
  ];
}

function temporaryDirectory(): TarEntry {
  return { type: "directory", path: "tmp", mode: 0o1777 };
}
