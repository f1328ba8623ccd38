import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import mysql, { type Connection } from "mysql2";
import { type FlavorName, newHome, ownTemporary } from "./mysql-flavor.ts";
import { freePort, killChild } from "./server.ts";

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
  readonly flavor?: FlavorName;
  /** Certificate and key in PEM: the server then speaks TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

const USER = "root";
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const MYSQL_SETTINGS: readonly string[] = [
  "--mysqlx=OFF",
  "--skip-log-bin",
  "--secure-file-priv=NULL",
  "--auto-generate-certs=OFF",
  "--innodb-redo-log-capacity=16M",
  "--innodb-flush-method=nosync",
  "--log-output=FILE",
];

/** Starts a server; brings the distribution's where none is there. */
export async function startMysqlServer({ flavor = "mariadb", tls }: MysqlServerOptions = {}): Promise<MysqlServer> {
  const { server, path: home, inside } = newHome(flavor);
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
      // Its data goes with it: nothing is worth a shutdown.
      await killChild(child);
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
