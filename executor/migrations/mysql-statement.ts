/** One statement of a file on MySQL or MariaDB, and what the server says it did to the transaction. */
import type { MysqlSession } from "../mysql/session.ts";
import type { Executed } from "./database.ts";
import { ForbiddenEffect } from "./forbidden.ts";

/** Bits of the status that every answer without rows carries. */
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

const LEFT_OPEN =
  "left a transaction open or autocommit off, so what it and the statements after it write could be lost; take that out of what it runs";
const AUTOCOMMIT_ON = "turned autocommit on, which is the run's to do; take that out of what it runs";

/** Bookkeeping of our own, which a cancellation meant for a file's statement does not stop. */
type Ours = <T>(send: () => Promise<T>) => Promise<T>;

/**
 * Sends the statement. No reading of its text tells for certain what it does to the transaction (a routine, a prepared statement, an
 * executable comment, another release): the server's status does.
 * @throws ForbiddenEffect
 */
export async function executeMysql(
  session: MysqlSession,
  sql: string,
  inTransaction: boolean,
  ours: Ours,
): Promise<Executed> {
  const status = await statusAfter(session, sql, ours).catch(async (error: unknown) => {
    // A routine that was refused half-way may have begun a transaction: what is recorded next must not end with it.
    if (!inTransaction && !session.lost()) await settle(session, ours).catch(() => undefined);
    throw error;
  });
  const on = (bit: number): boolean => (status & bit) !== 0;
  if (inTransaction) {
    if (on(AUTOCOMMIT)) throw new ForbiddenEffect(AUTOCOMMIT_ON);
    return { committed: !on(IN_TRANSACTION) };
  }
  if (on(AUTOCOMMIT) && !on(IN_TRANSACTION)) return { committed: true };
  await settle(session, ours);
  throw new ForbiddenEffect(LEFT_OPEN);
}

/** An answer of rows is not given with its status by the driver; a statement that does nothing is then asked for it. */
async function statusAfter(session: MysqlSession, sql: string, ours: Ours): Promise<number> {
  return (await session.run(sql)) ?? (await ours(() => session.run("DO 0"))) ?? 0;
}

/** Nothing open, and every statement on its own again, whatever `completion_type` says. */
async function settle(session: MysqlSession, ours: Ours): Promise<void> {
  await ours(() => session.run("ROLLBACK AND NO CHAIN NO RELEASE"));
  await ours(() => session.run("SET autocommit = 1"));
}
