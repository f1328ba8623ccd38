/** What every command's report shares: the one JSON value on stdout, and a thrown end as keys of it. */
import { Canceled, Failure, type Refusal, Refused } from "./contract.ts";

/** Writes one JSON value to stdout and waits until it is out: a report cut short would read as no report. */
export function print(report: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${JSON.stringify(report)}\n`, (error) => (error ? reject(error) : resolve()));
  });
}

/** What every report of a command that ended early holds beside its own keys. */
export interface Ending {
  readonly outcome: string;
  readonly error?: string;
  readonly refusal?: Refusal;
  readonly server_version_num?: number;
  readonly failure?: { readonly code: string; readonly sqlstate?: string };
}

/** A thrown end as the report's keys. What nobody foresaw is a failure with a fixed sentence: its text might quote anything. */
export function endingOf(error: unknown): Ending {
  if (error instanceof Canceled) return { outcome: "canceled", error: error.message };
  if (error instanceof Refused) {
    const version = error.serverVersionNum === undefined ? {} : { server_version_num: error.serverVersionNum };
    return { outcome: "refused", error: error.message, refusal: error.refusal, ...version };
  }
  if (error instanceof Failure) {
    const sqlstate = error.sqlstate === undefined ? {} : { sqlstate: error.sqlstate };
    return { outcome: "failed", error: error.message, failure: { code: error.code, ...sqlstate } };
  }
  const code = (error as { sqlState?: unknown } | null)?.sqlState ?? (error as { code?: unknown } | null)?.code;
  const state = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
  const sentence =
    state === undefined ? "the executor failed unexpectedly" : `the database refused a read (SQLSTATE ${state})`;
  return {
    outcome: "failed",
    error: sentence,
    failure: { code: "executor_failed", ...(state === undefined ? {} : { sqlstate: state }) },
  };
}
