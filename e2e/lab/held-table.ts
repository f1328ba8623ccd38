import { waitFor } from "../cluster/wait.ts";
import type { Database } from "./database.ts";
import { LAB_LIMITS } from "./lab.ts";

/** A table that a session of its own keeps anybody from altering; reading goes on. */
export interface HeldTable {
  /** Returns once somebody waits for the table. */
  waitedFor(): Promise<void>;
  letGo(): Promise<void>;
}

/**
 * An Apply that alters the table stands at that statement until the table is let go.
 * @param heldMs longest time it is held, for where nobody can reach the server to let it go
 */
export async function holdTable(
  database: Database,
  table: string,
  heldMs: number = LAB_LIMITS.convergenceMs,
): Promise<HeldTable> {
  const holder = `held ${table}`;
  // The session ends with the connection that letGo terminates, or by itself.
  const session = database
    .psql(
      `set application_name = '${holder}'; begin; lock table "${table}" in access share mode; ` +
        `select pg_sleep(${heldMs / 1000})`,
    )
    .catch(() => undefined);
  const bound = { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs };
  const locks = (granted: boolean) =>
    `select count(*) from pg_locks where relation = '"${table}"'::regclass and granted = ${granted}`;
  const counted = async (sql: string) => Number((await database.psql(sql)).trim()) > 0;
  await waitFor(`the lock on ${table}`, () => counted(locks(true)), bound);
  return {
    waitedFor: async () => {
      await waitFor(`somebody waiting for ${table}`, () => counted(locks(false)), bound);
    },
    letGo: async () => {
      await database.psql(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${holder}' and datname = current_database()`,
      );
      await session;
    },
  };
}
