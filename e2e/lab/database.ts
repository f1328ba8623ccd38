import { randomBytes } from "node:crypto";
import { waitFor } from "../cluster/wait.ts";
import { LAB_LIMITS, type Lab } from "./lab.ts";

export type PostgresMajor = 15 | 17;

/** A real PostgreSQL server as a Pod behind a Service, with its connection URL in a Secret. */
export interface Database {
  readonly namespace: string;
  readonly name: string;
  readonly major: PostgresMajor;
  readonly password: string;
  /** Name of the Secret whose key `url` holds the connection URL. */
  readonly secret: string;
  readonly url: string;
  /** Runs SQL on the server itself, as its superuser; returns unaligned rows. @throws on an SQL error. */
  psql(sql: string): Promise<string>;
}

export interface DatabaseOptions {
  readonly namespace: string;
  readonly name?: string;
  readonly major?: PostgresMajor;
  /** Server options, e.g. `["-c", "log_statement=all"]`. */
  readonly options?: readonly string[];
  /** Secret with tls.crt and tls.key: the server then speaks TLS. */
  readonly tlsSecret?: string;
  /** Parameters put behind the URL's question mark. */
  readonly parameters?: string;
}

const DATABASE = "app";

/** Starts a server and waits until it answers. */
export async function startDatabase(lab: Lab, options: DatabaseOptions): Promise<Database> {
  const name = options.name ?? "postgres";
  const major = options.major ?? 15;
  const password = randomBytes(12).toString("hex");
  const secret = `${name}-url`;
  const parameters = options.parameters ?? "sslmode=disable";
  const url = `postgres://postgres:${password}@${name}.${options.namespace}.svc:5432/${DATABASE}?${parameters}`;
  await lab.apply(
    secretObject(options.namespace, secret, url),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: options.namespace },
      spec: { selector: { app: name }, ports: [{ port: 5432, targetPort: 5432 }] },
    },
    databasePod(lab, { name, major, password, ...options }),
  );
  const database: Database = {
    namespace: options.namespace,
    name,
    major,
    password,
    secret,
    url,
    psql: (sql) => runSql(lab, options.namespace, name, DATABASE, sql),
  };
  await waitFor(
    `PostgreSQL ${major} in ${options.namespace}`,
    async () => (await database.psql("select 1")).trim() === "1",
    {
      timeoutMs: LAB_LIMITS.databaseMs,
      pollMs: LAB_LIMITS.pollMs,
    },
  );
  return database;
}

/** Another database of the same server, with its URL in a Secret of its own: many schemas share one Pod. */
export async function addDatabase(lab: Lab, server: Database, database: string): Promise<Database> {
  await server.psql(`create database "${database}"`);
  const secret = `${database.replaceAll("_", "-")}-url`;
  const url = server.url.replace(`/${DATABASE}?`, `/${database}?`);
  await lab.apply(secretObject(server.namespace, secret, url));
  return { ...server, secret, url, psql: (sql) => runSql(lab, server.namespace, server.name, database, sql) };
}

/** A Secret whose key `url` holds a connection URL. */
export function secretObject(namespace: string, name: string, url: string): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: { url } };
}

function runSql(lab: Lab, namespace: string, pod: string, database: string, sql: string): Promise<string> {
  const psql = [
    "psql",
    "-h",
    "/data/run",
    "-U",
    "postgres",
    "-d",
    database,
    "-v",
    "ON_ERROR_STOP=1",
    "-XAtq",
    "-f",
    "-",
  ];
  return lab.must(["exec", "-i", "-n", namespace, pod, "--", ...psql], {
    input: sql,
    timeoutMs: LAB_LIMITS.databaseMs,
  });
}

function databasePod(
  lab: Lab,
  options: DatabaseOptions & { name: string; major: PostgresMajor; password: string },
): object {
  const uid = 999;
  const tls = options.tlsSecret === undefined ? [] : [{ name: "tls", secret: { secretName: options.tlsSecret } }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: options.name, namespace: options.namespace, labels: { app: options.name } },
    spec: {
      automountServiceAccountToken: false,
      securityContext: {
        runAsUser: uid,
        runAsGroup: uid,
        fsGroup: uid,
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: "postgres",
          image: lab.images[`postgres${options.major}`],
          imagePullPolicy: "IfNotPresent",
          args: ["serve", "-c", "fsync=off", ...(options.options ?? [])],
          env: [
            { name: "PGDATA", value: "/data/pgdata" },
            { name: "POSTGRES_PASSWORD", value: options.password },
            { name: "POSTGRES_DB", value: DATABASE },
            ...(options.tlsSecret === undefined
              ? []
              : [
                  { name: "POSTGRES_TLS_CERT", value: "/tls/tls.crt" },
                  { name: "POSTGRES_TLS_KEY", value: "/tls/tls.key" },
                ]),
          ],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
          volumeMounts: [
            { name: "data", mountPath: "/data" },
            { name: "tmp", mountPath: "/tmp" },
            ...(options.tlsSecret === undefined ? [] : [{ name: "tls", mountPath: "/tls", readOnly: true }]),
          ],
        },
      ],
      volumes: [{ name: "data", emptyDir: {} }, { name: "tmp", emptyDir: {} }, ...tls],
    },
  };
}
