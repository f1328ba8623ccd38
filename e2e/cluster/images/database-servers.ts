/** The database servers that the distribution has, each as an image with the same two commands on top. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SCRATCH_INITDB, SCRATCH_PREPARED } from "../../../workload/containers.ts";
import { repositoryRoot } from "../paths.ts";
import { archiveFile, type ImageBuild, layerFile, REGISTRY, SYSTEM_PATH } from "./build-context.ts";
import { type BuiltImage, layerOf, writeImage } from "./oci.ts";
import { ensureRootfs, type RootfsSpec } from "./rootfs.ts";
import type { TarEntry } from "./tar.ts";

/** The user of the servers in the public images, too. */
const SERVER_UID = 999;

interface ServerImage {
  rootfs: RootfsSpec;
  /** The image's own name; its tag is the server's version, as far as the release pins it. */
  image: string;
  tag: string;
  /** The script of this folder that starts the server. */
  entrypoint: string;
  env?: Record<string, string>;
  /** Further files of the image. */
  files?: readonly TarEntry[];
}

/** Servers by the name of their image; the version is the one that the release carries. */
export const SERVERS = {
  postgres15: postgres("bookworm", 15),
  postgres17: postgres("trixie", 17),
  mariadb: mysqlFamily("10.11", {
    name: "mariadb",
    suite: "bookworm",
    packages: ["mariadb-server-core", "mariadb-client-core"],
    excludes: [],
  }),
  // No stable release carries MySQL: what is built is printed, because the unstable one moves on.
  mysql: mysqlFamily("sid", {
    name: "mysql",
    suite: "sid",
    packages: ["mysql-server-core", "mysql-client-core"],
    excludes: [
      ...["mysql_*", "mysqlbinlog", "mysqlcheck", "mysqlimport", "mysqlshow", "mysqlslap"].map(
        (tool) => `/usr/bin/${tool}`,
      ),
      ...["myisam*", "ibd2sdi", "innochecksum", "perror"].map((tool) => `/usr/bin/${tool}`),
      ...["group_replication*", "*telemetry*"].map((plugin) => `/usr/lib/mysql/plugin/${plugin}`),
    ],
    // Its release files expire within days, and a mirror may be behind.
    aptOptions: ['Acquire::Check-Valid-Until "false"'],
  }),
} satisfies Record<string, ServerImage>;

/** Builds one server's image: the distribution's files below, the commands that start and hold it on top. */
export async function buildServer({ cacheDir, progress }: ImageBuild, server: ServerImage): Promise<BuiltImage> {
  const { rootfs, entrypoint } = server;
  const root = await ensureRootfs(rootfs, cacheDir, progress);
  const entries = [command("server-keeper"), command(entrypoint), ...(server.files ?? [])];
  const top = await layerOf(entries, layerFile(cacheDir, `${rootfs.name}-commands`));
  const config = {
    user: `${SERVER_UID}:${SERVER_UID}`,
    entrypoint: [`/usr/local/bin/${entrypoint}`],
    command: ["serve"],
    env: { PATH: SYSTEM_PATH, LANG: "C.UTF-8", ...server.env },
    workingDir: "/",
  };
  const spec = { name: `${REGISTRY}/${server.image}`, tag: server.tag, layers: [root.layer, top], config };
  return { ...writeImage(spec, archiveFile(cacheDir, rootfs.name)), contents: root.contents };
}

function command(name: string): TarEntry {
  const content = readFileSync(join(repositoryRoot, "e2e", "cluster", "images", `${name}.sh`), "utf8");
  return { type: "file", path: `usr/local/bin/${name}`, mode: 0o755, content };
}

function postgres(suite: string, major: number): ServerImage {
  const ids = `chroot "$1" usermod -u ${SERVER_UID} postgres; chroot "$1" groupmod -g ${SERVER_UID} postgres`;
  const home = `mkdir -p "$1/run/postgresql"; chroot "$1" chown -R ${SERVER_UID}:${SERVER_UID} /var/lib/postgresql /run/postgresql`;
  const prepared = `${SCRATCH_PREPARED}/${major}`;
  const scratch = `mkdir -p "$1${prepared}"; chown ${SERVER_UID}:${SERVER_UID} "$1${prepared}"; chroot --userspec=${SERVER_UID}:${SERVER_UID} "$1" /usr/lib/postgresql/${major}/bin/${SCRATCH_INITDB} --pgdata=${prepared} >/dev/null`;
  const noCluster = 'echo "create_main_cluster = false" > "$1/etc/postgresql-common/createcluster.conf"';
  return {
    image: "postgres",
    tag: String(major),
    entrypoint: "postgres-entrypoint",
    env: {
      PATH: `/usr/lib/postgresql/${major}/bin:${SYSTEM_PATH}`,
      PG_MAJOR: String(major),
      PGDATA: "/data/server",
      PGHOST: "/data/run",
    },
    rootfs: {
      name: `postgres${major}`,
      suite,
      packages: [`postgresql-${major}`],
      excludes: ["/usr/lib/*/libLLVM*", "/usr/lib/postgresql/*/lib/llvmjit*", "/usr/lib/postgresql/*/lib/bitcode/*"],
      setup: [`mkdir -p "$1/etc/postgresql-common"; ${noCluster}`],
      customize: [`set -e; ${ids}; ${home}; ${scratch}`],
    },
  };
}

/** The `-core` packages have the programs alone: their sisters configure a server of the machine, which fails in a bare root. */
function mysqlFamily(tag: string, rootfs: Omit<RootfsSpec, "setup" | "customize">): ServerImage {
  const account = `echo "mysql:x:${SERVER_UID}:${SERVER_UID}::/data:/usr/sbin/nologin" >> "$1/etc/passwd"`;
  // Needed to configure the packages, and by nobody after that.
  const perl = 'rm -rf "$1"/usr/share/perl "$1"/usr/lib/*/perl "$1"/usr/lib/*/libperl*';
  return {
    image: rootfs.name,
    tag,
    entrypoint: "mysql-entrypoint",
    // In the place of the distribution's, whose socket is elsewhere. The servers are told to read no such file.
    files: [
      { type: "file", path: "etc/mysql/my.cnf", mode: 0o644, content: "[client]\nsocket = /data/run/server.sock\n" },
    ],
    rootfs: { ...rootfs, setup: [], customize: [account, perl] },
  };
}
