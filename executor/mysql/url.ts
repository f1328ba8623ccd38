import { Refused } from "../contract.ts";
import { parseDurationMs } from "../flags.ts";
import { MAX_CERTIFICATE_BYTES } from "../limits.ts";
import { readRegularFile } from "../regular-file.ts";
import { parameterProblem } from "./parameters.ts";

export type TlsMode = "off" | "preferred" | "unverified" | "verified";

/** A parsed MySQL or MariaDB URL. The password stays in here and in the driver; `display` is safe to print. */
export interface MysqlTarget {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly tls: TlsMode;
  /** PEM bundle that a verified session trusts; undefined for the system's authorities. */
  readonly ca: string | undefined;
  readonly connectTimeoutMs: number | undefined;
  readonly collation: string | undefined;
  readonly compress: boolean;
  readonly cleartextPasswords: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly display: string;
}

const DEFAULT_PORT = 3306;

type Refuse = (what: string) => never;

interface Location {
  readonly host: string;
  readonly port: string;
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
}

/** Whether this is a URL of the MySQL family: by its scheme, or by the driver's own form `user@tcp(host)/db`. */
export const isMysqlUrl = (url: string): boolean =>
  /^(mysql|mariadb):\/\//i.test(url.trim()) || /@(tcp|unix)\(/i.test(url);

/**
 * Reads `mysql://user:password@host:port/database?…` or the driver's `[mysql://]user:password@tcp(host:port)/database?…` and
 * `@unix(/path)` forms. What is not honoured is refused by its name (`parameters.ts`).
 * @param variable what the URL is called in the sentence of a refusal
 */
export function parseMysqlTarget(url: string, variable: string): MysqlTarget {
  const refuse: Refuse = (what) => {
    throw new Refused("invalid_target", `${variable} ${what}`);
  };
  const text = url.trim();
  const mark = text.indexOf("?");
  const location = locationOf(mark < 0 ? text : text.slice(0, mark), refuse);
  const query = parametersOf(mark < 0 ? "" : text.slice(mark + 1), refuse);
  const port = Number(location.port || DEFAULT_PORT);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) refuse("has an invalid port");
  if (location.user === "") refuse("names no user");
  if (location.database === "" || location.database.includes("/")) refuse("names no single database");
  if (location.host === "" && location.socketPath === undefined) refuse("names no host");
  const on = (name: string): boolean => /^(true|1)$/i.test(query.get(name) ?? "");
  const timeout = query.get("timeout");
  const place = location.socketPath ?? `${location.host.includes(":") ? `[${location.host}]` : location.host}:${port}`;
  return {
    ...location,
    port,
    ...tlsOf(query, location.socketPath !== undefined, refuse),
    connectTimeoutMs: timeout === undefined ? undefined : boundOf(timeout, refuse),
    collation: query.get("collation"),
    compress: on("compress"),
    cleartextPasswords: on("allowCleartextPasswords"),
    attributes: attributesOf(query.get("connectionAttributes")),
    display: `mysql://${place}/${location.database}`,
  };
}

/** A bound of nothing is none to the driver: a peer that says nothing would be waited for without an end. */
function boundOf(timeout: string, refuse: Refuse): number {
  const ms = parseDurationMs(timeout, "timeout");
  return ms > 0 ? ms : refuse('has a "timeout" of 0, which would wait without an end; give a duration such as 10s');
}

function parametersOf(text: string, refuse: Refuse): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (found.has(name)) refuse(`repeats the parameter "${name.slice(0, 64)}"`);
    const problem = parameterProblem(name, value);
    if (problem !== undefined) refuse(problem);
    found.set(name, value);
  }
  return found;
}

/** The driver's own form splits at the last `@` and does not decode; a URL does. */
function locationOf(text: string, refuse: Refuse): Location {
  const driver = /^(?:(?:mysql|mariadb):\/\/)?(.*)@(tcp|unix)\(([^)]*)\)\/(.*)$/is.exec(text);
  if (driver !== null) return driverLocation(driver, refuse);
  const match = /^(?:mysql|mariadb):\/\/(?:(.*)@)?(\[[^\]]*\]|[^:/@]*)(?::(\d*))?\/([^/]*)$/is.exec(text);
  if (match === null)
    return refuse(
      text.includes(",")
        ? "names more than one host; name one"
        : "is not of the form mysql://user@host:port/database or user@tcp(host:port)/database",
    );
  const [, userInfo = "", host = "", port = "", path = ""] = match;
  if (host.startsWith("[") && port === "") refuse("has an IPv6 address without a port; name the port");
  if (/%2f|%3f|%25/i.test(path)) refuse("has a database name with an encoded slash, question mark or percent sign");
  if (host.includes(",")) refuse("names more than one host; name one");
  const colon = userInfo.indexOf(":");
  try {
    return {
      host: decodeURIComponent(host.replace(/^\[(.*)\]$/, "$1")),
      port,
      socketPath: undefined,
      user: decodeURIComponent(colon < 0 ? userInfo : userInfo.slice(0, colon)),
      password: colon < 0 ? undefined : decodeURIComponent(userInfo.slice(colon + 1)),
      database: decodeURIComponent(path),
    };
  } catch {
    return refuse("has a broken percent escape");
  }
}

function driverLocation(match: RegExpExecArray, refuse: Refuse): Location {
  const [, userInfo = "", network = "", address = "", database = ""] = match;
  const colon = userInfo.indexOf(":");
  const account = {
    user: colon < 0 ? userInfo : userInfo.slice(0, colon),
    password: colon < 0 ? undefined : userInfo.slice(colon + 1),
    database,
  };
  if (network.toLowerCase() === "unix") {
    if (!address.startsWith("/")) refuse("names a socket that is no absolute path");
    return { ...account, host: "", port: "", socketPath: address };
  }
  const hostPort = /^(\[[^\]]*\]|[^:,]*)(?::(\d*))?$/.exec(address);
  if (hostPort === null) return refuse("has an unreadable host or port");
  const host = (hostPort[1] ?? "").replace(/^\[(.*)\]$/, "$1");
  return { ...account, host, port: hostPort[2] ?? "", socketPath: undefined };
}

/** With a CA bundle the session is verified, name and all; what would check less contradicts it. */
function tlsOf(
  query: ReadonlyMap<string, string>,
  onSocket: boolean,
  refuse: Refuse,
): { readonly tls: TlsMode; readonly ca: string | undefined } {
  const modes: Readonly<Record<string, TlsMode>> = {
    true: "verified",
    false: "off",
    "skip-verify": "unverified",
    preferred: "preferred",
  };
  const bundle = query.get("sslrootcert");
  const asked = query.get("tls");
  const tls = modes[asked ?? (bundle === undefined ? "false" : "true")] ?? "verified";
  if (bundle !== undefined && tls !== "verified") refuse("gives a CA bundle, but its tls parameter would not check it");
  if (onSocket && tls !== "off") refuse("asks for TLS on a local socket");
  return { tls, ca: bundle === undefined ? undefined : readBundle(bundle, refuse) };
}

function readBundle(path: string, refuse: Refuse): string {
  try {
    return readRegularFile(path, MAX_CERTIFICATE_BYTES).toString("utf8");
  } catch {
    return refuse("names a CA bundle that cannot be read");
  }
}

const attributesOf = (text: string | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (text ?? "").split(",").flatMap((pair) => (pair === "" ? [] : [pair.split(":") as [string, string]])),
  );
