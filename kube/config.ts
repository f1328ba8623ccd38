import { closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import * as v from "valibot";
import { KubeError, misconfigured } from "./errors.ts";
import type { TlsMaterial } from "./fetch.bun.ts";
import { type Impersonation, impersonationHeaders } from "./impersonation.ts";
import { limits } from "./limits.ts";

/** Where kubelet mounts a Pod's ServiceAccount. */
const SERVICE_ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount";

/** What a request needs beside its path; read anew when older than `limits.credentialsMaxAgeMs`. */
export interface Credentials {
  readonly headers: Record<string, string>;
  readonly tls: TlsMaterial;
}

/** One cluster and one user to speak to it as. */
export interface Connection {
  /** Base URL without a trailing slash. */
  readonly server: string;
  /** The namespace that the context (or the Pod) names; `default` where it names none. */
  readonly namespace: string;
  readonly proxyUrl?: string;
  /** The API server is near: packing large answers would cost both sides more than it saves. */
  readonly unpacked?: boolean;
  /** Reads the credentials from where they live; called again as they rotate. */
  credentials(): Promise<Credentials>;
}

/** The flags of kubectl that choose a cluster. Values absent here fall back to KUBECONFIG, ~/.kube/config, the Pod. */
export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Whom to act as, in place of what the kubeconfig says of it. */
  readonly as?: string;
  readonly asGroup?: string;
}

const text = v.optional(v.string());
const named = <const T extends v.ObjectEntries>(key: string, entries: T) =>
  v.optional(v.nullable(v.array(v.object({ name: v.string(), [key]: v.optional(v.nullable(v.object(entries))) }))));

const KubeconfigFile = v.object({
  "current-context": text,
  clusters: named("cluster", {
    server: v.string(),
    "certificate-authority": text,
    "certificate-authority-data": text,
    "insecure-skip-tls-verify": v.optional(v.boolean()),
    "tls-server-name": text,
    "proxy-url": text,
  }),
  contexts: named("context", { cluster: v.string(), user: v.string(), namespace: text }),
  users: named("user", {
    "client-certificate": text,
    "client-certificate-data": text,
    "client-key": text,
    "client-key-data": text,
    token: text,
    tokenFile: text,
    username: text,
    password: text,
    as: text,
    "as-uid": text,
    "as-groups": v.optional(v.nullable(v.array(v.string()))),
    "as-user-extra": v.optional(v.unknown()),
    exec: v.optional(v.unknown()),
    "auth-provider": v.optional(v.unknown()),
  }),
});

interface Cluster {
  readonly server: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "tls-server-name"?: string;
  readonly "proxy-url"?: string;
}
interface User extends Impersonation {
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly exec?: unknown;
  readonly "auth-provider"?: unknown;
}
interface Context {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}
interface Kubeconfig {
  currentContext?: string;
  readonly clusters: Map<string, Cluster>;
  readonly contexts: Map<string, Context>;
  readonly users: Map<string, User>;
}

