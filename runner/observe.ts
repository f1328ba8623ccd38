import { goStructDigest, type Json } from "../crds/canonical.ts";
import { ENV } from "../workload/environment.ts";
import { DRIFT_FINDINGS_MAX } from "../workload/limits.ts";
import type { OperationResult } from "../workload/result.ts";
import { ask } from "./call.ts";
import { Failed } from "./failure.ts";
import { type Operation, sentence } from "./operation.ts";
import {
  type DriftReport,
  failureCode,
  framedFindings,
  framedRefusal,
  readDriftReport,
  refusalCode,
  serverOf,
} from "./reports.ts";
import { awaitScratch } from "./scratch.ts";
import { expectMajor } from "./server-version.ts";

const VARIABLES = [ENV.connectTimeout, ENV.lockTimeout];
const COMPARISON = [ENV.schemaFile, ENV.devURL, ENV.severity, ENV.exclude];

/**
 * Reads how the database differs from the desired schema. Without a scratch server only the server's version is learned: a
 * schema is comparable only after a server of the same major has elaborated it.
 */
export async function observe(operation: Operation): Promise<Partial<OperationResult>> {
  const versionOnly = operation.env[ENV.versionOnly] === "true";
  await awaitScratch(operation);
  const { report } = await ask(operation, {
    args: ["schema", "drift", "--format", "json"],
    variables: versionOnly ? VARIABLES : [...VARIABLES, ...COMPARISON],
    stdoutBytesMax: operation.resultBytesMax,
    report: readDriftReport,
    what: "drift report",
    invalid: "invalid_observed_state",
  });
  const server = serverOf(report);
  const detail = { ...server, observedDialect: report.dialect };
  if (report.refusal !== undefined && report.refusal !== null) {
    throw new Failed(
      refusalCode(report.refusal),
      sentence(report.error, "The executor refused to read.", operation.redactor),
      {
        ...detail,
        refusal: framedRefusal(report.refusal, operation.redactor),
      },
    );
  }
  if (report.error !== undefined && report.error !== null && report.error !== "") {
    throw new Failed(failureCode(report, "observe_failed"), sentence(report.error, "", operation.redactor), detail);
  }
  expectMajor(operation.env, server);
  if (server.serverVersion === undefined) {
    throw new Failed("invalid_observed_state", "The executor's drift report does not name the server's version.");
  }
  return versionOnly ? detail : { ...detail, ...driftOf(report) };
}

function driftOf(report: DriftReport): Partial<OperationResult> {
  const findings = framedFindings(report, DRIFT_FINDINGS_MAX);
  const highest = findings.list[0]?.severity ?? (report.highest_severity || undefined);
  return {
    driftReportDigest: driftDigest(report),
    observedDrift: report.drift,
    ...(report.drift ? { highestDriftSeverity: highest ?? "safe" } : {}),
    driftFindingCount: findings.count,
    driftFindings: findings.list,
    ...(findings.cut ? { driftFindingsTruncated: true } : {}),
  };
}

/** Digest of `{dialect, ignored_tables, diff}` as the reference computes it: diff keys sorted, Go's escapes. */
function driftDigest(report: DriftReport): string {
  const ignored = report.ignored_tables ?? [];
  return goStructDigest({
    dialect: report.dialect.trim().toLowerCase(),
    ignored_tables: ignored.length === 0 ? null : ignored,
    diff: sorted((report.diff ?? {}) as Json),
  });
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const map = value as { readonly [key: string]: Json | undefined };
  return Object.fromEntries(
    Object.keys(map)
      .sort()
      .map((key) => [key, sorted(map[key] ?? null)]),
  );
}
