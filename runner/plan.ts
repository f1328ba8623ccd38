import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256Digest } from "../crds/canonical.ts";
import { decodePlan, type PlanDocument } from "../sql/plan-document.ts";
import { parseCsvRecord } from "../workload/csv.ts";
import { ENV } from "../workload/environment.ts";
import type { OperationResult } from "../workload/result.ts";
import { ask } from "./call.ts";
import { Failed } from "./failure.ts";
import { EXCLUSION_LENGTH_MAX, EXCLUSIONS_MAX, PLAN_REPORT_BYTES_MAX, PROTECTED_TABLES_MAX } from "./limits.ts";
import { type Operation, sentence, withPrivateDirectory } from "./operation.ts";
import {
  type ApplyReport,
  failureCode,
  framedRefusal,
  type PlanReport,
  readApplyReport,
  readPlanReport,
  refusalCode,
  serverOf,
} from "./reports.ts";
import { awaitScratch } from "./scratch.ts";
import { expectMajor } from "./server-version.ts";

const CHECK_VARIABLES = [ENV.connectTimeout, ENV.lockTimeout, ENV.transactionMode];
const PLAN_VARIABLES = [...CHECK_VARIABLES, ENV.schemaFile, ENV.devURL];
const TABLE = /^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$/;

interface Planned {
  readonly bytes: Buffer | undefined;
  readonly path: string;
  readonly server: { serverVersion?: string; serverMajor?: number };
}

/**
 * Plans (reference, schema plan procedure): two runs must give the same bytes, those bytes decode strictly and have exactly
 * the requested scope, and a dry run of the same file under the lock must accept them.
 */
export async function plan(operation: Operation): Promise<Partial<OperationResult>> {
  const exclude = readList(operation, ENV.exclude, EXCLUSIONS_MAX, (s) => s !== "" && s.length <= EXCLUSION_LENGTH_MAX);
  const fenced = readList(operation, ENV.protectedTables, PROTECTED_TABLES_MAX, (s) => TABLE.test(s));
  await awaitScratch(operation);
  return withPrivateDirectory(operation, async (directory) => {
    const scope = [...exclude.map((s) => `--exclude=${s}`), ...fenced.map((s) => `--protected-table=${s}`)];
    const first = await planOnce(operation, join(directory, "first.plan.json"), scope);
    const second = await planOnce(operation, join(directory, "second.plan.json"), scope);
    if (!samePlan(first, second)) {
      throw new Failed(
        "unstable_plan",
        "Two plans of the same inputs differ; nothing is published. The database or its source may be changing right now; it is planned again.",
      );
    }
    if (first.bytes === undefined) return { ...first.server, planOutcome: "NoChanges" };
    const text = first.bytes.toString("utf8");
    const document = strictPlan(first.bytes, exclude);
    if (operation.redactor.finds(text)) {
      throw new Failed(
        "credential_leak",
        "The plan holds a credential of this Pod. Remove it from the desired schema.",
      );
    }
    const planContentDigest = sha256Digest(first.bytes);
    await dryRun(operation, first.path, planContentDigest, document);
    return { ...first.server, planOutcome: "Changes", planContentDigest, stdout: text };
  });
}

function samePlan(first: Planned, second: Planned): boolean {
  if (first.bytes === undefined || second.bytes === undefined) return first.bytes === second.bytes;
  return first.bytes.equals(second.bytes);
}

/** A list from the environment, sorted and without repeats. */
function readList(operation: Operation, name: string, max: number, allowed: (item: string) => boolean): string[] {
  const items = parseCsvRecord(operation.env[name] ?? "");
  if (items === undefined || items.length > max || !items.every((item) => item === item.trim() && allowed(item))) {
    throw new Failed("invalid_input", `${name} is not a list of at most ${max} valid entries.`);
  }
  return [...new Set(items)].sort();
}

