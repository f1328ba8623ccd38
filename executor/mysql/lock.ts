import { Refused } from "../contract.ts";
import { LOCK_POLL_MS } from "../limits.ts";
import { delay } from "../postgres/session.ts";
import type { MysqlSession } from "./session.ts";

/** The name Ptah's own CLI locks under; it is one name for the whole server. */
const NAME = "ptah_migrate";

/**
 * Takes the migration lock on this session, then proves it: a second session must fail to take it, and the server must name this
 * session as its holder, else a proxy hands statements to several sessions and the lock protects nothing.
 * @throws Refused `lock_timeout` or `lock_not_exclusive`
 */
export async function takeMysqlLock(
  session: MysqlSession,
  openSecond: () => Promise<MysqlSession>,
  timeoutMs: number,
  check: () => void,
): Promise<void> {
  // Not the clock of the day: set back, it would make the wait as much longer.
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    check();
    const [row] = await session.query(`SELECT GET_LOCK('${NAME}', 0) AS taken`);
    if (Number(row?.["taken"]) === 1) break;
    if (performance.now() >= deadline) {
      throw new Refused(
        "lock_timeout",
        `another change of this server's databases holds the lock for longer than ${timeoutMs} ms; it is tried again later`,
      );
    }
    await delay(LOCK_POLL_MS);
  }
  const second = await openSecond();
  try {
    const [row] = await second.query(`SELECT GET_LOCK('${NAME}', 0) AS taken, IS_USED_LOCK('${NAME}') AS holder`);
    if (Number(row?.["taken"]) === 1 || Number(row?.["holder"]) !== session.id) {
      throw new Refused(
        "lock_not_exclusive",
        "a second session could take the lock this one holds: the database URL leads through a proxy that shares sessions; name the server itself",
      );
    }
  } finally {
    await second.end();
  }
}

export async function holdsMysqlLock(session: MysqlSession): Promise<boolean> {
  const [row] = await session.query(`SELECT IS_USED_LOCK('${NAME}') AS holder`);
  return Number(row?.["holder"]) === session.id;
}

export async function releaseMysqlLock(session: MysqlSession): Promise<void> {
  if (!session.lost()) await session.query(`SELECT RELEASE_LOCK('${NAME}')`).catch(() => undefined);
}
