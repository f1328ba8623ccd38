import * as v from "valibot";
import { compareFindings, type DriftFinding, type OperationResult, SEVERITIES } from "../workload/result.ts";
import { Failed } from "./failure.ts";
import { REFUSED_NAME_LENGTH_MAX, REFUSED_NAMES_MAX } from "./limits.ts";
import type { Redactor } from "./redact.ts";

/**
 * Reports of the executor's command-line contract, version 1, parsed at the door (reference 3.3): exactly one JSON value on
 * standard output; members nobody asks for are ignored. A report decides, not the exit status.
 */
export const CONTRACT_VERSION = 1;

export const optionalText = v.optional(v.nullable(v.string()));
const Digest = v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/));
const optionalDigest = v.optional(v.nullable(v.union([Digest, v.literal("")])));

const Refusal = v.object({
  code: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9._-]{0,63}$/)),
  tables: v.optional(v.nullable(v.array(v.string()))),
  objects: v.optional(v.nullable(v.array(v.string()))),
  changed: v.optional(v.nullable(v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_-]{0,63}$/)))),
  statement: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1)))),
  sqlstate: v.optional(v.nullable(v.pipe(v.string(), v.regex(/^[0-9A-Z]{5}$/)))),
});
export type ReportedRefusal = v.InferOutput<typeof Refusal>;

export const commonReport = {
  error: optionalText,
  refusal: v.optional(v.nullable(Refusal)),
  /** A failure that may pass by itself: its stable code says which (`connection_failed`). */
  failure: v.optional(v.nullable(v.object({ code: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9._-]{0,63}$/)) }))),
  server_version: optionalText,
  server_version_num: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0)))),
};

const DriftReport = v.object({
  ...commonReport,
  drift: v.boolean(),
  failed: v.optional(v.boolean()),
  highest_severity: v.optional(v.nullable(v.union([v.picklist(SEVERITIES), v.literal("")]))),
  dialect: v.picklist(["postgres", "postgresql"]),
  ignored_tables: v.optional(v.nullable(v.array(v.string()))),
  findings: v.optional(
    v.nullable(
      v.array(
        v.object({
          category: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,63}$/)),
          count: v.pipe(v.number(), v.integer(), v.minValue(1)),
          severity: v.picklist(SEVERITIES),
        }),
      ),
    ),
  ),
  diff: v.optional(v.nullable(v.record(v.string(), v.unknown()))),
});
export type DriftReport = v.InferOutput<typeof DriftReport>;

const PlanReport = v.object({
  ...commonReport,
  contract_version: v.literal(CONTRACT_VERSION),
  outcome: v.picklist(["changes", "no-changes", "refused", "failed", "canceled"]),
  plan_digest: optionalDigest,
  plan_path: optionalText,
});
export type PlanReport = v.InferOutput<typeof PlanReport>;

const ApplyReport = v.object({
  ...commonReport,
  contract_version: v.literal(CONTRACT_VERSION),
  outcome: v.picklist(["applied", "no-changes", "dry-run", "canceled", "refused", "failed", "unknown"]),
  plan_digest: optionalDigest,
  statements: v.optional(v.nullable(v.array(v.string()))),
});
export type ApplyReport = v.InferOutput<typeof ApplyReport>;

/** One JSON value of a report's form, or undefined. */
export function readReport<S extends v.GenericSchema>(schema: S, stdout: Buffer): v.InferOutput<S> | undefined {
  try {
    const parsed = v.safeParse(schema, JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(stdout)));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

export const readDriftReport = (stdout: Buffer): DriftReport | undefined => readReport(DriftReport, stdout);
export const readPlanReport = (stdout: Buffer): PlanReport | undefined => readReport(PlanReport, stdout);
export const readApplyReport = (stdout: Buffer): ApplyReport | undefined => readReport(ApplyReport, stdout);

/** A refusal in the frame's form: names bounded and redacted. */
export function framedRefusal(refusal: ReportedRefusal, redactor: Redactor): NonNullable<OperationResult["refusal"]> {
  const names = (list: readonly string[] | null | undefined): string[] | undefined =>
    list === null || list === undefined || list.length === 0
      ? undefined
      : list.slice(0, REFUSED_NAMES_MAX).map((name) => redactor.text(name).slice(0, REFUSED_NAME_LENGTH_MAX));
  return {
    code: refusal.code,
    tables: names(refusal.tables),
    objects: names(refusal.objects),
    changed: refusal.changed ?? undefined,
    statement: refusal.statement ?? undefined,
    sqlstate: refusal.sqlstate ?? undefined,
  };
}

interface Server {
  readonly serverVersion?: string;
  readonly serverMajor?: number;
}

/** The server's version and major out of a report; empty where it does not say. */
export function serverOf(report: {
  readonly server_version?: string | null;
  readonly server_version_num?: number | null;
}): Server {
  const num = report.server_version_num ?? 0;
  // PostgreSQL from 10 on: 150014 is 15.14.
  const text = report.server_version ?? (num >= 100_000 ? `${Math.floor(num / 10_000)}.${num % 10_000}` : "");
  const match = /^(\d{1,3})[0-9A-Za-z .()~+_-]{0,60}$/.exec(text);
  return match === null ? {} : { serverVersion: match[0], serverMajor: Number(match[1]) };
}

/** The frame's error code for a failure: the executor's own where it gave one. */
export function failureCode(
  report: { readonly failure?: { readonly code: string } | null },
  otherwise: string,
): string {
  return report.failure?.code.replaceAll(/[.-]/g, "_") ?? otherwise;
}

/** Refusals another room reacts to keep their code; every other one is a refused plan. */
export function refusalCode(refusal: ReportedRefusal): string {
  const code = refusal.code.replaceAll("-", "_");
  return ["protected_table", "server_version_changed", "stale_plan", "plan_too_large"].includes(code)
    ? code
    : "plan_refused";
}

/** Findings in the frame's order, at most as many as it holds. */
export function framedFindings(
  report: DriftReport,
  max: number,
): { list: DriftFinding[]; count: number; cut: boolean } {
  const all = [...(report.findings ?? [])].sort(compareFindings);
  const categories = new Set(all.map((f) => f.category));
  if (categories.size !== all.length) {
    throw new Failed("invalid_observed_state", "The executor's drift report names a category twice.");
  }
  const count = all.reduce((sum, finding) => sum + finding.count, 0);
  return { list: all.slice(0, max), count, cut: all.length > max };
}
