/**
 * The identity of a database as its URL names it: scheme, route, database and execution context, never the password, so
 * that a rotated password keeps plans valid and a URL that points elsewhere does not.
 */
import { compareBytewise, sha256Digest } from "./canonical.ts";

export type TargetUrlProblem =
  | "url_not_parsable"
  | "scheme_not_supported"
  | "host_missing"
  | "several_hosts"
  | "host_invalid"
  | "port_invalid"
  | "database_missing"
  | "database_invalid"
  | "parameter_repeated"
  | "parameter_ambiguous"
  | "parameter_empty"
  | "ca_given_twice";

export type TargetIdentity =
  | { readonly ok: true; readonly digest: string; readonly parts: TargetParts }
  | { readonly ok: false; readonly code: TargetUrlProblem; readonly message: string };

/** What the digest is made of, joined by NUL in this order. */
export interface TargetParts {
  readonly scheme: string;
  readonly route: string;
  readonly database: string;
  readonly context: string;
}

const SCHEMES: Readonly<Record<string, string>> = { postgres: "postgres", postgresql: "postgres", pgx: "postgres" };
const DEFAULT_PORT = 5432;
/** Parameters that name the route or carry a secret or a mere wait; all others are bound. */
const NOT_CONTEXT = new Set([
  "host",
  "port",
  "dbname",
  "database",
  "user",
  "password",
  "sslpassword",
  "connect_timeout",
]);

const MESSAGES: Readonly<Record<TargetUrlProblem, string>> = {
  url_not_parsable: "The database URL is no URL of the form postgres://user:password@host:port/database?parameters.",
  scheme_not_supported: "The database URL has another scheme than postgres or postgresql.",
  host_missing: "The database URL names no host. Name one, or a socket directory with ?host=/path.",
  several_hosts: "The database URL names several hosts. Name the one that is changed.",
  host_invalid: "The database URL's host is no host name or address.",
  port_invalid: "The database URL's port is no number from 1 to 65535.",
  database_missing: "The database URL names no database.",
  database_invalid: "The database URL's path is more than one database name.",
  parameter_repeated: "The database URL repeats a parameter.",
  parameter_ambiguous: "The database URL gives both dbname and database. Keep one.",
  parameter_empty: "The database URL overrides host, port, database or user with an empty value.",
  ca_given_twice: "The database URL has sslrootcert while target.caFrom gives the CA. Keep one.",
};

class UrlProblem extends Error {
  constructor(readonly code: TargetUrlProblem) {
    super(MESSAGES[code]);
  }
}

/** Digest over the parts, as every implementation computes it. */
export function targetDigest(parts: TargetParts): string {
  return sha256Digest([parts.scheme, parts.route, parts.database, parts.context].join("\0"));
}

/**
 * The identity of a PostgreSQL target.
 * @param url the database URL, a secret: no part of it is in a returned message
 * @param caPath where `target.caFrom` is mounted; its path, not its bytes, is part of the identity
 */
export function postgresTargetIdentity(url: string, caPath?: string): TargetIdentity {
  try {
    const parts = readParts(url, caPath);
    return { ok: true, digest: targetDigest(parts), parts };
  } catch (error) {
    if (error instanceof UrlProblem) return { ok: false, code: error.code, message: error.message };
    throw error;
  }
}

const URL_FORM = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;

function readParts(url: string, caPath: string | undefined): TargetParts {
  const form = URL_FORM.exec(url);
  if (form === null) throw new UrlProblem("url_not_parsable");
  const scheme = SCHEMES[(form[1] ?? "").toLowerCase()];
  if (scheme === undefined) throw new UrlProblem("scheme_not_supported");
  const authority = form[2] ?? "";
  const at = authority.lastIndexOf("@");
  const userInfo = at < 0 ? "" : authority.slice(0, at);
  const parameters = readParameters(form[4] ?? "");
  if (caPath !== undefined) {
    if (parameters.has("sslrootcert")) throw new UrlProblem("ca_given_twice");
    parameters.set("sslrootcert", caPath);
  }
  const [host, port] = splitHostPort(authority.slice(at + 1));
  const user = override(parameters, "user") ?? decode(userInfo.split(":")[0] ?? "");
  return {
    scheme,
    route: route(override(parameters, "host") ?? decode(host), override(parameters, "port") ?? port),
    database: database(form[3] ?? "", parameters),
    context: context(user, parameters),
  };
}

function readParameters(query: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const pair of query.split("&").filter((p) => p !== "")) {
    if (pair.includes(";")) throw new UrlProblem("url_not_parsable");
    const equals = pair.indexOf("=");
    const key = decode((equals < 0 ? pair : pair.slice(0, equals)).replaceAll("+", " "));
    if (found.has(key)) throw new UrlProblem("parameter_repeated");
    found.set(key, decode((equals < 0 ? "" : pair.slice(equals + 1)).replaceAll("+", " ")));
  }
  return found;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UrlProblem("url_not_parsable");
  }
}

function override(parameters: ReadonlyMap<string, string>, key: string): string | undefined {
  const value = parameters.get(key);
  if (value === "") throw new UrlProblem("parameter_empty");
  return value;
}

function splitHostPort(authority: string): readonly [string, string | undefined] {
  if (authority.includes(",")) throw new UrlProblem("several_hosts");
  const match = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority);
  if (match === null) throw new UrlProblem("host_invalid");
  return [(match[1] ?? "").replace(/^\[|\]$/g, ""), match[2] === "" ? undefined : match[2]];
}

function portNumber(port: string | undefined): number {
  if (port === undefined) return DEFAULT_PORT;
  const number = /^[0-9]{1,6}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw new UrlProblem("port_invalid");
  return number;
}

function route(host: string, port: string | undefined): string {
  const number = portNumber(port);
  if (host === "") throw new UrlProblem("host_missing");
  if (host.includes(",")) throw new UrlProblem("several_hosts");
  if (host.startsWith("/")) return `unix:path=${queryEscape(host)}&port=${number}`;
  const name = host.includes(":") ? canonicalIpv6(host) : host.toLowerCase();
  if (/[\s/@[\]]/.test(name.replace(/^\[.*\]$/, ""))) throw new UrlProblem("host_invalid");
  return number === DEFAULT_PORT ? name : `${name}:${number}`;
}

function canonicalIpv6(address: string): string {
  try {
    return new URL(`http://[${address.replace(/^\[|\]$/g, "")}]`).hostname;
  } catch {
    throw new UrlProblem("host_invalid");
  }
}

function database(path: string, parameters: ReadonlyMap<string, string>): string {
  if (parameters.has("dbname") && parameters.has("database")) throw new UrlProblem("parameter_ambiguous");
  const named = override(parameters, "dbname") ?? override(parameters, "database");
  if (named !== undefined) return named;
  const segment = path.replace(/^\//, "");
  if (segment === "") throw new UrlProblem("database_missing");
  if (segment.includes("/")) throw new UrlProblem("database_invalid");
  return decode(segment);
}

function context(user: string, parameters: ReadonlyMap<string, string>): string {
  const bound = [...parameters]
    .filter(([key]) => !NOT_CONTEXT.has(key))
    .sort(([a], [b]) => compareBytewise(a, b))
    .map(([key, value]) => `${queryEscape(key)}=${queryEscape(value)}`);
  return `user=${queryEscape(user)}&${bound.join("&")}`;
}

/** Go's `url.QueryEscape`: everything but letters, digits and `-_.~`, a space as `+`. */
function queryEscape(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}
