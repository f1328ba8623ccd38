import mysql, { type Connection, type ConnectionOptions } from "mysql2";
import { Canceled, Failure } from "../contract.ts";
import { waitingFor } from "../give-up.ts";
import { CANCEL_TIMEOUT_MS, RELEASE_TIMEOUT_MS } from "../limits.ts";
import type { MysqlTarget } from "./url.ts";

export type Row = Readonly<Record<string, unknown>>;

/** What a statement that returns no rows was answered. */
export interface Done {
  readonly rows: readonly Row[];
  readonly warnings: number;
  /** Rows that an INSERT, UPDATE or DELETE found. */
  readonly affected: number;
}

/** One database session: one connection, never silently replaced by another. */
export interface MysqlSession {
  readonly target: MysqlTarget;
  /** The server's number of this connection. */
  readonly id: number;
  /** Set once the server or the network ended the connection. */
  lost(): boolean;
  /** One statement as text, without values. */
  send(sql: string): Promise<Done>;
  /** The same where its rows are not wanted: they are let go as they arrive. @returns the server's status flags, undefined behind rows */
  run(sql: string): Promise<number | undefined>;
  /** One statement of our own; values are bound by the server, whatever sql_mode a file has set. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** The same for a statement that writes. @returns the rows it found */
  write(sql: string, values: readonly unknown[]): Promise<number>;
  /** Closes the connection; bounded, never throws. */
  end(): Promise<void>;
}

export interface MysqlConnectOptions {
  readonly connectTimeoutMs: number;
  /** When aborted, the running statement is cancelled on the server. */
  readonly signal?: AbortSignal;
  readonly role: string;
}

/** Opens one session. @throws Failure with the reason, never with the URL or the password */
export async function connectMysql(target: MysqlTarget, options: MysqlConnectOptions): Promise<MysqlSession> {
  if (options.signal?.aborted === true) throw new Canceled();
  try {
    return await open(target, options, target.tls !== "off");
  } catch (error) {
    if (target.tls === "preferred" && codeOf(error) === "HANDSHAKE_NO_SSL_SUPPORT") {
      return open(target, options, false).catch((e: unknown) => {
        throw connectionFailure(e, options.role);
      });
    }
    throw connectionFailure(error, options.role);
  }
}

function settingsOf(target: MysqlTarget, timeoutMs: number, encrypted: boolean): ConnectionOptions {
  const verified = target.tls === "verified";
  return {
    ...(target.socketPath === undefined ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
    user: target.user,
    password: target.password ?? "",
    database: target.database,
    connectTimeout: target.connectTimeoutMs ?? timeoutMs,
    charset: "UTF8MB4_GENERAL_CI",
    // IGNORE_SPACE would become part of sql_mode and so of every routine; LOCAL_FILES lets a server read files here.
    flags: ["-IGNORE_SPACE", "-LOCAL_FILES"],
    multipleStatements: false,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    enableKeepAlive: true,
    compress: target.compress,
    enableCleartextPlugin: target.cleartextPasswords,
    connectAttributes: { program_name: "ptah", ...target.attributes },
    ...(encrypted
      ? {
          ssl: {
            minVersion: "TLSv1.2",
            rejectUnauthorized: verified,
            verifyIdentity: verified,
            ...(target.ca === undefined ? {} : { ca: target.ca }),
          },
        }
      : {}),
  };
}

async function open(target: MysqlTarget, options: MysqlConnectOptions, encrypted: boolean): Promise<MysqlSession> {
  const connection = mysql.createConnection(settingsOf(target, options.connectTimeoutMs, encrypted));
  let lost = false;
  const gone = (): void => {
    lost = true;
  };
  connection.on("error", gone);
  connection.on("end", gone);
  const giveUp = (): void => (connection as unknown as { stream: { destroy(): void } }).stream.destroy();
  options.signal?.addEventListener("abort", giveUp);
  try {
    await new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    // A peer that is no database keeps its connection open, and that would keep this process alive.
    giveUp();
    throw options.signal?.aborted === true ? new Canceled() : error;
  } finally {
    options.signal?.removeEventListener("abort", giveUp);
  }
  const { threadId } = connection;
  const { sent, cancel } = waitingFor({
    cancelStatement: () => cancelStatement(target, encrypted, threadId),
    giveUp,
    lost: () => lost,
  });
  options.signal?.addEventListener("abort", cancel);
  const noted = (error: unknown): unknown => {
    if ((error as { fatal?: unknown }).fatal === true) lost = true;
    return error;
  };
  const session: MysqlSession = {
    target,
    id: threadId,
    lost: () => lost,
    send: (sql) => sent(() => send(connection, sql, noted)),
    run: (sql) => sent(() => run(connection, sql, noted)),
    query: async (sql, values) => {
      if (values === undefined) return (await sent(() => send(connection, sql, noted))).rows;
      return (await sent(() => bound(connection, sql, values, noted))).rows;
    },
    write: async (sql, values) => (await sent(() => bound(connection, sql, values, noted))).affected,
    end: async () => {
      options.signal?.removeEventListener("abort", cancel);
      if (!lost) await closed(connection);
      connection.destroy();
    },
  };
  if (target.collation !== undefined) await session.send(`SET collation_connection = '${target.collation}'`);
  return session;
}

function send(connection: Connection, sql: string, noted: (error: unknown) => unknown): Promise<Done> {
  return new Promise((resolve, reject) => {
    connection.query(sql, (error, result) => (error ? reject(noted(error)) : resolve(doneOf(result))));
  });
}

/** Without a callback the driver keeps no rows; it then tells of a lost connection on the connection alone. */
function run(connection: Connection, sql: string, noted: (error: unknown) => unknown): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    const query = connection.query(sql);
    const settled = (): void => {
      connection.removeListener("error", failed);
    };
    const failed = (error: unknown): void => {
      settled();
      reject(noted(error));
    };
    connection.on("error", failed);
    query.on("error", failed);
    query.on("result", (result, index?: number) => {
      // Rows come with the number of their result; what has none is an answer without rows, and the last one counts.
      status = index === undefined ? (result as { readonly serverStatus?: number } | null)?.serverStatus : undefined;
    });
    query.on("fields", (fields: unknown) => {
      if (fields !== undefined) status = undefined;
    });
    query.on("end", () => {
      settled();
      resolve(status);
    });
  });
}

