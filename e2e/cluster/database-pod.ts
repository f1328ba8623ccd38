/** The database servers of tests, scenarios and the demo: engines as data, and one server's Kubernetes objects. Pure. */
import type { ImageName } from "./images/catalog.ts";

export type EngineName = "postgresql" | "mariadb" | "mysql";
export type PostgresMajor = 15 | 17;

export interface Engine {
  readonly label: string;
  /** `spec.target.engine` of a resource whose database is on it. */
  readonly target: "PostgreSQL" | "MySQL";
  readonly scheme: "postgres" | "mysql";
  readonly port: number;
  /** The account with every right. */
  readonly user: string;
  /** Of a connection URL, for a server that speaks no TLS. */
  readonly parameters: string;
  /** Variables that the image's entrypoint reads. */
  readonly env: Readonly<Record<"password" | "database" | "certificate" | "key", string>>;
  /** Variable that the image's client reads the password from, where it is asked for one. */
  readonly clientPassword: string;
  /**
   * The image's own client: SQL on standard input, rows alone on standard output, ends with an error at the first statement
   * that fails. Without a host it reaches the server of its own Pod, and needs no password.
   */
  client(database: string, host?: string): string[];
  quoteName(name: string): string;
  /** The file, in the Pod, of every statement that the server was sent; without one it is the Pod's log that has them. */
  readonly statementLog?: string;
}

const MYSQL_FAMILY = {
  target: "MySQL",
  scheme: "mysql",
  port: 3306,
  user: "root",
  parameters: "tls=false",
  env: {
    password: "MYSQL_ROOT_PASSWORD",
    database: "MYSQL_DATABASE",
    certificate: "MYSQL_TLS_CERT",
    key: "MYSQL_TLS_KEY",
  },
  clientPassword: "MYSQL_PWD",
  client: (database: string, host?: string, ...overNetwork: string[]) => [
    "mysql",
    ...(host === undefined ? [] : [`--host=${host}`, ...overNetwork]),
    "--user=root",
    ...["--batch", "--raw", "--skip-column-names"],
    `--database=${database}`,
  ],
  quoteName: (name: string) => `\`${name.replaceAll("`", "``")}\``,
  statementLog: "/data/log/general.log",
} as const;

export const ENGINES: Readonly<Record<EngineName, Engine>> = {
  postgresql: {
    label: "PostgreSQL",
    target: "PostgreSQL",
    scheme: "postgres",
    port: 5432,
    user: "postgres",
    parameters: "sslmode=disable",
    env: {
      password: "POSTGRES_PASSWORD",
      database: "POSTGRES_DB",
      certificate: "POSTGRES_TLS_CERT",
      key: "POSTGRES_TLS_KEY",
    },
    clientPassword: "PGPASSWORD",
    client: (database, host) => [
      "psql",
      ...(host === undefined ? [] : [`--host=${host}`]),
      "--username=postgres",
      `--dbname=${database}`,
      ...["--set=ON_ERROR_STOP=1", "-XAtq", "-f", "-"],
    ],
    quoteName: (name) => `"${name.replaceAll('"', '""')}"`,
  },
  mariadb: { label: "MariaDB", ...MYSQL_FAMILY },
  mysql: {
    label: "MySQL",
    ...MYSQL_FAMILY,
    // Without TLS its password exchange encrypts the password with a key that the client has to be told to ask for.
    client: (database, host) => MYSQL_FAMILY.client(database, host, "--get-server-public-key"),
  },
};

export function isEngineName(name: string): name is EngineName {
  return Object.hasOwn(ENGINES, name);
}

/** The image that has the server; of PostgreSQL there are two majors. */
export function serverImage(engine: EngineName, major: PostgresMajor = 15): ImageName {
  return engine === "postgresql" ? `postgres${major}` : engine;
}

export interface DatabaseServer {
  readonly namespace: string;
  /** Names the Pod and the Service; clients call `<name>.<namespace>.svc`. */
  readonly name: string;
  readonly engine: EngineName;
  /** By digest, from images.json. */
  readonly image: string;
  readonly password: string;
  /** A database made at the first start. */
  readonly database: string;
  /** Further arguments of the server, as its command line has them. */
  readonly options?: readonly string[];
  /** A Secret with `tls.crt` and `tls.key`: the server then speaks TLS. */
  readonly tlsSecret?: string;
  /** Where its data is; `disk` unless said otherwise. */
  readonly storage?: "disk" | "memory";
  /** Parameters of the connection URL; by default those of a connection without TLS. */
  readonly parameters?: string;
}

/** Name of the Secret that has a server's connection URL (key `url`) and its password (key `password`). */
export const urlSecretName = (name: string): string => `${name}-url`;

/** The connection URL of one database of a server. */
export function databaseUrl(server: Omit<DatabaseServer, "image">, database: string = server.database): string {
  const { scheme, user, port, parameters } = ENGINES[server.engine];
  const at = `${server.name}.${server.namespace}.svc:${port}`;
  return `${scheme}://${user}:${server.password}@${at}/${database}?${server.parameters ?? parameters}`;
}

/** A Secret whose key `url` holds a connection URL. */
export function secretObject(namespace: string, name: string, url: string, more: Record<string, string> = {}): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: { url, ...more } };
}

/** The Secret of its URL, its Service, and the Pod. Data is an emptyDir: it survives a restart of the container alone. */
export function databaseObjects(server: DatabaseServer): [secret: object, service: object, pod: object] {
  const { namespace, name, password } = server;
  const { port } = ENGINES[server.engine];
  const labels = { "app.kubernetes.io/name": name };
  const metadata = { namespace, name, labels };
  return [
    secretObject(namespace, urlSecretName(name), databaseUrl(server), { password }),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: labels, ports: [{ name: "database", port, targetPort: port }] },
    },
    { apiVersion: "v1", kind: "Pod", metadata, spec: podSpec(server) },
  ];
}

/** No probe: each one is a process on a node with two cores. Whoever starts a server asks it until it answers. */
function podSpec(server: DatabaseServer): object {
  const { env } = ENGINES[server.engine];
  const tls = server.tlsSecret;
  const passwordFrom = { secretKeyRef: { name: urlSecretName(server.name), key: "password" } };
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 5,
    securityContext: { runAsNonRoot: true, fsGroup: 999, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: DATABASE_CONTAINER,
        image: server.image,
        imagePullPolicy: "IfNotPresent",
        args: ["serve", ...(server.options ?? [])],
        env: [
          { name: env.password, valueFrom: passwordFrom },
          { name: env.database, value: server.database },
          ...(tls === undefined
            ? []
            : [
                { name: env.certificate, value: "/tls/tls.crt" },
                { name: env.key, value: "/tls/tls.key" },
              ]),
        ],
        ports: [{ name: "database", containerPort: ENGINES[server.engine].port }],
        securityContext: RESTRICTED,
        volumeMounts: [
          { name: "data", mountPath: "/data" },
          { name: "tmp", mountPath: "/tmp" },
          ...(tls === undefined ? [] : [{ name: "tls", mountPath: "/tls", readOnly: true }]),
        ],
      },
    ],
    volumes: [
      { name: "data", emptyDir: server.storage === "memory" ? { medium: "Memory", sizeLimit: "1Gi" } : {} },
      { name: "tmp", emptyDir: {} },
      ...(tls === undefined ? [] : [{ name: "tls", secret: { secretName: tls } }]),
    ],
  };
}

export const DATABASE_CONTAINER = "database";

/** What the `restricted` Pod security standard asks of a container, and a root file system that nobody writes. */
export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;
