import { ENGINES } from "../cluster/database-pod.ts";
import { waitFor } from "../cluster/wait.ts";
import type { Database } from "./database.ts";
import { LAB_LIMITS } from "./lab.ts";

/** A table that a session of its own keeps anybody from altering; reading goes on. */
export interface HeldTable {
  /** Returns once somebody waits for the table. */
  waitedFor(): Promise<void>;
  letGo(): Promise<void>;
}

/** What a session is asked for, as each family of engines says it. */
interface Holding {
  /** Takes the lock and sleeps with it; `holder` is to be found in the list of sessions. */
  hold(table: string, holder: string, seconds: number): string;
  /** How many hold it. */
  held(table: string, holder: string): string;
  /** How many wait for it. */
  waiting(table: string): string;
  end(holder: string): string[];
}

const locks = (table: string, granted: boolean) =>
  `select count(*) from pg_locks where relation = '"${table}"'::regclass and granted = ${granted}`;
const sessions = (holder: string) => `from information_schema.processlist where info like 'select sleep%${holder}%'`;

const HOLDING: Readonly<Record<"PostgreSQL" | "MySQL", Holding>> = {
  PostgreSQL: {
    hold: (table, holder, seconds) =>
      `set application_name = '${holder}'; begin; lock table "${table}" in access share mode; select pg_sleep(${seconds})`,
    held: (table) => locks(table, true),
    waiting: (table) => locks(table, false),
    end: (holder) => [
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${holder}' and datname = current_database()`,
    ],
  },
  MySQL: {
    // A transaction that has read a table keeps its definition.
    hold: (table, holder, seconds) =>
      `start transaction; select count(*) from \`${table}\`; select sleep(${seconds}), '${holder}'`,
    held: (_table, holder) => `select count(*) ${sessions(holder)}`,
    waiting: () =>
      "select count(*) from information_schema.processlist where db = database() and state = 'Waiting for table metadata lock'",
    end: (holder) => [
      `set @ending = (select ifnull(concat('kill ', min(id)), 'do 0') ${sessions(holder)})`,
      "prepare ending from @ending",
      "execute ending",
    ],
  },
};

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
  const { hold, held, waiting, end } = HOLDING[ENGINES[database.engine].target];
  // The session ends with the connection that letGo terminates, or by itself.
  const session = database.sql(hold(table, holder, heldMs / 1000)).catch(() => undefined);
  const bound = { timeoutMs: LAB_LIMITS.convergenceMs, pollMs: LAB_LIMITS.pollMs };
  const counted = async (sql: string) => Number((await database.sql(sql)).trim()) > 0;
  await waitFor(`the lock on ${table}`, () => counted(held(table, holder)), bound);
  return {
    waitedFor: async () => {
      await waitFor(`somebody waiting for ${table}`, () => counted(waiting(table)), bound);
    },
    letGo: async () => {
      await database.sql(end(holder).join("; "));
      await session;
    },
  };
}
