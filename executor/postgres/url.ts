import type { ConnectionOptions } from "node:tls";
import { Refused } from "../contract.ts";
import { MAX_CERTIFICATE_BYTES, MAX_DURATION_MS } from "../limits.ts";
import { readRegularFile } from "../regular-file.ts";

export type SslMode = "disable" | "prefer" | "require" | "verify-ca" | "verify-full";

/** A parsed connection string. The password stays in here and in the driver; `display` is safe to print. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly sslMode: SslMode;
  readonly ssl: ConnectionOptions | undefined;
  readonly sslRootCert: string | undefined;
  readonly connectTimeoutMs: number | undefined;
  /** Start-up options (`options`, `search_path`, `application_name`). */
  readonly options: string | undefined;
  readonly applicationName: string | undefined;
  readonly display: string;
}

const DEFAULT_PORT = 5432;
const SSL_MODES: readonly string[] = ["disable", "prefer", "require", "verify-ca", "verify-full"];
const PARAMETERS: readonly string[] = [
  "host",
  "port",
  "dbname",
  "database",
  "user",
  "password",
  "sslmode",
  "sslrootcert",
  "connect_timeout",
  "options",
  "search_path",
  "application_name",
];

const SCHEME = /^(?:postgres|postgresql|pgx):\/\//;

/** Whether this is a URL of PostgreSQL, by its scheme. */
export const isPostgresUrl = (url: string): boolean => SCHEME.test(url.trim());

/**
 * Reads a `postgres://` URL as libpq does, with the sslmode rules applied by ourselves (the driver would read `require` as
 * `verify-full`). What is not honoured is refused by its name: an ignored security parameter would be worse than none.
 * @param variable the name of the variable the URL came from, for the sentence of a refusal
 */
export function parseTarget(url: string, variable: string): Target {
  const refuse: Refuse = (what) => {
    throw new Refused("invalid_target", `${variable} ${what}`);
  };
  const { location, query } = splitUrl(url, refuse);
  for (const key of new Set(query.keys())) {
    // What stands behind an unescaped ? of a password looks like a parameter, and is not repeated.
    if (!/^[a-z_]{1,40}$/.test(key)) refuse(UNESCAPED);
    if (!PARAMETERS.includes(key)) refuse(`has the parameter "${key}", which is not supported; remove it`);
    if (query.getAll(key).length > 1) refuse(`repeats the parameter "${key}"`);
  }
  const given = (key: string): string | undefined => query.get(key) || undefined;
  const route = routeOf(location, given, refuse);
  const { host, port, database } = route;
  const onSocket = host.startsWith("/");
  const sslRootCert = given("sslrootcert");
  const sslMode = modeOf(given("sslmode"), onSocket, sslRootCert, refuse);
  const seconds = secondsOf(given("connect_timeout"), refuse);
  return {
    ...route,
    password: given("password") ?? location.password,
    sslMode,
    ssl: onSocket ? undefined : tlsOptions(sslMode, host, sslRootCert, refuse),
    sslRootCert,
    connectTimeoutMs: seconds > 0 ? seconds * 1_000 : undefined,
    options: startupOptions(given("options"), given("search_path")),
    applicationName: given("application_name"),
    display: onSocket ? `postgres:///${database}?host=${host}&port=${port}` : `postgres://${host}:${port}/${database}`,
  };
}

/** A name or an address; what an unescaped @ of a password leaves in its place would be repeated by whoever cannot find it. */
const HOST = /^[\p{L}\p{N}._:%-]+$/u;
const SOCKET_DIRECTORY = /^\/[^\p{Cc}@]*$/u;
const UNESCAPED =
  "cannot be read without doubt: write each @ / ? # % and : of the user's name and password as a percent escape (%40 %2F %3F %23 %25 %3A)";

/** libpq's connect_timeout: whole seconds; 0 and less mean the caller's own bound. */
function secondsOf(text: string | undefined, refuse: Refuse): number {
  if (text === undefined) return 0;
  if (!/^-?\d{1,9}$/.test(text) || Number(text) * 1_000 > MAX_DURATION_MS)
    refuse("has a connect_timeout that is not a number of seconds below 604800");
  return Number(text);
}

