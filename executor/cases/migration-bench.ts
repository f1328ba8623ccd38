/** What tests of migrations share: both engines behind one face, directories of migrations, and a line that can be cut. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listenForStop } from "../cancel.ts";
import type { MigrationDatabase } from "../migrations/database.ts";
import { readDirectory } from "../migrations/directory.ts";
import { openMysql } from "../migrations/mysql.ts";
import { openPostgres } from "../migrations/postgres.ts";
import { type RunMode, type RunResult, up } from "../migrations/run.ts";
import { parseMysqlTarget } from "../mysql/url.ts";
import { parseTarget } from "../postgres/url.ts";
import { PTAH } from "./executable.ts";
import { type MysqlServerOptions, mysqlDatabase, runMysql, startMysqlServer } from "./mysql-server.ts";
import { say, startServer } from "./server.ts";
import { runSql } from "./test-server.ts";

const LOCK_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 10_000;

type Row = Readonly<Record<string, unknown>>;

/** One engine's server, as tests see it. */
export interface Bench {
  readonly engine: "postgresql" | "mysql";
  readonly version: string;
  readonly port: number;
  /** A new database with this content. @returns its URL */
  database(name: string, sql?: string): Promise<string>;
  sql(url: string, sql: string): Promise<readonly Row[]>;
  /** How often the server was sent a statement of a file that holds this text. */
  received(text: string): number;
  /** Kills the server and starts it again on what it had written. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export async function postgresBench(): Promise<Bench> {
  const server = await startServer({ logStatements: true });
  const admin = server.url("postgres");
  const [row] = await runSql(admin, "SELECT current_setting('server_version') AS version");
  return {
    engine: "postgresql",
    version: `PostgreSQL ${String(row?.["version"])}`,
    port: server.port,
    database: async (name, sql = "SELECT 1") => {
      await runSql(admin, `CREATE DATABASE ${name} TEMPLATE template0`);
      await runSql(server.url(name), sql);
      return server.url(name);
    },
    sql: runSql,
    // The values that the history's rows are written with stand on lines of their own.
    received: (text) => linesWith(server.statementLog, /LOG: {2}(?:statement|execute [^:]+): /, text),
    crash: server.crash,
    stop: server.stop,
  };
}

export async function mysqlBench(options: MysqlServerOptions = {}): Promise<Bench> {
  const server = await startMysqlServer(options);
  return {
    engine: "mysql",
    version: server.version,
    port: server.port,
    database: (name, sql = "SELECT 1") => mysqlDatabase(server, name, sql),
    sql: runMysql,
    received: (text) => linesWith(server.generalLog, /\sQuery\s/, text),
    crash: server.crash,
    stop: server.stop,
  };
}

export const ENGINES = ["PostgreSQL", "MariaDB", "MySQL"] as const;
export type EngineName = (typeof ENGINES)[number];
export type Benches = Readonly<Record<EngineName, Bench>>;

/**
 * One server of each kind. Their versions are printed: what was tried is part of the result.
 * @throws when one does not start; the others are ended then
 */
async function startBenches(): Promise<Benches> {
  const starting = [postgresBench(), mysqlBench(), mysqlBench({ flavor: "mysql" })] as const;
  try {
    const [PostgreSQL, MariaDB, MySQL] = await Promise.all(starting);
    say(`servers: ${[PostgreSQL, MariaDB, MySQL].map((bench) => bench.version).join(", ")}`);
    return { PostgreSQL, MariaDB, MySQL };
  } catch (error) {
    for (const end of await Promise.allSettled(starting)) if (end.status === "fulfilled") await end.value.stop();
    throw error;
  }
}

async function stopBenches(benches: Benches): Promise<void> {
  await Promise.all(ENGINES.map((name) => benches[name].stop()));
}

/** A test runner's own hooks, which this file does not import: it is no test. */
interface Hooks {
  beforeAll(work: () => Promise<void>): void;
  afterAll(work: () => Promise<void>): void;
}

/** The servers of one test file, started before its tests and stopped behind them; there is none of them outside a test. */
export function benchesFor({ beforeAll, afterAll }: Hooks): Benches {
  const benches = {} as Benches;
  beforeAll(async () => {
    Object.assign(benches, await startBenches());
  });
  afterAll(() => stopBenches(benches));
  return benches;
}

const linesWith = (path: string, kind: RegExp, text: string): number =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => kind.test(line) && line.includes(text)).length;

/** Files of one version: the up half's text by the version's number. */
export type Files = Readonly<Record<number, string>>;

