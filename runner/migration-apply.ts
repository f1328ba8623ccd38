import { ENV } from "../workload/environment.ts";
import { type MigrationRun, outcomeIsUncertain, outcomeMutates } from "../workload/migration.ts";
import type { OperationResult } from "../workload/result.ts";
import { change } from "./call.ts";
import { Failed } from "./failure.ts";
import { readUpReport, type UpReport } from "./migration-reports.ts";
import { expectedSequenceFile, migrationMode, migrationsDirectory } from "./migrations.ts";
import { type Operation, sentence, withPrivateFile } from "./operation.ts";
import { failureCode, framedRefusal, serverOf } from "./reports.ts";

const VARIABLES = [ENV.connectTimeout, ENV.migrationLockTimeout];

/**
 * Runs the approved sequence: the executor gets it as a file and compares it with its own selection under its lock. Once
 * the child was started everything is open, and only a run's own report narrows it (reference 2.5).
 */
export async function migrationApply(operation: Operation): Promise<Partial<OperationResult>> {
  const { env, bindings } = operation;
  const directory = migrationsDirectory(env);
  const mode = migrationMode(env);
  if (bindings.sequence === undefined) throw new Failed("missing_plan_binding", "A run needs its approved sequence.");
  return withPrivateFile(operation, "sequence.json", expectedSequenceFile(bindings.sequence), async (path) => {
    const { report, run } = await change(operation, {
      args: [
        ...["migrations", "up", "--migrations-dir", directory, "--json"],
        ...(mode === undefined ? [] : ["--tx-mode", mode]),
        ...["--expect-sequence", path],
      ],
      variables: VARIABLES,
      stdoutBytesMax: operation.resultBytesMax,
      report: readUpReport,
      what: "run report",
      invalid: "invalid_migration_run_output",
    });
    const stated = { ...serverOf(report), ...flagsOf(run), migrationRun: run };
    if (run.outcome === "applied" || run.outcome === "up-to-date") return stated;
    throw judged(operation, report, stated);
  });
}

/** What a run's outcome says of the database; both said, because they replace what a started child leaves open. */
const flagsOf = ({ outcome }: MigrationRun): Partial<OperationResult> => ({
  mutationStarted: outcomeMutates(outcome),
  uncertain: outcomeIsUncertain(outcome),
});

function judged(operation: Operation, report: UpReport, stated: Partial<OperationResult>): Failed {
  const { redactor } = operation;
  const { outcome, refusal } = report;
  const text = sentence(report.error, `The executor reports "${outcome}".`, redactor);
  if (outcome === "partial" || outcome === "unknown") return new Failed("apply_outcome_unknown", text, stated);
  if (outcome === "dry-run") return new Failed("invalid_migration_run_output", text, stated);
  if (refusal !== undefined && refusal !== null) {
    return new Failed("apply_refused", text, { ...stated, refusal: framedRefusal(refusal, redactor) });
  }
  return new Failed(failureCode({ failure: report.cause ?? null }, "apply_failed"), text, stated);
}
