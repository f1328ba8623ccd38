import { Refused } from "../contract.ts";
import { LOCK_POLL_MS } from "../limits.ts";
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
  const second = await openSecond();
  try {
    const [row] = await second.query("SELECT pg_catalog.pg_try_advisory_lock($1::bigint) AS taken", [key]);
    if (row?.["taken"] === true) {
      throw new Refused(
        "lock_not_exclusive",
        "a second session could take the lock this one holds: the database URL leads through a transaction pooler; name the server itself",
      );
    }
  } finally {
    await second.end();
  }
  return {
    backendPid,
    release: async () => {
      if (!session.lost())
        await session.query("SELECT pg_catalog.pg_advisory_unlock($1::bigint)", [key]).catch(() => undefined);
    },
  };
}

async function acquire(session: Session, timeoutMs: number, check: () => void, key: number): Promise<number> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    check();
    const [row] = await session.query(
      "SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_try_advisory_lock($1::bigint) AS taken",
      [key],
    );
    if (row?.["taken"] === true) return Number(row["pid"]);
    if (Date.now() >= deadline) {
      throw new Refused(
        "lock_timeout",
        `another change of this database holds its lock for longer than ${timeoutMs} ms; it is tried again later`,
      );
    }
    await delay(LOCK_POLL_MS);
  }
}
