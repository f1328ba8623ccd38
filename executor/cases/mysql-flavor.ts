import { execFileSync, type StdioOptions } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyData, keptData } from "./kept-data.ts";
import { CACHE } from "./paths.ts";
import { type Account, INSTALL_TIMEOUT_MS, ownDirectory, say, unprivileged } from "./server.ts";

/** MariaDB is the distribution's; MySQL comes from its unstable release into a root file system of its own. */
export type FlavorName = "mariadb" | "mysql";

/** A server's own directory with an empty `data` in it, and how its program is called there. */
export interface Home {
  readonly server: readonly string[];
  /** The directory as this process sees it, and as the server does. */
  readonly path: string;
  readonly inside: string;
}

const MARIADB = "/usr/sbin/mariadbd";
const MYSQL_ROOT = join(CACHE, "mysql-root");
/** The account that the servers run as where this process is root; any will do inside a root of their own. */
const FALLBACK_ACCOUNT: Account = { uid: 65_534, gid: 65_534 };

/** Brings both servers where they are not there yet; several processes may start servers after it, none before it ended. */
export function bringServers(): void {
  emptyMariadb();
  emptyMysql();
}

/** A new directory for one server; its owner removes it. */
export function newHome(flavor: FlavorName): Home {
  return flavor === "mysql" ? withData(mysqlHome(), emptyMysql()) : withData(mariadbHome(), emptyMariadb());
}

/** A server that starts removes every temporary table it finds: those of another in a shared directory are gone for that one. */
export const ownTemporary = (directory: string): NodeJS.ProcessEnv => ({ ...process.env, TMPDIR: directory });

function withData(home: Home, empty: string): Home {
  copyData(empty, home.path);
  return home;
}

function bringMariadb(): void {
  if (existsSync(MARIADB)) return;
  say("no MariaDB server here: installing the distribution's package");
  install("mariadb-server");
}

const mariadbIdentity = (): readonly string[] => (unprivileged("mysql") === undefined ? [] : ["--user=mysql"]);

function mariadbHome(): Home {
  bringMariadb();
  const path = ownDirectory(join(tmpdir(), "ptah-my-"), unprivileged("mysql"));
  return { server: [MARIADB, "--no-defaults", ...mariadbIdentity()], path, inside: path };
}

function emptyMariadb(): string {
  bringMariadb();
  const version = /[0-9]+(\.[0-9]+)+/.exec(execFileSync(MARIADB, ["--version"]).toString())?.[0] ?? "unknown";
  return keptData(join(CACHE, `mariadb-${version}-data`), () => {
    const { path } = mariadbHome();
    const data = join(path, "data");
    const options = [`--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db"];
    const args = ["--no-defaults", ...options, ...mariadbIdentity()];
    const stdio: StdioOptions = ["ignore", "ignore", "pipe"];
    execFileSync("mariadb-install-db", args, { cwd: path, stdio, env: ownTemporary(path) });
    return { home: path, data };
  });
}

/** MySQL is in no stable release: its packages are unpacked beside this machine's own system, once. */
function mysqlRoot(): string {
  const server = join(MYSQL_ROOT, "usr", "sbin", "mysqld");
  if (existsSync(server)) return MYSQL_ROOT;
  say("no MySQL server here: unpacking the distribution's unstable package (about half a minute)");
  if (!existsSync("/usr/bin/mmdebstrap")) install("mmdebstrap");
  const targets = execFileSync("apt-get", ["indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages"]);
  const rows = targets.toString().split("\n");
  const mirror = rows.map((row) => row.trim().split(" ")).find(([, label]) => label === "Debian")?.[0];
  if (mirror === undefined) throw new Error("this machine's package manager has no Debian mirror configured");
  const staged = `${MYSQL_ROOT}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  const excludes = ["doc", "man", "locale"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const options = ["--mode=root", "--variant=minbase", "--include=mysql-server-core", ...excludes];
  const aptOptions = ['--aptopt=Acquire::Check-Valid-Until "false"'];
  execFileSync("mmdebstrap", [...options, ...aptOptions, "sid", staged, mirror], {
    stdio: "ignore",
    timeout: INSTALL_TIMEOUT_MS,
  });
  rmSync(MYSQL_ROOT, { recursive: true, force: true });
  renameSync(staged, MYSQL_ROOT);
  return MYSQL_ROOT;
}

function mysqlHome(): Home {
  const root = mysqlRoot();
  mkdirSync(join(root, "run"), { recursive: true });
  const path = ownDirectory(join(root, "run", "ptah-"), FALLBACK_ACCOUNT);
  const { uid, gid } = FALLBACK_ACCOUNT;
  const server = ["chroot", `--userspec=${uid}:${gid}`, root, "/usr/sbin/mysqld", "--no-defaults"];
  return { server, path, inside: path.slice(root.length) };
}

function emptyMysql(): string {
  return keptData(join(mysqlRoot(), "run", "empty-data"), () => {
    const { server, path, inside } = mysqlHome();
    // Names are not looked up, so that the account of `localhost` would not fit a client on 127.0.0.1.
    const accounts = "CREATE USER 'root'@'%'; GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n";
    writeFileSync(join(path, "accounts.sql"), accounts, { mode: 0o644 });
    const [command = "", ...args] = server;
    const quick = ["--auto-generate-certs=OFF", "--innodb-redo-log-capacity=16M", "--innodb-flush-method=nosync"];
    const first = ["--initialize-insecure", `--datadir=${inside}/data`, `--init-file=${inside}/accounts.sql`];
    execFileSync(command, [...args, ...first, ...quick], { stdio: "ignore", env: ownTemporary(inside) });
    return { home: path, data: join(path, "data") };
  });
}

function install(...packages: string[]): void {
  const apt = (...args: string[]): void => {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"], timeout: INSTALL_TIMEOUT_MS, env });
  };
  apt("update", "-q");
  apt("install", "-q", "-y", "--no-install-recommends", ...packages);
}
