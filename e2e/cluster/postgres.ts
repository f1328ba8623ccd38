/** Kubernetes objects of a PostgreSQL server for scenarios and the demo. Pure. */

export interface PostgresServer {
  namespace: string;
  /** Names the Deployment, the Service and the password's Secret; clients call `<name>.<namespace>.svc`. */
  name: string;
  /** By digest, from images.json. */
  image: string;
  password: string;
  /** A database made at the first start, beside `postgres`. */
  database?: string;
  /** Further `-c name=value` settings of the server. */
  settings?: Record<string, string>;
  /** A Secret with `tls.crt` and `tls.key`: the server then speaks TLS. */
  tlsSecret?: string;
}

/** Data lives in an emptyDir: it survives a restart of the container, and ends with the Pod. */
export function postgresObjects(server: PostgresServer): object[] {
  const { namespace, name } = server;
  const labels = { "app.kubernetes.io/name": name };
  const metadata = { namespace, name, labels };
  return [
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { password: server.password } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: labels, ports: [{ name: "postgres", port: 5432, targetPort: "postgres" }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 1,
        strategy: { type: "Recreate" },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(server) },
      },
    },
  ];
}

function podSpec(server: PostgresServer): object {
  const tls = server.tlsSecret;
  const tlsEnv = [
    { name: "POSTGRES_TLS_CERT", value: "/tls/tls.crt" },
    { name: "POSTGRES_TLS_KEY", value: "/tls/tls.key" },
  ];
  const settings = Object.entries(server.settings ?? {}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 5,
    securityContext: { runAsNonRoot: true, fsGroup: 999, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "postgres",
        image: server.image,
        args: ["serve", ...settings],
        env: [
          { name: "POSTGRES_PASSWORD", valueFrom: { secretKeyRef: { name: server.name, key: "password" } } },
          ...(server.database ? [{ name: "POSTGRES_DB", value: server.database }] : []),
          ...(tls ? tlsEnv : []),
        ],
        ports: [{ name: "postgres", containerPort: 5432 }],
        readinessProbe: {
          exec: { command: ["pg_isready", "--host=127.0.0.1", "--quiet"] },
          periodSeconds: 1,
          failureThreshold: 30,
        },
        securityContext: RESTRICTED,
        volumeMounts: [
          { name: "data", mountPath: "/var/lib/postgresql" },
          ...(tls ? [{ name: "tls", mountPath: "/tls", readOnly: true }] : []),
        ],
      },
    ],
    volumes: [{ name: "data", emptyDir: {} }, ...(tls ? [{ name: "tls", secret: { secretName: tls } }] : [])],
  };
}

/** What the `restricted` Pod security standard asks of a container, and a root file system that nobody writes. */
export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;
