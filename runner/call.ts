import { checkDeadlines } from "./bindings.ts";
import type { ChildOutcome } from "./child.ts";
import { Failed } from "./failure.ts";
import { childEnvironment, logLastWords, type Operation, refuseStopped, refuseTruncated } from "./operation.ts";

/** One call of the executor and how its report is read. */
export interface Call<R> {
  readonly args: readonly string[];
  /** Variables of ours that the child gets besides the database's URL. */
  readonly variables: readonly string[];
  readonly stdoutBytesMax: number;
  /** The report in the child's standard output; undefined where there is none that the contract allows. */
  readonly report: (stdout: Buffer) => R | undefined;
  /** What the report is called in a sentence. */
  readonly what: string;
  /** Code of an output that is no report. */
  readonly invalid: string;
}

/** A report with what else the child left. */
export interface Answer<R> {
  readonly report: R;
  readonly exitCode: number;
}

/**
 * A call that changes nothing: a child that was stopped, cut short or left no report gave no answer.
 * @throws Failed
 */
export async function ask<R>(operation: Operation, call: Call<R>): Promise<Answer<R>> {
  const outcome = await operation.supervisor.run(requestOf(operation, call));
  refuseStopped(outcome);
  refuseTruncated(outcome);
  const report = call.report(outcome.stdout);
  if (report !== undefined) return { report, exitCode: outcome.exitCode };
  logLastWords(outcome, operation.redactor);
  throw new Failed(
    outcome.stdout.length === 0 ? "child_exit" : call.invalid,
    `The executor ended without a usable ${call.what}. Its own words are in the Pod's log.`,
  );
}

/**
 * The one call that may change the database: inside its deadlines, which are asked again immediately before the child. Its
 * report counts whatever the exit status, also when a signal came after it (reference 3.4).
 * @throws Failed
 */
export async function change<R>(operation: Operation, call: Call<R>): Promise<R> {
  const { deadlines } = operation.bindings;
  if (deadlines === undefined) {
    throw new Failed("missing_execution_deadline", "An Apply runs only inside its deadlines.");
  }
  const outcome = await operation.supervisor.run({
    ...requestOf(operation, call),
    notAfterMs: deadlines.executionNotAfterMs,
    beforeStart: () => checkDeadlines(deadlines, operation.nowMs()),
  });
  const report = outcome.stdoutBytesDropped === 0 ? call.report(outcome.stdout) : undefined;
  if (report === undefined) throw noReport(operation, outcome, call.invalid);
  return report;
}

const requestOf = <R>(operation: Operation, call: Call<R>) => ({
  binary: operation.ptahBinary,
  args: call.args,
  env: childEnvironment(operation, call.variables),
  workDirectory: operation.workDirectory,
  stdoutBytesMax: call.stdoutBytesMax,
  graceMs: operation.bindings.graceMs,
});

function noReport(operation: Operation, outcome: ChildOutcome, invalid: string): Failed {
  logLastWords(outcome, operation.redactor);
  const why =
    outcome.stopped === "deadline"
      ? "The executor was stopped at its deadline"
      : outcome.stopped === "termination"
        ? "The Pod was asked to end while the executor was running"
        : "The executor ended without a usable report";
  const code = outcome.stopped !== undefined || outcome.exitCode < 0 ? "execution_error" : invalid;
  return new Failed(code, `${why}; what it changed is unknown until the database is read.`);
}
