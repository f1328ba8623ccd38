/**
 * The parameters a MySQL URL may carry, in one table: those of the reference's allow-list, each either carried out, without
 * meaning for one session that reads text, or refused by name. `sslrootcert` is ours: where the CA bundle is mounted.
 */

/** `value` says what a parameter may be; `honoured` values are read by `url.ts`, `idle` ones change nothing here. */
export type ParameterRule =
  | { readonly kind: "honoured" | "idle"; readonly value: RegExp; readonly allowed: string }
  | { readonly kind: "refused"; readonly why: string };

const BOOLEAN = /^(true|false|1|0|TRUE|FALSE|True|False)$/;
const TRUE_ONLY = /^(true|1|TRUE|True)$/;
const FALSE_ONLY = /^(false|0|FALSE|False)$/;
const DURATION = /^(\d+(\.\d+)?(ms|s|m|h))+$/;

const honoured = (value: RegExp, allowed: string): ParameterRule => ({ kind: "honoured", value, allowed });
const idle = (value: RegExp, allowed: string): ParameterRule => ({ kind: "idle", value, allowed });
const refused = (why: string): ParameterRule => ({ kind: "refused", why });

export const PARAMETERS: Readonly<Record<string, ParameterRule>> = {
  allowCleartextPasswords: honoured(BOOLEAN, "true or false"),
  allowFallbackToPlaintext: idle(FALSE_ONLY, "false: a session that asks for TLS is not opened without it"),
  allowNativePasswords: idle(TRUE_ONLY, "true"),
  allowOldPasswords: idle(FALSE_ONLY, "false: passwords of servers before 4.1 are not sent"),
  checkConnLiveness: idle(BOOLEAN, "true or false"),
  clientFoundRows: idle(BOOLEAN, "true or false"),
  collation: honoured(/^utf8mb4_[a-z0-9_]{1,50}$/, "a collation of utf8mb4"),
  columnsWithAlias: idle(BOOLEAN, "true or false"),
  compress: honoured(BOOLEAN, "true or false"),
  connectionAttributes: honoured(/^[^:,]{1,64}:[^:,]{0,256}(,[^:,]{1,64}:[^:,]{0,256}){0,15}$/, "name:value pairs"),
  interpolateParams: idle(BOOLEAN, "true or false"),
  loc: idle(/^[A-Za-z0-9_+/-]{1,64}$/, "a time zone's name"),
  maxAllowedPacket: refused("the largest packet is the server's own limit here"),
  multiStatements: refused("statements are sent one by one, so that each is known to have run"),
  parseTime: idle(BOOLEAN, "true or false"),
  readTimeout: refused("a statement is bounded by the server and by the operation's deadline"),
  rejectReadOnly: idle(BOOLEAN, "true or false"),
  serverPubKey: refused("keys registered in a program do not exist here; use tls"),
  sslrootcert: honoured(/^\/.{1,4095}$/, "an absolute path"),
  timeTruncate: idle(DURATION, "a duration"),
  timeout: honoured(DURATION, "a duration such as 10s"),
  tls: honoured(/^(true|false|skip-verify|preferred)$/, "true, false, skip-verify or preferred"),
  writeTimeout: refused("a statement is bounded by the server and by the operation's deadline"),
};

/** @returns why a URL with this parameter is not used, undefined where it may stand */
export function parameterProblem(name: string, value: string): string | undefined {
  const rule = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
  if (rule === undefined) return `has the parameter "${name.slice(0, 64)}", which is not supported; remove it`;
  if (rule.kind === "refused") return `has the parameter "${name}", which is not supported: ${rule.why}; remove it`;
  return rule.value.test(value)
    ? undefined
    : `has a value of "${name}" that is not supported; it may be ${rule.allowed}`;
}
