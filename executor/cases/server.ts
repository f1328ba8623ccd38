import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { copyData, keptData } from "./kept-data.ts";
import { CACHE } from "./paths.ts";

/** A real PostgreSQL server of this machine, private to one run: own data directory, own port, loopback only. */
export interface LocalServer {
  readonly major: number;
  readonly port: number;
  readonly binDir: string;
  /** Where the server writes every statement it receives, if that was asked for. */
  readonly statementLog: string;
  /** A connection string of the superuser for one database. */
  url(database: string, user?: string): string;
  /** The same over the server's Unix socket, as a scratch server is reached that was started for one run. */
  socketUrl(database: string): string;
  /** Kills the server as a machine's failure does, and starts it again on what it had written. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

const DEFAULT_SUPERUSER = "ptah_test";
const READY_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 50;
const STOP_TIMEOUT_MS = 20_000;
export const INSTALL_TIMEOUT_MS = 300_000;
const DISTRIBUTION_ROOT = "/usr/lib/postgresql";

export const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Directories of server binaries, newest major first. */
export function serverBinaries(): { readonly major: number; readonly binDir: string }[] {
  const majors = existsSync(DISTRIBUTION_ROOT) ? readdirSync(DISTRIBUTION_ROOT).filter((m) => /^\d+$/.test(m)) : [];
  return majors
    .map((m) => ({ major: Number(m), binDir: join(DISTRIBUTION_ROOT, m, "bin") }))
    .filter(({ binDir }) => existsSync(join(binDir, "initdb")) && existsSync(join(binDir, "postgres")))
    .sort((a, b) => b.major - a.major);
}

/** Installs the distribution's server where none is there. */
export function bringServer(): void {
  if (serverBinaries().length > 0) return;
  say("no PostgreSQL server here: installing the distribution's package");
  const options = {
    stdio: ["ignore", "ignore", "inherit"] as ["ignore", "ignore", "inherit"],
    timeout: INSTALL_TIMEOUT_MS,
  };
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  execFileSync("apt-get", ["update", "-q"], { ...options, env });
  execFileSync("apt-get", ["install", "-q", "-y", "--no-install-recommends", "postgresql", "postgresql-contrib"], {
    ...options,
    env,
  });
}

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** A server refuses to run as root: the account it runs as instead, undefined when this process is not root. */
export function unprivileged(name = "postgres"): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const entry = lines.find((f) => f[0] === name) ?? lines.find((f) => f[0] === "nobody");
  if (entry === undefined) throw new Error(`no unprivileged account (${name}, nobody) to run the server as`);
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

function command(account: Account | undefined, binary: string, args: readonly string[]): [string, string[]] {
  return account === undefined
    ? [binary, [...args]]
    : ["setpriv", [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups", binary, ...args]];
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

export interface ServerOptions {
  /** Asks for one of several installed majors. */
  readonly major?: number;
  readonly superuser?: string;
  /** Writes every statement to `statementLog`. */
  readonly logStatements?: boolean;
  /** Server certificate and key in PEM: the server then speaks TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

/** Starts a server; installs the distribution's one where none is there. */
export async function startServer(options: ServerOptions = {}): Promise<LocalServer> {
  const { major, superuser = DEFAULT_SUPERUSER } = options;
  bringServer();
  const found = serverBinaries().find((b) => major === undefined || b.major === major);
  if (found === undefined) throw new Error(`no PostgreSQL ${major ?? ""} server binaries under ${DISTRIBUTION_ROOT}`);
  const account = unprivileged();
  const home = newHome(account);
  const data = join(home, "data");
  copyData(emptyData(found.binDir, superuser, account), home);
  const tls = options.tls === undefined ? [] : writeTls(data, options.tls, account);
  const port = await freePort();
  const [postgres, args] = command(account, join(found.binDir, "postgres"), [
    "-D",
    data,
    "-p",
    String(port),
    "-k",
    home,
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    "fsync=off",
    "-c",
    "full_page_writes=off",
    "-c",
    // A killed server still has what it handed to the system; what it kept to itself would be gone.
    `synchronous_commit=${options.logStatements === true ? "on" : "off"}`,
    "-c",
    "max_connections=200",
    "-c",
    "autovacuum=off",
    "-c",
    "shared_buffers=64MB",
    ...(options.logStatements === true ? ["-c", "log_statement=all"] : []),
    ...tls,
  ]);
  const statementLog = join(home, "statements.log");
  const start = (): ChildProcess => {
    const log = options.logStatements === true ? openSync(statementLog, "a") : undefined;
    const started = spawn(postgres, args, { cwd: home, stdio: ["ignore", "ignore", log ?? "ignore"] });
    if (log !== undefined) closeSync(log);
    return started;
  };
  let child = start();
  const url = (database: string, user = superuser): string =>
    `postgres://${user}@127.0.0.1:${port}/${database}?sslmode=disable`;
  await untilReady(url("postgres"), child);
  return {
    major: found.major,
    port,
    socketUrl: (database) => `postgres://${superuser}@localhost:${port}/${database}?host=${home}`,
    binDir: found.binDir,
    statementLog,
    url,
    crash: async () => {
      await killChild(child);
      child = await startAgain(start, url("postgres"));
    },
    stop: async () => {
      await stopChild(child);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A new directory of an account, which everybody may look into. @param prefix its path, without the letters that make it new */
export function ownDirectory(prefix: string, account: Account | undefined): string {
  const path = mkdtempSync(prefix);
  chmodSync(path, 0o755);
  if (account !== undefined) chownSync(path, account.uid, account.gid);
  return path;
}

const newHome = (account: Account | undefined): string => ownDirectory(join(tmpdir(), "ptah-pg-"), account);

function emptyData(binDir: string, superuser: string, account: Account | undefined): string {
  const version = /[0-9]+(\.[0-9]+)+/.exec(execFileSync(join(binDir, "postgres"), ["--version"]).toString())?.[0];
  return keptData(join(CACHE, `postgresql-${version ?? "unknown"}-${superuser}-data`), () => {
    const home = newHome(account);
    const data = join(home, "data");
    const identity = ["-D", data, "-U", superuser, "-A", "trust"];
    const encoding = ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"];
    const [initdb, args] = command(account, join(binDir, "initdb"), [...identity, ...encoding]);
    execFileSync(initdb, args, { cwd: home, stdio: ["ignore", "ignore", "pipe"] });
    return { home, data };
  });
}

/** A key must belong to the server's account and be readable by it alone. @returns the settings that name the files */
function writeTls(data: string, tls: { certificate: string; key: string }, account: Account | undefined): string[] {
  for (const [name, text] of [
    ["server.crt", tls.certificate],
    ["server.key", tls.key],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (account !== undefined) chownSync(join(data, name), account.uid, account.gid);
  }
  return ["-c", "ssl=on"];
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`the server did not start: ${String(error)}`);
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }
}

/** Ends a server as a machine's failure does; one that has ended by itself is left. */
export async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGKILL");
  await gone;
}

/** A server whose processes are not all gone yet refuses to start on the same data: it is tried until it does. */
async function startAgain(start: () => ChildProcess, url: string): Promise<ChildProcess> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const child = start();
    try {
      await untilReady(url, child);
      return child;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}

/** SIGINT is the server's fast shutdown; the process is ended by its own id only. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGINT");
  const timer = setTimeout(() => child.kill("SIGQUIT"), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(timer);
}
