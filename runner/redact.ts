import { SECRET_ENV } from "../workload/environment.ts";

const HIDDEN = "[REDACTED]";
/** Query parameters of a database URL whose value is a secret. */
const SECRET_PARAMETER =
  /^(password|sslpassword|passfile|options|token|secret|pass|pwd|.*password.*|.*secret.*|.*token.*)$/i;
/** A secret shorter than this would hide ordinary words and numbers. */
const SECRET_LENGTH_MIN = 4;
/** A secret shorter than this is hidden only where it stands alone: "test" is a password and a part of "latest". */
const SUBSTRING_LENGTH_MIN = 8;

/** Replaces every credential of this process's environment, in each form it may have been written. */
export interface Redactor {
  /** The text with every credential replaced. */
  text(text: string): string;
  /** Whether the text holds one. */
  finds(text: string): boolean;
}

/**
 * @param env the runner's environment; values of the secret variables, the passwords inside them and their escaped forms are
 * hidden, and any `scheme://user:password@` and the MySQL driver's `user:password@tcp(`
 */
export function createRedactor(
  env: Readonly<Record<string, string | undefined>>,
  extra: readonly string[] = [],
): Redactor {
  const secrets = new Set<string>();
  for (const value of [...SECRET_ENV.map((name) => env[name]), ...extra]) {
    if (value === undefined || value === "") continue;
    for (const part of [value, ...partsOf(value)]) for (const form of formsOf(part)) secrets.add(form);
  }
  // The longest first, so that a URL is hidden whole before the password inside it.
  const patterns = [...secrets]
    .filter((s) => s.length >= SECRET_LENGTH_MIN)
    .sort((a, b) => b.length - a.length)
    .map(patternOf);
  const text = (input: string): string => {
    let out = input;
    for (const pattern of patterns) out = out.replace(pattern, HIDDEN);
    return out
      .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@:"'<>]+:[^\s/@"'<>]+@/gi, `$1${HIDDEN}@`)
      .replace(/[^\s/@:"'<>()]{1,256}:[^\s"'<>]{1,256}@(tcp|unix)\(/gi, `${HIDDEN}@$1(`);
  };
  return { text, finds: (input) => text(input) !== input };
}

function patternOf(secret: string): RegExp {
  const literal = secret.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return secret.length >= SUBSTRING_LENGTH_MIN
    ? new RegExp(literal, "g")
    : new RegExp(`(?<![A-Za-z0-9_])${literal}(?![A-Za-z0-9_])`, "g");
}

/**
 * Passwords and secret-looking parameters inside a URL, raw and decoded. A password that is the user's or the database's own
 * name says nothing that the rest of the URL does not, and would hide every mention of that role.
 */
function partsOf(url: string): string[] {
  const found: string[] = [];
  const userInfo = userInfoOf(url);
  const colon = userInfo?.indexOf(":") ?? -1;
  if (userInfo !== undefined && colon >= 0) {
    const password = userInfo.slice(colon + 1);
    const database = /^[^?#]*\/([^/?#]*)(?:[?#]|$)/.exec(url)?.[1];
    if (password !== userInfo.slice(0, colon) && password !== database) found.push(password);
  }
  const query = url.includes("?") ? url.slice(url.indexOf("?") + 1) : "";
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    if (equals > 0 && SECRET_PARAMETER.test(pair.slice(0, equals))) found.push(pair.slice(equals + 1));
  }
  return found.flatMap((part) => [part, decoded(part)]);
}

/** The MySQL driver's own form splits at the last `@`: its password may hold any character. */
function userInfoOf(url: string): string | undefined {
  const driver = /^(?:[a-z]+:\/\/)?(.*)@(?:tcp|unix)\([^)]*\)\//is.exec(url)?.[1];
  return driver ?? /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)@/i.exec(url)?.[1];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    json,
    json.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026"),
    encodeURIComponent(secret),
    encodeURIComponent(secret).replaceAll("%20", "+"),
    encodeURI(secret),
  ];
}