/** A directory in the native format; removed with the process's temporary files by `remove`. */
export function migrationDirectory(files: Files): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "ptah-migrations-"));
  for (const [version, up] of Object.entries(files)) {
    const base = `${version.padStart(10, "0")}_step_${version}`;
    writeFileSync(join(path, `${base}.up.sql`), up);
    writeFileSync(join(path, `${base}.down.sql`), "SELECT 1;\n");
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function openBench(url: string): Promise<MigrationDatabase> {
  const stop = listenForStop();
  stop.dispose();
  const options = {
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    name: { schema: undefined, table: "schema_migrations" },
    stop,
  };
  return url.startsWith("mysql")
    ? openMysql(parseMysqlTarget(url, "the URL"), options)
    : openPostgres(parseTarget(url, "the URL"), options);
}

/** `migrations up` in this process. */
export async function runUp(url: string, files: Files, mode: RunMode = "file"): Promise<RunResult> {
  const made = migrationDirectory(files);
  const stop = listenForStop();
  stop.dispose();
  try {
    const read = readDirectory(made.path);
    if ("refusal" in read) throw new Error(read.refusal.message);
    const database = await openBench(url);
    try {
      const common = { expected: undefined, dryRun: false, lockTimeoutMs: LOCK_TIMEOUT_MS, stop };
      return await up({ database, directory: read.directory, mode, ...common });
    } finally {
      await database.end();
    }
  } finally {
    made.remove();
  }
}

/** A command of the executor in a process of its own. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly status: number | null; readonly stdout: string }>;
}

export function startPtah(url: string, directory: string, args: readonly string[]): Running {
  const env = { ...process.env, PTAH_DB_URL: url, PTAH_MIGRATIONS_DIR: directory };
  const [command, ...first] = PTAH;
  const child = spawn(command, [...first, "migrations", ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  const ended = new Promise<{ status: number | null; stdout: string }>((resolve) => {
    child.once("close", (status) => resolve({ status, stdout }));
  });
  return { child, ended };
}

type Report = Readonly<Record<string, unknown>>;

/** Runs a command to its end. @returns its exit status and its report */
export async function ptah(
  url: string,
  directory: string,
  args: readonly string[],
): Promise<{ readonly status: number | null; readonly report: Report }> {
  const { status, stdout } = await startPtah(url, directory, args).ended;
  return { status, report: JSON.parse(stdout) as Report };
}

/** A line to a server that swallows the answers to one statement and can then be cut. */
export interface Line {
  readonly port: number;
  /** Whether the statement has gone through; its answer has not. */
  swallowed(): boolean;
  cut(): void;
  close(): void;
}

const LOOPBACK = "127.0.0.1";

/**
 * Forwards to a server. Once a client sends a statement as text that holds `marker`, nothing that the server says on that
 * connection reaches the client any more.
 * @param hosts the server's address and the one to listen on, where they are not loopback
 */
export function openLine(
  serverPort: number,
  engine: Bench["engine"],
  marker: string,
  hosts: { readonly server: string; readonly listen: string } = { server: LOOPBACK, listen: LOOPBACK },
): Promise<Line> {
  let swallowing: Socket | undefined;
  const pairs: [Socket, Socket][] = [];
  const server: Server = createServer((client) => {
    const upstream = dial(serverPort, hosts.server);
    pairs.push([client, upstream]);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.on("data", (data) => {
      if (statementIn(data, engine)?.includes(marker)) swallowing = client;
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (swallowing !== client) client.write(data);
    });
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  const cut = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  return new Promise((resolve) => {
    server.listen(0, hosts.listen, () => {
      const address = server.address();
      resolve({
        port: typeof address === "object" && address !== null ? address.port : 0,
        swallowed: () => swallowing !== undefined,
        cut,
        close: () => {
          cut();
          server.close();
        },
      });
    });
  });
}

/**
 * The statement's text, without the values that are bound to it. PostgreSQL: a simple query (`Q`) or a statement to parse (`P`), each
 * with its length behind it; MySQL: COM_QUERY, command 3 behind a four-byte header.
 */
function statementIn(data: Buffer, engine: Bench["engine"]): Buffer | undefined {
  if (engine === "mysql") return data[4] === 3 ? data : undefined;
  return data[0] === 0x51 || data[0] === 0x50 ? data.subarray(0, 1 + data.readUInt32BE(1)) : undefined;
}

/** The same URL through the line. */
export const through = (url: string, from: number, to: number): string => url.replace(`:${from}/`, `:${to}/`);
