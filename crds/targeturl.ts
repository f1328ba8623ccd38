/**
 * What identifies a database in a URL, whatever the engine: the parts, their digest, and the refusals, none of which holds
 * a part of the URL.
 */
import { compareBytewise, sha256Digest } from "./canonical.ts";

export type TargetUrlProblem =
  | "url_not_parsable"
  | "scheme_not_supported"
  | "host_missing"
  | "several_hosts"
  | "host_invalid"
  | "port_invalid"
  | "port_missing"
  | "database_missing"
  | "database_invalid"
  | "parameter_repeated"
  | "parameter_ambiguous"
  | "parameter_empty"
  | "parameter_not_supported"
  | "multi_statements"
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

const MESSAGES: Readonly<Record<TargetUrlProblem, string>> = {
  // Without a password in the form: whoever hides credentials in what is logged would take that for one.
  url_not_parsable:
    "The database URL is no URL of the form postgres://user@host:port/database?parameters, or mysql:// for MySQL and " +
    "MariaDB, with :password behind the user. Write it so, with special characters percent-encoded.",
  scheme_not_supported:
    "The database URL's scheme is not one of spec.target.engine: postgres or postgresql for PostgreSQL, mysql or mariadb for MySQL.",
  host_missing: "The database URL names no host. Name one, or a socket: ?host=/path (PostgreSQL), unix(/path) (MySQL).",
  several_hosts: "The database URL names several hosts. Name the one that is changed.",
  host_invalid: "The database URL's host is no host name or address.",
  port_invalid: "The database URL's port is no number from 1 to 65535.",
  port_missing: "The database URL has an IPv6 address without a port. Name the port.",
  database_missing: "The database URL names no database.",
  database_invalid: "The database URL's path is more than one database name.",
  parameter_repeated: "The database URL repeats a parameter.",
  parameter_ambiguous: "The database URL gives both dbname and database. Keep one.",
  parameter_empty: "The database URL overrides host, port, database or user with an empty value.",
  parameter_not_supported: "The database URL has a parameter that is not supported for MySQL. Remove it.",
  multi_statements:
    "The database URL sets multiStatements, which is not supported: statements are sent one by one. Remove it.",
  ca_given_twice: "The database URL has sslrootcert while target.caFrom gives the CA. Keep one.",
};

/** Thrown inside the reading of a URL, never out of it. */
export class UrlProblem extends Error {
  constructor(readonly code: TargetUrlProblem) {
    super(MESSAGES[code]);
  }
}

/** Digest over the parts, as every implementation computes it. */
export function targetDigest(parts: TargetParts): string {
  return sha256Digest([parts.scheme, parts.route, parts.database, parts.context].join("\0"));
}

/** The identity that a reading of the parts gives, or why there is none. */
export function identityOf(readParts: () => TargetParts): TargetIdentity {
  try {
    const parts = readParts();
    return { ok: true, digest: targetDigest(parts), parts };
  } catch (error) {
    if (error instanceof UrlProblem) return { ok: false, code: error.code, message: error.message };
    throw error;
  }
}

/** Parameters of a query, each once. @param caPath where `target.caFrom` is mounted, as the parameter sslrootcert */
export function readParameters(query: string, caPath: string | undefined): Map<string, string> {
  const found = new Map<string, string>();
  for (const pair of query.split("&").filter((p) => p !== "")) {
    if (pair.includes(";")) throw new UrlProblem("url_not_parsable");
    const equals = pair.indexOf("=");
    const key = decode((equals < 0 ? pair : pair.slice(0, equals)).replaceAll("+", " "));
    if (found.has(key)) throw new UrlProblem("parameter_repeated");
    found.set(key, decode((equals < 0 ? "" : pair.slice(equals + 1)).replaceAll("+", " ")));
  }
  if (caPath === undefined) return found;
  if (found.has("sslrootcert")) throw new UrlProblem("ca_given_twice");
  return found.set("sslrootcert", caPath);
}

/** Percent-decodes. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UrlProblem("url_not_parsable");
  }
}

/** A port, or the engine's own where none is given. */
export function portNumber(port: string | undefined, defaultPort: number): number {
  if (port === undefined) return defaultPort;
  const number = /^[0-9]{1,6}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw new UrlProblem("port_invalid");
  return number;
}

/** The route over a network: host in lower case, addresses in one spelling, the engine's own port left out. */
export function networkRoute(host: string, port: number, defaultPort: number): string {
  const name = host.includes(":") ? canonicalIpv6(host) : host.toLowerCase();
  if (/[\s/@[\]]/.test(name.replace(/^\[.*\]$/, ""))) throw new UrlProblem("host_invalid");
  return port === defaultPort ? name : `${name}:${port}`;
}

function canonicalIpv6(address: string): string {
  try {
    return new URL(`http://[${address.replace(/^\[|\]$/g, "")}]`).hostname;
  } catch {
    throw new UrlProblem("host_invalid");
  }
}

/** What a session runs under: the user and every parameter that is not left out, sorted. */
export function executionContext(
  user: string,
  parameters: ReadonlyMap<string, string>,
  leftOut: ReadonlySet<string>,
): string {
  const bound = [...parameters]
    .filter(([key]) => !leftOut.has(key))
    .sort(([a], [b]) => compareBytewise(a, b))
    .map(([key, value]) => `${queryEscape(key)}=${queryEscape(value)}`);
  return `user=${queryEscape(user)}&${bound.join("&")}`;
}

/** Go's `url.QueryEscape`: everything but letters, digits and `-_.~`, a space as `+`. */
export function queryEscape(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}
