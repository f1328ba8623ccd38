import * as v from "valibot";
import { LIMITS } from "./limits.ts";
import { orderedPrivileges, PRIVILEGE_CHANGES } from "./privileges.ts";
import { SEVERITIES } from "./severity.ts";

const oneLine = (length: number) =>
  v.pipe(
    v.string(),
    v.maxLength(length),
    v.check((text) => text.trim() !== "", "is blank"),
  );

const StatementSchema = v.strictObject({
  sql: v.pipe(
    v.string(),
    v.check((sql) => sql.trim() !== "", "is blank"),
    v.check((sql) => sql.isWellFormed() && !sql.includes("\0"), "holds a NUL or a broken character"),
  ),
  severity: v.picklist(SEVERITIES),
  reason: v.pipe(v.string(), v.maxLength(LIMITS.reasonLength)),
  /** Whether the statement runs in the plan's transaction or in none. */
  transaction: v.picklist(["joined", "alone"]),
  /** The transaction is committed after this statement (a new enum value is usable only then). */
  commitAfter: v.boolean(),
  class: v.strictObject({
    destructive: v.boolean(),
    privilegeChanges: v.pipe(
      v.array(v.picklist(PRIVILEGE_CHANGES)),
      v.check((kinds) => orderedPrivileges(kinds).join() === kinds.join(), "is not in the order of the closed list"),
    ),
  }),
});

const PlanSchema = v.strictObject({
  format_version: v.literal(1),
  name: oneLine(LIMITS.planNameLength),
  dialect: v.picklist(["postgres", "mysql", "mariadb"]),
  from_fingerprint: oneLine(LIMITS.fingerprintLength),
  to_fingerprint: oneLine(LIMITS.fingerprintLength),
  exclude: v.optional(v.pipe(v.array(oneLine(LIMITS.excludeLength)), v.minLength(1), v.maxLength(LIMITS.excludeCount))),
  destructive: v.boolean(),
  statements: v.pipe(v.array(StatementSchema), v.minLength(1), v.maxLength(LIMITS.statementCount)),
});

/** A schema plan document, format 1: what a person approves and Apply executes in that order. */
export type PlanDocument = v.InferOutput<typeof PlanSchema>;
export type PlanStatement = PlanDocument["statements"][number];

export interface PlanFailure {
  readonly code: "plan_too_large" | "plan_not_text" | "plan_not_json" | "plan_invalid" | "plan_not_canonical";
  /** Names the place in the document, never its content. */
  readonly message: string;
}

/** The name a plan has when nobody gave one is made by the caller; see the reference, schema plan §5.1. */
export type EncodeOutcome = { readonly bytes: Uint8Array } | { readonly error: PlanFailure };
export type DecodeOutcome = { readonly plan: PlanDocument } | { readonly error: PlanFailure };

/**
 * Writes a plan as its one canonical form: keys in the reference's order, two-space JSON, `<`, `>`, `&` and the line
 * separators escaped, a trailing newline.
 */
export function encodePlan(plan: PlanDocument): EncodeOutcome {
  const checked = v.safeParse(PlanSchema, plan);
  if (!checked.success) return { error: invalid(checked.issues) };
  const bytes = new TextEncoder().encode(canonicalText(checked.output));
  return bytes.length > LIMITS.planSizeBytes ? { error: tooLarge() } : { bytes };
}

/**
 * Reads a plan document strictly: UTF-8, no unknown or repeated key, and byte for byte what `encodePlan` writes, so that
 * equal plans have equal digests.
 */
export function decodePlan(bytes: Uint8Array): DecodeOutcome {
  if (bytes.length > LIMITS.planSizeBytes) return { error: tooLarge() };
  let written: string;
  try {
    written = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { error: { code: "plan_not_text", message: "the plan document is not UTF-8 text" } };
  }
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch {
    return { error: { code: "plan_not_json", message: "the plan document is not JSON" } };
  }
  const checked = v.safeParse(PlanSchema, value);
  if (!checked.success) return { error: invalid(checked.issues) };
  if (canonicalText(checked.output) !== written) {
    return { error: { code: "plan_not_canonical", message: "the plan document is not in its canonical form" } };
  }
  return { plan: checked.output };
}

const ESCAPES: Readonly<Record<string, string>> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

function canonicalText(plan: PlanDocument): string {
  const ordered = {
    format_version: plan.format_version,
    name: plan.name,
    dialect: plan.dialect,
    from_fingerprint: plan.from_fingerprint,
    to_fingerprint: plan.to_fingerprint,
    ...(plan.exclude === undefined ? {} : { exclude: plan.exclude }),
    destructive: plan.destructive,
    statements: plan.statements.map((statement) => ({
      sql: statement.sql,
      severity: statement.severity,
      reason: statement.reason,
      transaction: statement.transaction,
      commitAfter: statement.commitAfter,
      class: { destructive: statement.class.destructive, privilegeChanges: statement.class.privilegeChanges },
    })),
  };
  return `${JSON.stringify(ordered, undefined, 2).replace(/[<>&\u2028\u2029]/g, (character) => ESCAPES[character] ?? character)}\n`;
}

function tooLarge(): PlanFailure {
  return { code: "plan_too_large", message: `the plan document is larger than ${LIMITS.planSizeBytes} bytes` };
}

/** Names the first wrong place; valibot's own text would quote the value. */
function invalid(issues: readonly v.BaseIssue<unknown>[]): PlanFailure {
  const first = issues[0];
  const place = (first?.path ?? []).map((item) => String(item.key)).join(".");
  const unknownKey = first?.type === "strict_object" && first.expected === "never";
  // A key that is not the format's own may hold anything and is not repeated.
  const where = unknownKey ? "an unknown key" : place || "the document";
  return { code: "plan_invalid", message: `the plan document does not follow format 1 at ${where}` };
}