function bound(
  connection: Connection,
  sql: string,
  values: readonly unknown[],
  noted: (error: unknown) => unknown,
): Promise<Done> {
  return new Promise((resolve, reject) => {
    const given = values as (string | number | null)[];
    connection.execute(sql, given, (error, result) => (error ? reject(noted(error)) : resolve(doneOf(result))));
  });
}

function doneOf(result: unknown): Done {
  if (Array.isArray(result)) {
    return { rows: result.filter((row) => !Array.isArray(row)) as Row[], warnings: 0, affected: 0 };
  }
  const { warningStatus, affectedRows } = result as { warningStatus?: unknown; affectedRows?: unknown };
  return { rows: [], warnings: Number(warningStatus ?? 0), affected: Number(affectedRows ?? 0) };
}

function closed(connection: Connection): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, RELEASE_TIMEOUT_MS).unref();
    connection.end(() => resolve());
  });
}

/** Asks the server to cancel what session `id` runs, from a connection of its own. */
async function cancelStatement(target: MysqlTarget, encrypted: boolean, id: number): Promise<void> {
  const connection = mysql.createConnection(settingsOf(target, CANCEL_TIMEOUT_MS, encrypted));
  connection.on("error", () => undefined);
  try {
    await send(connection, `KILL QUERY ${Math.trunc(id)}`, (error) => error);
  } catch {
    // The statement then runs on; the caller's execution deadline still stands.
  } finally {
    connection.destroy();
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? "");

/** SQLSTATE and error number that the server answered, undefined for anything else (network, driver). */
export function mysqlAnswer(error: unknown): { readonly sqlState: string; readonly errno: number } | undefined {
  const { sqlState, errno } = (error ?? {}) as { sqlState?: unknown; errno?: unknown };
  if (typeof errno !== "number" || errno < 1_000 || typeof sqlState !== "string") return undefined;
  return { sqlState: /^[0-9A-Z]{5}$/.test(sqlState) ? sqlState : "HY000", errno };
}

const BAD_CREDENTIALS: readonly number[] = [1045, 1698];
const NO_DATABASE: readonly number[] = [1049, 1044];

function connectionFailure(error: unknown, role: string): Failure | Canceled {
  if (error instanceof Canceled) return error;
  const answer = mysqlAnswer(error);
  if (answer !== undefined && BAD_CREDENTIALS.includes(answer.errno)) {
    return new Failure(
      "authentication_failed",
      `${role} refused the user or the password (error ${answer.errno}); correct the credentials`,
      answer.sqlState,
    );
  }
  if (answer !== undefined && NO_DATABASE.includes(answer.errno)) {
    return new Failure(
      "database_missing",
      `the database named in the URL of ${role} does not exist or is closed to the user (error ${answer.errno}); create it or correct the URL`,
      answer.sqlState,
    );
  }
  const reason = answer === undefined ? codeOf(error) || "no answer" : `error ${answer.errno}`;
  const advice = /SSL|CERT|SIGNED|ALTNAME/.test(reason)
    ? "give the certificate of the authority that signed the server's (caFrom beside urlFrom) and the name it was issued for"
    : "check that the server runs and that the URL's address is the right one";
  return new Failure("connection_failed", `cannot connect to ${role}: ${reason}; ${advice}`, answer?.sqlState);
}
