import pg from "pg";
import { Canceled, Failure, type Refused } from "../contract.ts";
import { expiry, waitingFor } from "../give-up.ts";
import { CANCEL_TIMEOUT_MS, KEEP_ALIVE_DELAY_MS, RELEASE_TIMEOUT_MS } from "../limits.ts";
import { saidOf } from "./said.ts";
import type { Target } from "./url.ts";

export type Row = Readonly<Record<string, unknown>>;

/** One database session: one connection, never silently replaced by another. */
export interface Session {
  readonly target: Target;
  readonly client: pg.Client;
  /** The server process that the connection announced; a pooler announces a number of its own. */
  readonly announcedPid: () => number;
  /** Set once the server or the network ended the connection; nothing more can be sent. */
  readonly lost: () => boolean;
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /**
   * Sends one statement whose text is not ours: of a text that holds more than one, the server runs none.
   * @returns what the server says that it did (its command tag without the counts)
   */
  runOne(sql: string): Promise<string>;
  /** What the server last said about a setting that it reports by itself; undefined for one it does not. */
  reported(setting: string): string | undefined;
  /** Closes the connection; bounded, never throws. */
  end(): Promise<void>;
}

export interface ConnectOptions {
  readonly connectTimeoutMs: number;
  /** When aborted, the running statement is cancelled on the server. */
  readonly signal?: AbortSignal;
  /** For the sentence of a failure: which database this is ("the target", "the scratch server"). */
  readonly role: string;
}

/** What the driver does where a statement wants rows from its client. */
interface Copying {
  handleCopyInResponse(connection: { sendCopyFail(why: string): void; sync(): void }): void;
}

/** The driver's connection: its socket, and what the server reports about its settings; its types leave both out. */
interface Reporting {
  readonly connection: {
    readonly stream: { destroy(): void };
    on(
      event: "parameterStatus",
      listener: (status: { readonly parameterName: string; readonly parameterValue: string }) => void,
    ): void;
  };
}

/** Opens one session. @throws Failure `connection_failed` with the reason, never with the URL or the password. */
export async function connect(target: Target, options: ConnectOptions): Promise<Session> {
  try {
    return await open(target, options, target.ssl);
  } catch (error) {
    if (target.sslMode === "prefer" && /does not support SSL/i.test(messageOf(error))) {
      return open(target, options, undefined).catch((e: unknown) => {
        throw connectionFailure(e, options.role);
      });
    }
    throw connectionFailure(error, options.role);
  }
}

async function open(target: Target, options: ConnectOptions, ssl: Target["ssl"]): Promise<Session> {
  const stopped = (): boolean => options.signal?.aborted === true;
  if (stopped()) throw new Canceled();
  const client = new pg.Client({
    host: target.host,
    port: target.port,
    user: target.user,
    password: target.password ?? "",
    database: target.database,
    ssl: ssl ?? false,
    connectionTimeoutMillis: target.connectTimeoutMs ?? options.connectTimeoutMs,
    options: target.options ?? "",
    application_name: target.applicationName ?? "ptah",
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
  });
  let lost = false;
  client.on("error", () => {
    lost = true;
  });
  client.on("end", () => {
    lost = true;
  });
  const reported = new Map<string, string>();
  (client as unknown as Reporting).connection.on("parameterStatus", (status) => {
    reported.set(status.parameterName, status.parameterValue);
  });
  const stream = (): { destroy(): void } => (client as unknown as Reporting).connection.stream;
  const giveUp = (): void => void stream().destroy();
  options.signal?.addEventListener("abort", giveUp);
  try {
    await client.connect();
  } catch (error) {
    // A peer that said something else than PostgreSQL keeps its connection open, and that would keep this process alive.
    giveUp();
    throw stopped() ? new Canceled() : error;
  } finally {
    options.signal?.removeEventListener("abort", giveUp);
  }
  const announcedPid = (): number => (client as unknown as { processID: number }).processID;
  const { sent, cancel } = waitingFor({
    cancelStatement: () => cancelStatement(target, ssl, announcedPid()),
    giveUp,
    lost: () => lost,
  });
  options.signal?.addEventListener("abort", cancel);
  return {
    target,
    client,
    announcedPid,
    lost: () => lost,
    query: async (sql, values) => {
      const result = await sent(() => client.query(sql, values === undefined ? undefined : [...values]));
      return (Array.isArray(result) ? result.at(-1) : result).rows as Row[];
    },
    runOne: (sql) => sent(() => runAlone(client, sql)),
    reported: (setting) => reported.get(setting),
    end: async () => {
      options.signal?.removeEventListener("abort", cancel);
      if (lost) return;
      await Promise.race([client.end().catch(() => undefined), expiry(RELEASE_TIMEOUT_MS)]);
      giveUp();
    },
  };
}

/** The extended protocol: the server parses the text as exactly one statement. Its rows are let go as they arrive. */
function runAlone(client: pg.Client, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query({ text, queryMode: "extended" } as pg.QueryConfig);
    // Without somebody who listens for rows the driver keeps them all until the end.
    query.on("row", () => undefined);
    query.on("end", (result) => resolve(String(result.command)));
    query.on("error", reject);
    // Asked for rows, the server skips the Sync that was sent with the statement, and would wait for another for ever.
    (query as unknown as Copying).handleCopyInResponse = (connection) => {
      connection.sendCopyFail("there are no rows to give");
      connection.sync();
    };
    client.query(query);
  });
}