type Refuse = (what: string) => never;
type Route = Pick<Target, "host" | "port" | "user" | "database">;

/** Query parameters override the parts of the URL, as in libpq. */
function routeOf(location: Location, given: (key: string) => string | undefined, refuse: Refuse): Route {
  const host = given("host") ?? location.host;
  if (host === "") refuse("names no host");
  if (host.includes(",")) refuse("names more than one host; name one");
  if (!(host.startsWith("/") ? SOCKET_DIRECTORY : HOST).test(host)) refuse(UNESCAPED);
  const portText = given("port") ?? (location.port || String(DEFAULT_PORT));
  const port = Number(portText);
  if (!/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535) refuse("has an invalid port");
  const database = given("dbname") ?? given("database") ?? location.database;
  if (database === "" || database.includes("/")) refuse("names no single database");
  if (database.includes("@")) refuse(UNESCAPED);
  const user = given("user") ?? location.user;
  if (user === "") refuse("names no user");
  return { host, port, user, database };
}

function startupOptions(options: string | undefined, searchPath: string | undefined): string | undefined {
  if (searchPath === undefined) return options;
  const path = `-csearch_path=${searchPath.replaceAll(/[\\ ]/g, "\\$&")}`;
  return options === undefined ? path : `${options} ${path}`;
}

interface Location {
  readonly host: string;
  readonly port: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
}

function splitUrl(url: string, refuse: Refuse): { location: Location; query: URLSearchParams } {
  if (!isPostgresUrl(url)) return refuse("is not a postgres:// or postgresql:// URL, the forms that are taken here");
  const match = /^(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(url.trim().replace(SCHEME, ""));
  if (match === null) return refuse(UNESCAPED);
  const [, userInfo = "", authority = "", path = "", search = ""] = match;
  const colon = userInfo.indexOf(":");
  const hostPort = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority);
  if (hostPort === null)
    return refuse(authority.includes(",") ? "names more than one host; name one" : "has an unreadable host or port");
  try {
    return {
      location: {
        host: decodeURIComponent((hostPort[1] ?? "").replace(/^\[(.*)\]$/, "$1")),
        port: hostPort[2] ?? "",
        user: decodeURIComponent(colon < 0 ? userInfo : userInfo.slice(0, colon)),
        password: colon < 0 ? undefined : decodeURIComponent(userInfo.slice(colon + 1)),
        database: decodeURIComponent(path),
      },
      query: new URLSearchParams(search),
    };
  } catch {
    return refuse("has a broken percent escape");
  }
}

/** With a CA bundle the certificate is checked, name and all where the URL does not ask for less; what would not check it contradicts it. */
function modeOf(asked: string | undefined, onSocket: boolean, rootCert: string | undefined, refuse: Refuse): SslMode {
  const otherwise = onSocket ? "disable" : rootCert === undefined ? "prefer" : "verify-full";
  const mode = (asked ?? otherwise) as SslMode;
  if (!SSL_MODES.includes(mode)) refuse(`has an sslmode that is not one of ${SSL_MODES.join(", ")}`);
  if (rootCert !== undefined && (mode === "disable" || mode === "prefer"))
    refuse("gives a CA bundle, but its sslmode would not check it; use verify-full, or remove the bundle");
  return mode;
}

/** TLS as libpq means it: `require` with a root certificate checks the chain; only `verify-full` checks the name. */
function tlsOptions(
  mode: SslMode,
  host: string,
  rootCert: string | undefined,
  refuse: Refuse,
): ConnectionOptions | undefined {
  if (mode === "disable") return undefined;
  const ca = rootCert === undefined || rootCert === "system" ? undefined : readCertificate(rootCert, refuse);
  if (mode === "prefer" || (mode === "require" && ca === undefined)) return { rejectUnauthorized: false };
  const verified: ConnectionOptions = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
  if (mode === "verify-full") return { ...verified, servername: host };
  return { ...verified, checkServerIdentity: () => undefined };
}

function readCertificate(path: string, refuse: Refuse): string {
  try {
    return readRegularFile(path, MAX_CERTIFICATE_BYTES).toString("utf8");
  } catch {
    return refuse("names an sslrootcert file that cannot be read");
  }
}
