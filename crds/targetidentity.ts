/**
 * The identity of a database as its URL names it: scheme, route, database and execution context, never the password, so
 * that a rotated password keeps plans valid and a URL that points elsewhere does not.
 */
import type { Engine } from "./engine.ts";
import { mysqlTargetIdentity } from "./mysqltarget.ts";
import {
  decode,
  executionContext,
  identityOf,
  networkRoute,
  portNumber,
  queryEscape,
  readParameters,
  type TargetIdentity,
  type TargetParts,
  UrlProblem,
} from "./targeturl.ts";

export * from "./mysqltarget.ts";
export { type TargetIdentity, type TargetParts, type TargetUrlProblem, targetDigest } from "./targeturl.ts";

const SCHEMES: Readonly<Record<string, string>> = { postgres: "postgres", postgresql: "postgres", pgx: "postgres" };
const DEFAULT_PORT = 5432;
/** Parameters that name the route or carry a secret or a mere wait; all others are bound. */
const NOT_CONTEXT: ReadonlySet<string> = new Set([
  "host",
  "port",
  "dbname",
  "database",
  "user",
  "password",
  "sslpassword",
  "connect_timeout",
]);

/**
 * The identity of a target of one engine.
 * @param url the database URL, a secret: no part of it is in a returned message
 * @param caPath where `target.caFrom` is mounted; its path, not its bytes, is part of the identity
 */
export function targetIdentity(engine: Engine, url: string, caPath?: string): TargetIdentity {
  return engine === "mysql" ? mysqlTargetIdentity(url, caPath) : postgresTargetIdentity(url, caPath);
}

/** The identity of a PostgreSQL target; see {@link targetIdentity}. */
export function postgresTargetIdentity(url: string, caPath?: string): TargetIdentity {
  return identityOf(() => readParts(url, caPath));
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
  const parameters = readParameters(form[4] ?? "", caPath);
  const [host, port] = splitHostPort(authority.slice(at + 1));
  const user = override(parameters, "user") ?? decode(userInfo.split(":")[0] ?? "");
  return {
    scheme,
    route: route(override(parameters, "host") ?? decode(host), override(parameters, "port") ?? port),
    database: database(form[3] ?? "", parameters),
    context: executionContext(user, parameters, NOT_CONTEXT),
  };
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

function route(host: string, port: string | undefined): string {
  const number = portNumber(port, DEFAULT_PORT);
  if (host === "") throw new UrlProblem("host_missing");
  if (host.includes(",")) throw new UrlProblem("several_hosts");
  if (host.startsWith("/")) return `unix:path=${queryEscape(host)}&port=${number}`;
  return networkRoute(host, number, DEFAULT_PORT);
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
