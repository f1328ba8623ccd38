import { ENV } from "../workload/environment.ts";
import type { MigrationHistory } from "../workload/migration.ts";
import type { OperationResult } from "../workload/result.ts";
import { ask } from "./call.ts";
import { Failed } from "./failure.ts";
import { type ReadingEnding, readStatusReport } from "./migration-reports.ts";
import { migrationsDirectory } from "./migrations.ts";
import { type Operation, sentence } from "./operation.ts";
import type { Redactor } from "./redact.ts";
import { failureCode, framedRefusal, serverOf } from "./reports.ts";

const VARIABLES = [ENV.connectTimeout, ENV.migrationLockTimeout];

/** Reads the database's revision table against the migration directory. Nothing is judged here: the history is the result. */
export async function history(operation: Operation): Promise<Partial<OperationResult>> {
  const { report, exitCode } = await ask(operation, {
    args: ["migrations", "status", "--migrations-dir", migrationsDirectory(operation.env), "--json"],
    variables: VARIABLES,
    stdoutBytesMax: operation.resultBytesMax,
    report: readStatusReport,
    what: "history report",
    invalid: "invalid_migration_history_output",
  });
  if (report.kind === "ended") throw ended(operation, report.ending);
  if (exitCode !== 0) {
    throw new Failed("child_exit", `The executor read the history and ended with exit status ${exitCode}.`);
  }
  const { status } = report;
  return {
    ...serverOf(status),
    ...(status.engine === null || status.engine === undefined ? {} : { observedDialect: status.engine }),
    migrationHistory: redacted(report.history, operation.redactor),
  };
}

function ended(operation: Operation, ending: ReadingEnding): Failed {
  const { redactor } = operation;
  const { refusal } = ending;
  if (refusal !== undefined && refusal !== null) {
    const text = sentence(ending.error, "The executor refused to read the history.", redactor);
    return new Failed("history_refused", text, { refusal: framedRefusal(refusal, redactor) });
  }
  const text = sentence(ending.error, "The executor could not read the history.", redactor);
  return new Failed(failureCode(ending, "history_failed"), text);
}

/** Descriptions are for people; everything else is compared and stays as it is. */
function redacted(history: MigrationHistory, redactor: Redactor): MigrationHistory {
  const described = <T extends { readonly description?: string | undefined }>(item: T): T =>
    item.description === undefined ? item : { ...item, description: redactor.text(item.description) };
  return {
    ...history,
    migrations: history.migrations.map(described),
    ...(history.revisions === undefined ? {} : { revisions: history.revisions.map(described) }),
  };
}
