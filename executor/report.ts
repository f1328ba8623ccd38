/** What every command's report shares: the one JSON value on stdout, and a thrown end as keys of it. */
import { Canceled, Failure, type Refusal, Refused } from "./contract.ts";

/** Standard output takes nothing (any more). It is no end of a command: whatever was done is done. */
export class Unwritable extends Error {
  constructor(what: string, code: string, next: string) {
    super(`the ${what} could not be written to standard output (${code}); ${next}`);
    this.name = "Unwritable";
  }
}

let lost: string | undefined;

/** A stream that ends under us must not end the process half-way: what is written is waited for, and tells it. */
export function mindStreams(): void {
  process.stdout.on("error", ignore);
  process.stderr.on("error", ignore);
}

const ignore = (): void => undefined;

/**
 * Writes to stdout and waits until it is out: a report cut short would read as no report. What failed once is not tried again,
 * because the rest alone would read as the whole.
 * @returns the system's word for why not
 */
async function write(text: string): Promise<string | undefined> {
  lost ??= await new Promise<string | undefined>((resolve) => {
    process.stdout.write(text, (error) =>
      resolve(error ? ((error as NodeJS.ErrnoException).code ?? "unknown error") : undefined),
    );
  });
  return lost;
}

/** Writes one JSON value to stdout. @throws Unwritable */
export async function print(report: unknown): Promise<void> {
  const why = await write(`${JSON.stringify(report)}\n`);
  if (why === undefined) return;
  throw new Unwritable("report", why, "what the command did stands, so read the state before it is run again");
}

/** Writes what somebody asked to read, a help or a version; one who has stopped reading (`| head`) misses nothing. @throws Unwritable */
export async function say(text: string): Promise<void> {
  const why = await write(text);
  if (why !== undefined && why !== "EPIPE") throw new Unwritable("text", why, "send it elsewhere");
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

/** What the drivers say of a connection that ended under them, in their own words. */
const LOST =
  /^(?:Connection terminated|Connection ended|Client has encountered a connection error|Connection lost|Can't add new command when connection is in closed state)/;

function sentenceOf(error: unknown, state: string | undefined): string {
  if (state === "25006") {
    return "the session takes no writes (SQLSTATE 25006); let the role write (default_transaction_read_only), or name a server that does";
  }
  if (state !== undefined) return `the database refused a statement of the executor's own (SQLSTATE ${state})`;
  return error instanceof Error && LOST.test(error.message)
    ? "the database session was lost before the work was done"
    : "the executor failed unexpectedly";
}
