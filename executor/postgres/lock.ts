import { Refused } from "../contract.ts";
import { LOCK_POLL_MS, POOLED_LOCK_PROOFS, POOLED_UNLOCK_TRIES } from "../limits.ts";
import { delay, type Session } from "./session.ts";

/** FNV-1a of `ptah_schema_apply`, the name Ptah's own CLI locks under: both keep out of each other's way. */
const SCHEMA_APPLY_LOCK = 1_237_737_229;

export interface HeldLock {
  /** The server process that holds it. */
  readonly backendPid: number;
  release(): Promise<void>;
}

/**
 * Takes an advisory lock on this session (the one of schema applies where none is named), then proves it: a second session must fail to take it, else the two share a
 * server session (a transaction pooler) and the lock protects nothing.
 * @throws Refused `lock_timeout` or `lock_not_exclusive`
 */
export async function takeLock(
  session: Session,
  openSecond: () => Promise<Session>,
  timeoutMs: number,
  check: () => void,
  key: number = SCHEMA_APPLY_LOCK,
): Promise<HeldLock> {
  const backendPid = await acquire(session, timeoutMs, check, key);
  const release = (): Promise<void> => releaseOn(session, backendPid, key);
  try {
    const second = await openSecond();
    try {
      await prove(session, second, backendPid, key);
    } finally {
      await second.end();
    }
  } catch (error) {
    // Closing the connection ends a server's own session and its locks, but never one that a pooler keeps.
    await release();
    throw error;
  }
  return { backendPid, release };
}

/**
 * The second session tries for the length of its statement only: what it takes in a server session that is shared would stay
 * there. Behind a pooler, which announces another process than the server's, a busy pool may give the second session another
 * server session by chance: it is asked until chance is ruled out, and the first must stay where its lock is.
 */
async function prove(session: Session, second: Session, backendPid: number, key: number): Promise<void> {
  const rounds = session.announcedPid() === backendPid ? 1 : POOLED_LOCK_PROOFS;
  for (let at = 0; at < rounds; at++) {
    const [tried] = await second.query("SELECT pg_catalog.pg_try_advisory_xact_lock($1::bigint) AS taken", [key]);
    const [first] = await session.query("SELECT pg_catalog.pg_backend_pid() AS pid");
    if (tried?.["taken"] !== true && Number(first?.["pid"]) === backendPid) continue;
    throw new Refused(
      "lock_not_exclusive",
      "a second session could take the lock this one holds: the database URL leads through a transaction pooler; name the server itself",
    );
  }
}

/** Only in the server session that took it: where a pooler answers from another, that one may hold the lock of another run. */
async function releaseOn(session: Session, backendPid: number, key: number): Promise<void> {
  const sql =
    "SELECT CASE WHEN pg_catalog.pg_backend_pid() = $2::int THEN pg_catalog.pg_advisory_unlock($1::bigint) END AS released";
  for (let at = 0; at < POOLED_UNLOCK_TRIES && !session.lost(); at++) {
    const [row] = await session.query(sql, [key, backendPid]).catch(() => []);
    if (row === undefined || row["released"] !== null) return;
    await delay(LOCK_POLL_MS);
  }
}

async function acquire(session: Session, timeoutMs: number, check: () => void, key: number): Promise<number> {
  // Not the clock of the day: set back, it would make the wait as much longer.
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    check();
    const [row] = await session.query(
      "SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_try_advisory_lock($1::bigint) AS taken",
      [key],
    );
    if (row?.["taken"] === true) return Number(row["pid"]);
    if (performance.now() >= deadline) {
      throw new Refused(
        "lock_timeout",
        `another change of this database holds its lock for longer than ${timeoutMs} ms; it is tried again later`,
      );
    }
    await delay(LOCK_POLL_MS);
  }
}
