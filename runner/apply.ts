import { createHash, timingSafeEqual } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { decodePlan } from "../sql/plan-document.ts";
import { ENV } from "../workload/environment.ts";
import { PLAN_CHUNKS_MAX } from "../workload/limits.ts";
import type { OperationResult } from "../workload/result.ts";
import { change } from "./call.ts";
import { Failed } from "./failure.ts";
import { PLAN_REPORT_BYTES_MAX } from "./limits.ts";
import { type Operation, sentence, withPrivateFile } from "./operation.ts";
import { type ApplyReport, framedRefusal, readApplyReport, serverOf } from "./reports.ts";

const VARIABLES = [ENV.connectTimeout, ENV.lockTimeout, ENV.transactionMode];

/**
 * Applies the approved plan: its chunks are put together, compared with the approved digest, decoded strictly and handed to
 * the executor once. Whatever goes wrong after its start leaves the outcome open (reference 2.5); before it, nothing was sent.
 */
export async function apply(operation: Operation): Promise<Partial<OperationResult>> {
  const expected = operation.env[ENV.expectedPlanContentDigest] ?? "";
  if (expected === "") throw new Failed("missing_plan_binding", `${ENV.expectedPlanContentDigest} is not set.`);
  const bytes = readChunks(operation.env[ENV.planDirectory] ?? "", operation.planBytesMax);
  expectDigest(bytes, expected);
  const decoded = decodePlan(bytes);
  if ("error" in decoded) throw new Failed("invalid_plan", `The approved plan is unusable: ${decoded.error.message}.`);
  if (decoded.plan.dialect !== "postgres") throw new Failed("invalid_plan", "The approved plan is of another engine.");
  return withPrivateFile(operation, "approved.plan.json", bytes, (path) => run(operation, path, expected));
}

/** Files of the projected volume in name order; a link may not lead out of it. */
function readChunks(directory: string, bytesMax: number): Buffer {
  if (!directory.startsWith("/")) throw new Failed("missing_plan_binding", `${ENV.planDirectory} is no absolute path.`);
  try {
    const root = realpathSync(directory);
    const names = readdirSync(directory).filter((name) => !name.startsWith("."));
    if (names.length === 0 || names.length > PLAN_CHUNKS_MAX) {
      throw new Failed("invalid_plan", "The plan volume does not hold the plan's chunks.");
    }
    const paths = names.sort().map((name) => realpathSync(join(directory, name)));
    if (!paths.every((path) => path.startsWith(root + sep) && lstatSync(path).isFile())) {
      throw new Failed("invalid_plan", "The plan volume holds something else than the plan's chunks.");
    }
    const total = paths.reduce((sum, path) => sum + statSync(path).size, 0);
    if (total > bytesMax) throw new Failed("invalid_plan", "The plan volume holds more than a plan may have.");
    return Buffer.concat(paths.map((path) => readFileSync(path)));
  } catch (error) {
    if (error instanceof Failed) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new Failed("invalid_plan", `The plan volume cannot be read (${code}).`);
  }
}

function expectDigest(bytes: Buffer, expected: string): void {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(expected)?.[1];
  if (hex === undefined) throw new Failed("plan_binding_mismatch", `${ENV.expectedPlanContentDigest} is not a digest.`);
  const actual = createHash("sha256").update(bytes).digest();
  if (!timingSafeEqual(actual, Buffer.from(hex, "hex"))) {
    throw new Failed(
      "plan_digest_mismatch",
      "The plan in this Pod is not the approved one; nothing was sent to the database.",
    );
  }
}

async function run(operation: Operation, path: string, digest: string): Promise<Partial<OperationResult>> {
  const report = await change(operation, {
    args: ["schema", "apply", "--plan", path, "--auto-approve", "--json"],
    variables: VARIABLES,
    stdoutBytesMax: PLAN_REPORT_BYTES_MAX,
    report: readApplyReport,
    what: "report",
    invalid: "invalid_apply_output",
  });
  if (report.outcome === "applied" && report.plan_digest === digest) {
    return { ...serverOf(report), mutationStarted: true };
  }
  throw judged(operation, report, digest);
}

/** Codes of the outcomes that are no success; the sentence is the executor's own. */
const CODES: Readonly<Record<ApplyReport["outcome"], string>> = {
  applied: "invalid_apply_output",
  "no-changes": "invalid_apply_output",
  "dry-run": "invalid_apply_output",
  canceled: "apply_failed",
  refused: "apply_refused",
  failed: "apply_failed",
  unknown: "apply_outcome_unknown",
};

function judged(operation: Operation, report: ApplyReport, digest: string): Failed {
  const { redactor } = operation;
  const refusal =
    report.refusal === undefined || report.refusal === null ? undefined : framedRefusal(report.refusal, redactor);
  const stale = refusal?.code.replaceAll("_", "-") === "stale-plan";
  const code = report.outcome === "refused" && stale ? "stale_plan" : CODES[report.outcome];
  const otherwise =
    report.outcome === "applied" && report.plan_digest !== digest
      ? "The executor reports another plan than the approved one."
      : `The executor reports "${report.outcome}".`;
  return new Failed(code, sentence(report.error, otherwise, redactor), {
    ...serverOf(report),
    ...(refusal === undefined ? {} : { refusal }),
  });
}
