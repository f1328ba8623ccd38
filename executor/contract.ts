/**
 * The executor's side of the command-line contract, version 1: what a caller may rely on.
 * A report decides, not the exit status; it stands alone on stdout as one JSON value.
 */

/** Version of the reports' shape; a caller refuses another. */
export const CONTRACT_VERSION = 1;

export const EXIT = {
  ok: 0,
  /** An expected negative: drift at or over the threshold. */
  negative: 1,
  /** A refusal, a failure or a usage error. */
  error: 2,
  interrupted: 130,
  terminated: 143,
} as const;

/** Why a command was not carried out, in a form another room reacts to. */
export interface Refusal {
  /** `^[a-z][a-z0-9._-]{0,63}$`, stable. */
  readonly code: string;
  /** Tables of the protected-table fence. */
  readonly tables?: readonly string[];
  /** Named things (objects, roles, extensions, file positions) the refusal is about. */
  readonly objects?: readonly string[];
  /** What moved when a plan is stale: always the schema here. */
  readonly changed?: "schema";
  readonly plan_fingerprint?: string;
  readonly database_fingerprint?: string;
  /** Position (from 1) of the statement concerned and the server's SQLSTATE. */
  readonly statement?: number;
  readonly sqlstate?: string;
}

/**
 * A refusal on its way to the report. `message` is the sentence for a person: what happened and what to do next; it holds no
 * SQL text, row or secret.
 */
export class Refused extends Error {
  readonly refusal: Refusal;
  /** The target's version where it was known by then. */
  serverVersionNum: number | undefined;
  constructor(code: string, message: string, detail: Omit<Refusal, "code"> = {}) {
    super(message);
    this.name = "Refused";
    this.refusal = { code, ...detail };
  }
}

/** The command could not be carried out for a reason outside the request (connection, server error); it may be tried again. */
export class Failure extends Error {
  readonly code: string;
  readonly sqlstate: string | undefined;
  constructor(code: string, message: string, sqlstate?: string) {
    super(message);
    this.name = "Failure";
    this.code = code;
    this.sqlstate = sqlstate;
  }
}

/** The person or the Pod's end asked the command to stop (SIGTERM, SIGINT). */
export class Canceled extends Error {
  constructor() {
    super("the command was asked to stop");
    this.name = "Canceled";
  }
}

/** Somebody asked what a command takes (`--help`): `lines` say it. */
export class HelpRequested extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super("help was asked for");
    this.name = "HelpRequested";
    this.lines = lines;
  }
}

/** A wrong flag or argument: no report is printed, only a sentence on stderr. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** A command that is not there; the sentence names those that are. */
export class UnknownCommand extends UsageError {}