/** Asks the server to cancel what session `pid` runs, from a connection of its own. */
async function cancelStatement(target: Target, ssl: Target["ssl"], pid: number): Promise<void> {
  const client = new pg.Client({
    host: target.host,
    port: target.port,
    user: target.user,
    password: target.password ?? "",
    database: target.database,
    ssl: ssl ?? false,
    connectionTimeoutMillis: CANCEL_TIMEOUT_MS,
    application_name: "ptah cancel",
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("SELECT pg_catalog.pg_cancel_backend($1)", [pid]);
  } catch {
    // The statement then runs on until its own timeout; the caller's execution deadline still stands.
  } finally {
    await Promise.race([client.end().catch(() => undefined), expiry(CANCEL_TIMEOUT_MS)]);
    (client as unknown as Reporting).connection.stream.destroy();
  }
}

/** The one session in the shape pg-delta wants: a pool that never opens a second connection. */
export function poolOf(session: Session): pg.Pool {
  const client = {
    query: (...args: unknown[]): unknown => (session.client.query as (...a: unknown[]) => unknown)(...args),
    release: (): void => undefined,
  };
  const pool = { connect: async () => client, query: client.query };
  return pool as unknown as pg.Pool;
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** SQLSTATE of a server error, undefined for anything else (network, driver). */
export function sqlstateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Server messages of these classes name objects and syntax: they may be repeated to a person, but for what a row may have put there. */
const NAMING_CLASSES: readonly string[] = ["0A", "28", "2B", "2F", "3D", "3F", "42", "53", "54", "55", "57", "58"];

/** Where a body was only checked, its text names what the schema's author wrote. */
const CHECKED_BODY = /^(?:compilation of PL\/pgSQL function|SQL function "[^\n]*"(?: during [a-z]+)?$)/;

/** A function that ran may say anything under any state: what it read, or text it was handed. */
function saidByRunningCode(error: unknown): boolean {
  const { where } = error as { readonly where?: unknown };
  return typeof where === "string" && !CHECKED_BODY.test(where);
}

/**
 * A sentence about a server error without row data: the server's own where its class only names objects, else its class.
 * @param statement what was sent to a database that holds rows: of the server's words only those are told that cannot be a row's
 */
export function describeServerError(error: unknown, statement?: string): string {
  const state = sqlstateOf(error);
  if (state === undefined) return messageOf(error).split("\n")[0] ?? "";
  if (saidByRunningCode(error)) return `an error inside a function that the statement runs (SQLSTATE ${state})`;
  const said = messageOf(error).split("\n")[0] ?? "";
  const text = NAMING_CLASSES.includes(state.slice(0, 2))
    ? statement === undefined
      ? said
      : saidOf(said, statement)
    : (CLASS_NAMES[state.slice(0, 2)] ?? "server error");
  return `${text} (SQLSTATE ${state})`;
}

const CLASS_NAMES: Readonly<Record<string, string>> = {
  "08": "connection exception",
  "22": "a value does not fit the new definition",
  "23": "existing rows violate the constraint",
  "25": "the transaction may not do this; look at the role's settings (default_transaction_read_only)",
  "40": "transaction rolled back by the server",
  P0: "an error raised by a function",
  XX: "internal server error",
};

function connectionFailure(error: unknown, role: string): Failure | Refused | Canceled {
  if (error instanceof Canceled) return error;
  const state = sqlstateOf(error);
  if (state?.startsWith("28") === true) {
    return new Failure(
      "authentication_failed",
      `${role} refused the user or the password (SQLSTATE ${state}); correct the credentials`,
      state,
    );
  }
  if (state === "3D000") {
    return new Failure(
      "database_missing",
      `the database named in the URL of ${role} does not exist (SQLSTATE 3D000); create it or correct the URL`,
      state,
    );
  }
  const reason = connectReason(error);
  return new Failure("connection_failed", `cannot connect to ${role}: ${reason}; ${adviceOn(error, state)}`, state);
}

function adviceOn(error: unknown, state: string | undefined): string {
  if (CERTIFICATE_ERRORS.has(String((error as { code?: unknown } | null)?.code)))
    return "give the certificate of the authority that signed the server's (caFrom beside urlFrom, sslrootcert in a URL)";
  return state === "53300"
    ? "every connection that the server or the role allows is taken, and a change needs two; allow more"
    : "check that the server runs and that the URL's address is the right one";
}

/** Codes of a TLS check that ended at a certificate whose authority is not known here. */
const CERTIFICATE_ERRORS: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
]);

function connectReason(error: unknown): string {
  const state = sqlstateOf(error);
  if (state !== undefined) return describeServerError(error);
  const code = (error as { code?: unknown } | null)?.code;
  const text = messageOf(error).split("\n")[0] ?? "";
  return typeof code === "string" && !text.includes(code) ? `${text} (${code})` : text;
}