/** The text of a file, or of the pipe that a shell puts in its place (`<(…)`): up to a bound, and within a time. */
function readBounded(path: string): string {
  let file: number | undefined;
  try {
    // A pipe without a writer is not waited for.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return readAll(file, path).toString("utf8");
  } catch (error) {
    if (error instanceof KubeError) throw error;
    throw misconfigured(`${path} could not be read: ${error instanceof Error ? error.message : String(error)}`, error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Reads to the end, whatever size the file says that it has: a device may give bytes without end. */
function readAll(file: number, path: string): Buffer {
  const parts: Buffer[] = [];
  let waitedMs = 0;
  for (let length = 0; ; ) {
    const part = Buffer.alloc(limits.configFilePartBytes);
    const read = readReady(file, part);
    if (read === 0) return Buffer.concat(parts);
    if (read === undefined) {
      if (waitedMs >= limits.configFileMsMax) throw misconfigured(`${path} gave nothing for ${waitedMs / 1000} s`);
      pause(limits.configFilePollMs);
      waitedMs += limits.configFilePollMs;
      continue;
    }
    length += read;
    if (length > limits.configFileBytesMax)
      throw misconfigured(`${path} is larger than ${limits.configFileBytesMax} bytes`);
    parts.push(part.subarray(0, read));
  }
}

/** @returns bytes read, 0 at the end, undefined where the writer has not written yet */
function readReady(file: number, part: Buffer): number | undefined {
  try {
    return readSync(file, part);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}

/** Connections are chosen before anything else goes on, so that nothing is kept waiting. */
const pause = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * Chooses the connection as kubectl does: `--kubeconfig`, then KUBECONFIG (a list, merged, the first entry of a name
 * wins), then ~/.kube/config, then the Pod's own ServiceAccount.
 */
export async function connectionFrom(
  flags: ConnectionFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Connection> {
  const listed = (flags.kubeconfig ?? env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const home = join(env["HOME"] ?? homedir(), ".kube", "config");
  const files = listed.length > 0 ? listed : exists(home) ? [home] : [];
  if (files.length > 0) return fromFiles(files, flags);
  if (env["KUBERNETES_SERVICE_HOST"] !== undefined) {
    if (flags.context !== undefined)
      throw misconfigured("--context was given, but there is no kubeconfig that could hold it");
    return acting(inCluster(env, SERVICE_ACCOUNT_DIR), actsAs(flags, {}));
  }
  throw misconfigured(
    "no cluster is configured: give --kubeconfig, set KUBECONFIG, or run inside a Pod with a ServiceAccount",
  );
}

/** The connection of a Pod: KUBERNETES_SERVICE_HOST/PORT and the projected token, which kubelet rotates in place. */
export function inCluster(env: Readonly<Record<string, string | undefined>>, serviceAccountDir: string): Connection {
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  const namespaceFile = join(serviceAccountDir, "namespace");
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    namespace: exists(namespaceFile) ? readBounded(namespaceFile).trim() : "default",
    unpacked: true,
    credentials: async () => ({
      headers: { authorization: `Bearer ${readBounded(join(serviceAccountDir, "token")).trim()}` },
      tls: { ca: readBounded(join(serviceAccountDir, "ca.crt")), verify: true },
    }),
  };
}

/** What was asked for on the command line, else what the kubeconfig says of its user. */
const actsAs = ({ as, asGroup }: ConnectionFlags, user: Impersonation): Impersonation =>
  as === undefined && asGroup === undefined
    ? user
    : { ...(as === undefined ? {} : { as }), ...(asGroup === undefined ? {} : { "as-groups": [asGroup] }) };

function acting(connection: Connection, as: Impersonation): Connection {
  const added = impersonationHeaders(as);
  if (Object.keys(added).length === 0) return connection;
  const credentials = async (): Promise<Credentials> => {
    const own = await connection.credentials();
    return { ...own, headers: { ...own.headers, ...added } };
  };
  return { ...connection, credentials };
}

async function fromFiles(files: readonly string[], flags: ConnectionFlags): Promise<Connection> {
  const merged: Kubeconfig = { clusters: new Map(), contexts: new Map(), users: new Map() };
  for (const file of files) mergeFile(merged, file, await parseFile(file));
  const name = flags.context ?? merged.currentContext;
  if (name === undefined || name === "")
    throw misconfigured(`${files.join(delimiter)} names no current-context; give --context`);
  const context = merged.contexts.get(name);
  if (context === undefined)
    throw misconfigured(`there is no context ${JSON.stringify(name)} in ${files.join(delimiter)}`);
  const cluster = merged.clusters.get(context.cluster);
  if (cluster === undefined)
    throw misconfigured(`context ${name} names the cluster ${context.cluster}, which is not defined`);
  const user = merged.users.get(context.user) ?? {};
  const external = user.exec !== undefined || user["auth-provider"] !== undefined;
  const connection: Connection = {
    server: cluster.server.replace(/\/+$/, ""),
    namespace: context.namespace || "default",
    proxyUrl: cluster["proxy-url"],
    credentials: external
      ? () => externalCredentials(files, name, cluster)
      : async () => ({ headers: headersOf(user), tls: { ...clusterTls(cluster), ...clientCertificate(user) } }),
  };
  return acting(connection, actsAs(flags, user));
}

async function parseFile(file: string): Promise<v.InferOutput<typeof KubeconfigFile>> {
  const { parse } = await import("yaml");
  let raw: unknown;
  try {
    raw = parse(readBounded(file));
  } catch (error) {
    if (error instanceof KubeError) throw error;
    throw misconfigured(`${file} is not YAML`, error);
  }
  const parsed = v.safeParse(KubeconfigFile, raw ?? {});
  if (!parsed.success)
    throw misconfigured(
      `${file} is not a kubeconfig: ${v.getDotPath(parsed.issues[0]) ?? "the file"} is not as expected`,
    );
  return parsed.output;
}

function mergeFile(into: Kubeconfig, file: string, parsed: v.InferOutput<typeof KubeconfigFile>): void {
  const base = dirname(file);
  const absolute = <T extends object>(entry: T, keys: readonly (keyof T)[]): T => {
    const copy = { ...entry };
    for (const key of keys) {
      const path = copy[key];
      if (typeof path === "string" && !isAbsolute(path)) copy[key] = join(base, path) as T[keyof T];
    }
    return copy;
  };
  into.currentContext ??= parsed["current-context"];
  const entries = <T>(list: readonly unknown[] | null | undefined, key: string): [string, T][] =>
    (list ?? []).flatMap((item) => {
      const entry = item as { name: string } & Record<string, unknown>;
      return entry[key] === undefined || entry[key] === null ? [] : [[entry.name, entry[key] as T] as [string, T]];
    });
  for (const [name, cluster] of entries<Cluster>(parsed.clusters, "cluster")) {
    if (!into.clusters.has(name)) into.clusters.set(name, absolute(cluster, ["certificate-authority"]));
  }
  for (const [name, user] of entries<User>(parsed.users, "user")) {
    if (!into.users.has(name)) into.users.set(name, absolute(user, ["client-certificate", "client-key", "tokenFile"]));
  }
  for (const [name, context] of entries<Context>(parsed.contexts, "context")) {
    if (!into.contexts.has(name)) into.contexts.set(name, context);
  }
}

function pem(data: string | undefined, file: string | undefined): string | undefined {
  if (data !== undefined && data !== "") return Buffer.from(data, "base64").toString("utf8");
  return file === undefined || file === "" ? undefined : readBounded(file);
}

function clusterTls(cluster: Cluster): TlsMaterial {
  return {
    ca: pem(cluster["certificate-authority-data"], cluster["certificate-authority"]),
    serverName: cluster["tls-server-name"],
    verify: cluster["insecure-skip-tls-verify"] !== true,
  };
}

function clientCertificate(user: User): { cert?: string; key?: string } {
  return {
    cert: pem(user["client-certificate-data"], user["client-certificate"]),
    key: pem(user["client-key-data"], user["client-key"]),
  };
}

function headersOf(user: User): Record<string, string> {
  const token = user.tokenFile !== undefined && user.tokenFile !== "" ? readBounded(user.tokenFile).trim() : user.token;
  if (token !== undefined && token !== "") return { authorization: `Bearer ${token}` };
  if (user.username !== undefined && user.username !== "") {
    return { authorization: `Basic ${Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64")}` };
  }
  return {};
}

/**
 * Credential plugins (`exec`) and the older `auth-provider`s are the field client's business: its KubeConfig is loaded
 * only for such a user, because loading it costs more time and memory than everything else here together.
 */
async function externalCredentials(files: readonly string[], context: string, cluster: Cluster): Promise<Credentials> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  for (const [index, file] of files.entries()) {
    const part = index === 0 ? config : new KubeConfig();
    part.loadFromFile(file);
    if (index > 0) config.mergeConfig(part, true);
  }
  config.setCurrentContext(context);
  const options: Record<string, unknown> & { headers?: Record<string, unknown> } = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    throw misconfigured(`the credential plugin of context ${context} failed`, error);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  const asText = (value: unknown): string | undefined =>
    typeof value === "string" || value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : undefined;
  return { headers, tls: { ...clusterTls(cluster), cert: asText(options["cert"]), key: asText(options["key"]) } };
}
