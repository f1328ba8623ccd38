import { type ChildProcess, execFileSync, type StdioOptions, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import mysql, { type Connection } from "mysql2";
import { type Account, freePort, INSTALL_TIMEOUT_MS, killChild, say, unprivileged } from "./server.ts";

/** A real MariaDB or MySQL server of this machine, private to one run: own data directory, own port, loopback only. */
export interface MysqlServer {
  readonly version: string;
  readonly port: number;
  /** Where the server writes every statement it receives. */
  readonly generalLog: string;
  url(database: string, query?: string): string;
  /** Kills the server as a machine's failure does, and starts it again on what it had written. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export interface MysqlServerOptions {
  /** MariaDB is the distribution's; MySQL comes from its unstable release into a root file system of its own. */
  readonly flavor?: "mariadb" | "mysql";
  /** Certificate and key in PEM: the server then speaks TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

/** How the programs of a flavor are run, and where their files are seen from outside and from inside. */
interface Flavor {
  readonly server: readonly string[];
  readonly home: string;
  readonly inside: string;
  initialize(data: string): void;
}

const USER = "root";
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const STOP_TIMEOUT_MS = 20_000;
const MARIADB = "/usr/sbin/mariadbd";
const MYSQL_SETTINGS: readonly string[] = [
  "--mysqlx=OFF",
  "--skip-log-bin",
  "--secure-file-priv=NULL",
  "--auto-generate-certs=OFF",
  "--innodb-redo-log-capacity=16M",
  "--innodb-flush-method=nosync",
  "--log-output=FILE",
];
/** The account that the servers run as where this process is root; any will do inside a root of their own. */
const FALLBACK_ACCOUNT: Account = { uid: 65_534, gid: 65_534 };
const MYSQL_ROOT = join(dirname(dirname(import.meta.dirname)), ".cache", "mysql-root");

const apt = (...args: string[]): void => {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  execFileSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"], timeout: INSTALL_TIMEOUT_MS, env });
};

function install(...packages: string[]): void {
  apt("update", "-q");
  apt("install", "-q", "-y", "--no-install-recommends", ...packages);
}

/** Brings both servers where they are not there yet; several processes may start servers after it, none before it ended. */
export function bringServers(): void {
  bringMariadb();
  mysqlRoot();
}

function bringMariadb(): void {
  if (existsSync(MARIADB)) return;
  say("no MariaDB server here: installing the distribution's package");
  install("mariadb-server");
}

function mariadb(): Flavor {
  bringMariadb();
  const home = mkdtempSync(join(tmpdir(), "ptah-my-"));
  const identity = unprivileged("mysql") === undefined ? [] : ["--user=mysql"];
  own(home, unprivileged("mysql"));
  return {
    server: [MARIADB, "--no-defaults", ...identity],
    home,
    inside: home,
    initialize: (data) => {
      const args = [`--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db", ...identity];
      const stdio: StdioOptions = ["ignore", "ignore", "pipe"];
      execFileSync("mariadb-install-db", ["--no-defaults", ...args], { cwd: home, stdio, env: ownTemporary(home) });
    },
  };
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
  mkdirSync(dirname(MYSQL_ROOT), { recursive: true });
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

function mysqlFlavor(): Flavor {
  const root = mysqlRoot();
  mkdirSync(join(root, "run"), { recursive: true });
  const home = mkdtempSync(join(root, "run", "ptah-"));
  own(home, FALLBACK_ACCOUNT);
  const inside = home.slice(root.length);
  const { uid, gid } = FALLBACK_ACCOUNT;
  const server = ["chroot", `--userspec=${uid}:${gid}`, root, "/usr/sbin/mysqld", "--no-defaults"];
  return {
    server,
    home,
    inside,
    initialize: (data) => {
      // Names are not looked up, so that the account of `localhost` would not fit a client on 127.0.0.1.
      const accounts = "CREATE USER 'root'@'%'; GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n";
      writeFileSync(join(home, "accounts.sql"), accounts, { mode: 0o644 });
      const [command = "", ...args] = server;
      const quick = ["--auto-generate-certs=OFF", "--innodb-redo-log-capacity=16M", "--innodb-flush-method=nosync"];
      const first = ["--initialize-insecure", `--datadir=${data}`, `--init-file=${inside}/accounts.sql`];
      execFileSync(command, [...args, ...first, ...quick], { stdio: "ignore", env: ownTemporary(inside) });
    },
  };
}

/** A server that starts removes every temporary table it finds: those of another in a shared directory are gone for that one. */
const ownTemporary = (directory: string): NodeJS.ProcessEnv => ({ ...process.env, TMPDIR: directory });

function own(path: string, account: Account | undefined): void {
  chmodSync(path, 0o755);
  if (account !== undefined) chownSync(path, account.uid, account.gid);
}

/** Starts a server; brings the distribution's where none is there. */
export async function startMysqlServer({ flavor = "mariadb", tls }: MysqlServerOptions = {}): Promise<MysqlServer> {
  const { server, home, inside, initialize } = flavor === "mysql" ? mysqlFlavor() : mariadb();
  initialize(`${inside}/data`);
  const port = await freePort();
  const [command = "", ...first] = server;
  const args = [
    ...first,
    `--datadir=${inside}/data`,
    `--port=${port}`,
    `--socket=${inside}/server.sock`,
    `--pid-file=${inside}/server.pid`,
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-buffer-pool-size=64M",
    "--general-log=1",
    `--general-log-file=${inside}/general.log`,
    ...(flavor === "mysql" ? MYSQL_SETTINGS : []),
    ...(tls === undefined ? [] : tlsSettings(home, inside, tls)),
  ];
  const stdio: StdioOptions = ["ignore", "ignore", "ignore"];
  const start = (): ChildProcess => spawn(command, args, { cwd: home, stdio, env: ownTemporary(inside) });
  let child = start();
  const url = (database: string, query = ""): string =>
    `mysql://${USER}@127.0.0.1:${port}/${database}${query === "" ? "" : `?${query}`}`;
  const version = await untilReady(url("mysql"), child);
  return {
    version: flavor === "mysql" ? `MySQL ${version}` : version,
    port,
    generalLog: join(home, "general.log"),
    url,
    crash: async () => {
      await killChild(child);
      child = start();
      await untilReady(url("mysql"), child);
    },
    stop: async () => {
      await stopChild(child);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function tlsSettings(home: string, inside: string, tls: { certificate: string; key: string }): string[] {
  writeFileSync(join(home, "server.crt"), tls.certificate, { mode: 0o644 });
  // The account that reads it differs by flavor; the directory is this run's own and goes with it.
  writeFileSync(join(home, "server.key"), tls.key, { mode: 0o644 });
  return [`--ssl-cert=${inside}/server.crt`, `--ssl-key=${inside}/server.key`];
}

async function untilReady(url: string, child: ChildProcess): Promise<string> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      const [row] = await runMysql(url, "SELECT VERSION() AS version");
      return String(row?.["version"]);
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`the server did not start: ${String(error)}`);
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }
}

/** SIGTERM is the server's shutdown; the process is ended by its own id only. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(timer);
}

type Row = Readonly<Record<string, unknown>>;

/** Runs SQL (any number of statements) on its own connection. @returns the rows of the last statement */
export async function runMysql(url: string, sql: string): Promise<readonly Row[]> {
  const connection: Connection = mysql.createConnection({
    uri: url,
    multipleStatements: true,
    flags: ["-IGNORE_SPACE"],
    supportBigNumbers: true,
  });
  connection.on("error", () => undefined);
  try {
    return await new Promise<readonly Row[]>((resolve, reject) => {
      connection.query(sql, (error, result) => (error ? reject(error) : resolve(lastRows(result))));
    });
  } finally {
    connection.destroy();
  }
}

function lastRows(result: unknown): readonly Row[] {
  if (!Array.isArray(result)) return [];
  const last: unknown = result.at(-1);
  if (Array.isArray(last)) return last as Row[];
  return result.some((entry) => Array.isArray(entry) || isHeader(entry)) ? [] : (result as Row[]);
}

const isHeader = (value: unknown): boolean => (value as { affectedRows?: unknown } | null)?.affectedRows !== undefined;

/** A new database with this content. @returns its URL */
export async function mysqlDatabase(server: MysqlServer, name: string, sql: string): Promise<string> {
  await runMysql(server.url("mysql"), `DROP DATABASE IF EXISTS ${name}; CREATE DATABASE ${name}`);
  await runMysql(server.url(name), sql);
  return server.url(name);
}
