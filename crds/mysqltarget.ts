/** The identity of a MySQL or MariaDB target, from a URL or from the driver's own form. */
import {
  decode,
  executionContext,
  identityOf,
  networkRoute,
  portNumber,
  readParameters,
  type TargetIdentity,
  type TargetParts,
  UrlProblem,
} from "./targeturl.ts";

const DEFAULT_PORT = 3306;

/** Parameters that are mere waits or sizes; all other known ones are bound. */
const NOT_CONTEXT: ReadonlySet<string> = new Set([
  "checkConnLiveness",
  "maxAllowedPacket",
  "readTimeout",
  "timeout",
  "writeTimeout",
]);

/** Every parameter a URL may have. Any other could be a session variable that changes what a statement means. */
const KNOWN: ReadonlySet<string> = new Set([
  ...NOT_CONTEXT,
  "allowCleartextPasswords",
  "allowFallbackToPlaintext",
  "allowNativePasswords",
  "allowOldPasswords",
  "clientFoundRows",
  "collation",
  "columnsWithAlias",
  "compress",
  "connectionAttributes",
  "interpolateParams",
  "loc",
  "parseTime",
  "rejectReadOnly",
  "serverPubKey",
  "timeTruncate",
  "tls",
  // Ours: where target.caFrom is mounted.
  "sslrootcert",
]);

/**
 * The identity of a MySQL target: `mysql://user:password@host:port/database?parameters`, or the driver's form
 * `[mysql://]user:password@tcp(host:port)/database` and `…@unix(/path)/database`. A URL and the driver's form of the same
 * connection are one database.
 * @param url the database URL, a secret: no part of it is in a returned message
 * @param caPath where `target.caFrom` is mounted; its path, not its bytes, is part of the identity
 */
export function mysqlTargetIdentity(url: string, caPath?: string): TargetIdentity {
  return identityOf(() => readParts(url, caPath));
}

interface Location {
  readonly user: string;
  readonly route: string;
  readonly database: string;
}

function readParts(url: string, caPath: string | undefined): TargetParts {
  const mark = url.indexOf("?");
  const [location, query] = mark < 0 ? [url, ""] : [url.slice(0, mark), url.slice(mark + 1)];
  if (query.includes("#")) throw new UrlProblem("url_not_parsable");
  const { user, route, database } = driverLocation(location) ?? urlLocation(location);
  const parameters = readParameters(query, caPath);
  if (parameters.has("multiStatements")) throw new UrlProblem("multi_statements");
  for (const name of parameters.keys()) if (!KNOWN.has(name)) throw new UrlProblem("parameter_not_supported");
  return { scheme: "mysql", route, database, context: executionContext(user, parameters, NOT_CONTEXT) };
}

/** The driver splits at the last `@` and decodes nothing. @returns undefined for another form */
function driverLocation(text: string): Location | undefined {
  const form = /^(?:(?:mysql|mariadb):\/\/)?(.*)@(tcp|unix)\(([^)]*)\)\/(.*)$/is.exec(text);
  if (form === null) return undefined;
  const [, userInfo = "", network = "", address = "", name = ""] = form;
  const user = userInfo.split(":")[0] ?? "";
  if (network.toLowerCase() === "unix") {
    if (!address.startsWith("/")) throw new UrlProblem("host_invalid");
    return { user, route: `unix:${address}`, database: databaseName(name) };
  }
  return { user, route: hostRoute(address), database: databaseName(name) };
}

const URL_FORM = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(?:\/([^?#]*))?$/;

function urlLocation(text: string): Location {
  const form = URL_FORM.exec(text);
  if (form === null) throw new UrlProblem("url_not_parsable");
  const [, scheme = "", authority = "", path = ""] = form;
  if (!["mysql", "mariadb"].includes(scheme.toLowerCase())) throw new UrlProblem("scheme_not_supported");
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (/^\[[^\]]*\]:?$/.test(host)) throw new UrlProblem("port_missing");
  if (/%2f|%3f|%25/i.test(path)) throw new UrlProblem("database_invalid");
  return {
    user: decode((at < 0 ? "" : authority.slice(0, at)).split(":")[0] ?? ""),
    route: hostRoute(decode(host)),
    database: decode(databaseName(path)),
  };
}

function hostRoute(address: string): string {
  if (address.includes(",")) throw new UrlProblem("several_hosts");
  const match = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(address);
  if (match === null) throw new UrlProblem("host_invalid");
  const host = (match[1] ?? "").replace(/^\[|\]$/g, "");
  if (host === "") throw new UrlProblem("host_missing");
  return networkRoute(host, portNumber(match[2] === "" ? undefined : match[2], DEFAULT_PORT), DEFAULT_PORT);
}

function databaseName(path: string): string {
  if (path === "") throw new UrlProblem("database_missing");
  if (path.includes("/")) throw new UrlProblem("database_invalid");
  return path;
}
