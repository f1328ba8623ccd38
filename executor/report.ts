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
  return {
    outcome: "failed",
    error: sentenceOf(error, state),
    failure: { code: "executor_failed", ...(state === undefined ? {} : { sqlstate: state }) },
  };
}

/** What the driver says of a connection that ended under it, in its own words. */
const LOST = /^(?:Connection terminated|Connection ended|Client has encountered a connection error)/;

function sentenceOf(error: unknown, state: string | undefined): string {
  if (state === "25006") {
    return "the session takes no writes (SQLSTATE 25006); let the role write (default_transaction_read_only), or name a server that does";
  }
  if (state !== undefined) return `the database refused a statement of the executor's own (SQLSTATE ${state})`;
  return error instanceof Error && LOST.test(error.message)
    ? "the database session was lost before the work was done"
    : "the executor failed unexpectedly";
}