async function planOnce(operation: Operation, path: string, scope: readonly string[]): Promise<Planned> {
  const { report } = await ask(operation, {
    args: ["schema", "plan", "--output", path, "--json", ...scope],
    variables: PLAN_VARIABLES,
    stdoutBytesMax: PLAN_REPORT_BYTES_MAX,
    report: readPlanReport,
    what: "plan report",
    invalid: "invalid_plan_output",
  });
  refuseRefused(operation, report);
  const server = serverOf(report);
  expectMajor(operation.env, server);
  if (report.outcome === "no-changes") return { bytes: undefined, path, server };
  const bytes = readPlanFile(path, operation.planBytesMax);
  if (report.plan_path !== path || report.plan_digest !== sha256Digest(bytes)) {
    throw new Failed("invalid_plan_output", "The executor's plan report does not describe the file it saved.");
  }
  return { bytes, path, server };
}

function refuseRefused(operation: Operation, report: PlanReport): void {
  const { redactor } = operation;
  if (report.outcome === "failed" || report.outcome === "canceled") {
    throw new Failed(
      failureCode(report, "plan_failed"),
      sentence(report.error, "The executor could not plan.", redactor),
      serverOf(report),
    );
  }
  if (report.outcome !== "refused") return;
  if (report.refusal === undefined || report.refusal === null) {
    throw new Failed("invalid_plan_output", "The executor refused to plan without saying why.");
  }
  const refusal = framedRefusal(report.refusal, redactor);
  throw new Failed(refusalCode(report.refusal), sentence(report.error, "The executor refused to plan.", redactor), {
    ...serverOf(report),
    refusal,
  });
}

function readPlanFile(path: string, bytesMax: number): Buffer {
  try {
    if (statSync(path).size > bytesMax) throw planTooLarge();
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Failed) throw error;
    throw new Failed("invalid_plan_output", "The executor reported a plan that it did not save.");
  }
}

export function planTooLarge(): Failed {
  return new Failed("plan_too_large", "The plan is too large to publish. Split the change into several steps.");
}

function strictPlan(bytes: Buffer, exclude: readonly string[]): PlanDocument {
  const decoded = decodePlan(bytes);
  if ("error" in decoded)
    throw new Failed("invalid_plan_output", `The saved plan is unusable: ${decoded.error.message}.`);
  const { plan: document } = decoded;
  if (document.dialect !== "postgres") {
    throw new Failed("invalid_plan_output", "The saved plan is of another engine.");
  }
  const scope = [...(document.exclude ?? [])].sort();
  if (scope.length !== exclude.length || scope.some((selector, index) => selector !== exclude[index])) {
    throw new Failed("invalid_plan_output", "The saved plan has another scope than the one that was asked for.");
  }
  return document;
}

/** A dry run that did not accept the plan; a stale one only means that the database moved meanwhile. */
function refuseDryRun(operation: Operation, report: ApplyReport): void {
  if (report.outcome === "dry-run") return;
  const { redactor } = operation;
  const { refusal } = report;
  const text = sentence(report.error, "The dry run did not accept the plan.", redactor);
  if (refusal === undefined || refusal === null) throw new Failed(failureCode(report, "plan_failed"), text);
  throw new Failed(refusalCode(refusal), text, { refusal: framedRefusal(refusal, redactor) });
}

/** The same bytes through the executor's own apply without a change: proves that they are fresh, under the lock. */
async function dryRun(operation: Operation, path: string, digest: string, document: PlanDocument): Promise<void> {
  const { report } = await ask(operation, {
    args: ["schema", "apply", "--plan", path, "--auto-approve", "--json", "--dry-run"],
    variables: CHECK_VARIABLES,
    stdoutBytesMax: PLAN_REPORT_BYTES_MAX,
    report: readApplyReport,
    what: "report of the dry run",
    invalid: "invalid_plan_output",
  });
  refuseDryRun(operation, report);
  const statements = report.statements ?? [];
  const same =
    report.plan_digest === digest &&
    statements.length === document.statements.length &&
    statements.every((sql, index) => sql === document.statements[index]?.sql);
  if (!same) throw new Failed("invalid_plan_output", "The dry run read another plan than the one that was saved.");
}
