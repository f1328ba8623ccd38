import { randomBytes } from "node:crypto";
import {
  DATABASE_CONTAINER,
  type DatabaseServer,
  databaseObjects,
  databaseUrl,
  ENGINES,
  type EngineName,
  type PostgresMajor,
  secretObject,
  serverImage,
  urlSecretName,
} from "../cluster/database-pod.ts";
import { waitFor } from "../cluster/wait.ts";
import { LAB_LIMITS, type Lab } from "./lab.ts";

export { secretObject } from "../cluster/database-pod.ts";

/** One database of a real server that runs as a Pod behind a Service, with its connection URL in a Secret. */
export interface Database {
  readonly namespace: string;
  /** Of the server's Pod and Service. */
  readonly name: string;
  readonly engine: EngineName;
  readonly database: string;
  readonly password: string;
  /** Name of the Secret whose key `url` holds the connection URL. */
  readonly secret: string;
  readonly url: string;
  /** Runs SQL in the server's own Pod, with every right; returns rows alone, unaligned. @throws on an SQL error. */
  sql(sql: string): Promise<string>;
  /** What the server itself wrote of the statements that it was sent. */
  statementLog(): Promise<string>;
  /** Ends the server in an orderly way; nobody reaches it until `start`. Its data stays. */
  stop(): Promise<void>;
  /** Ends every process of the server at once, as a lost machine would; nobody reaches it until `start`. Its data stays. */
  kill(): Promise<void>;
  /** Lets the server run again, and waits until it answers. */
  start(): Promise<void>;
  /** Keeps a copy of the server's data as it is now; what it returns puts the copy back. The server is down meanwhile. */
  backup(): Promise<() => Promise<void>>;
}

export interface DatabaseOptions {
  readonly namespace: string;
  readonly name?: string;
  /** PostgreSQL unless said otherwise. */
  readonly engine?: EngineName;
  /** Of PostgreSQL. */
  readonly major?: PostgresMajor;
  /** Server options, e.g. `["-c", "log_statement=all"]`. */
  readonly options?: readonly string[];
  /** Secret with tls.crt and tls.key: the server then speaks TLS. */
  readonly tlsSecret?: string;
  /** Parameters put behind the URL's question mark. */
  readonly parameters?: string;
  readonly storage?: "disk" | "memory";
  /** Of a server or a Secret that stands already; a new one is made where it is left out. */
  readonly password?: string;
  /** The Pod runs already and is left as it is. */
  readonly podStands?: boolean;
}

const DATABASE = "app";

/** The name of a server that was given none. */
export const defaultServerName = (engine: EngineName): string => (engine === "postgresql" ? "postgres" : engine);

/** Starts a server and waits until it answers. */
export async function startDatabase(lab: Lab, options: DatabaseOptions): Promise<Database> {
  const {
    engine = "postgresql",
    major,
    podStands = false,
    password = randomBytes(12).toString("hex"),
    ...rest
  } = options;
  const name = options.name ?? defaultServerName(engine);
  const imageName = serverImage(engine, major);
  const image = lab.images[imageName];
  if (image === undefined) throw new Error(`the image ${imageName} is not loaded: run "e2e/cluster/main.ts images"`);
  const server = { ...rest, name, engine, image, password, database: DATABASE };
  const [secret, service, pod] = databaseObjects(server);
  await lab.apply(secret, service, ...(podStands ? [] : [pod]));
  const database = databaseOf(lab, server, urlSecretName(name));
  await untilItAnswers(database);
  return database;
}

/** Another database of the same server, with its URL in a Secret of its own: many resources share one Pod. */
export async function addDatabase(lab: Lab, server: Database, name: string): Promise<Database> {
  await server.sql(`create database ${ENGINES[server.engine].quoteName(name)}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const secret = urlSecretName(name.replaceAll("_", "-"));
  await lab.apply(secretObject(server.namespace, secret, url.href));
  return {
    ...server,
    database: name,
    secret,
    url: url.href,
    sql: (sql) => runSql(lab, { ...server, database: name }, sql),
  };
}

function databaseOf(lab: Lab, server: DatabaseServer, secret: string): Database {
  const { namespace, name, engine, password, database } = server;
  const inPod = (...command: string[]) =>
    lab.must(["exec", "-n", namespace, name, "-c", DATABASE_CONTAINER, "--", ...command], {
      timeoutMs: LAB_LIMITS.databaseMs,
    });
  /** A command in a Pod may be cut short without an error: what was read to its end is whole. */
  const wholeFile = async (path: string): Promise<string | undefined> => {
    const end = `\nend ${randomBytes(8).toString("hex")}\n`;
    const text = await inPod("sh", "-c", 'cat "$0" && printf %s "$1"', path, end);
    return text.endsWith(end) ? text.slice(0, -end.length) : undefined;
  };
  const log = ENGINES[engine].statementLog;
  const self: Database = {
    namespace,
    name,
    engine,
    database,
    password,
    secret,
    url: databaseUrl(server),
    sql: (sql) => runSql(lab, self, sql),
    statementLog: () =>
      waitFor(
        `the statement log of ${namespace}/${name}`,
        () =>
          log === undefined ? lab.must(["logs", "-n", namespace, name, "-c", DATABASE_CONTAINER]) : wholeFile(log),
        { timeoutMs: LAB_LIMITS.commandMs, pollMs: LAB_LIMITS.pollMs },
      ),
    stop: async () => {
      await inPod("server-keeper", "stop");
    },
    kill: async () => {
      await inPod("server-keeper", "kill");
    },
    start: async () => {
      await inPod("server-keeper", "start");
      await untilItAnswers(self);
    },
    backup: async () => {
      const copy = `/data/backup-${randomBytes(4).toString("hex")}`;
      const whileDown = async (command: string) => {
        await self.stop();
        await inPod("sh", "-c", command);
        await self.start();
      };
      await whileDown(`cp -a /data/server ${copy}`);
      return () => whileDown(`rm -rf /data/server && cp -a ${copy} /data/server`);
    },
  };
  return self;
}

async function untilItAnswers(database: Database): Promise<void> {
  await waitFor(
    `${ENGINES[database.engine].label} in ${database.namespace}`,
    async () => (await database.sql("select 1")).trim() === "1",
    { timeoutMs: LAB_LIMITS.databaseMs, pollMs: LAB_LIMITS.pollMs },
  );
}

type Where = Pick<Database, "namespace" | "name" | "engine" | "database">;

function runSql(lab: Lab, { namespace, name, engine, database }: Where, sql: string): Promise<string> {
  const client = ENGINES[engine].client(database);
  return lab.must(["exec", "-i", "-n", namespace, name, "-c", DATABASE_CONTAINER, "--", ...client], {
    input: sql,
    timeoutMs: LAB_LIMITS.databaseMs,
  });
}
