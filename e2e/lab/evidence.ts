/** What a server itself says was run on it: the proof that nothing ran twice, and nothing that nobody decided. */
import type { Database } from "./database.ts";
import { statementsOf } from "./general-log.ts";

/**
 * Options of a PostgreSQL server with which every change of a definition or a row is written to its log, its database in
 * front. MySQL and MariaDB write every statement without being asked.
 */
export const LOGGED = ["-c", "log_statement=mod", "-c", "log_line_prefix=<%d> "] as const;

/** Statements that match, in the order the server was sent them; of one database where it is named. */
export async function statementsOn(server: Database, matching: RegExp, database?: string): Promise<readonly string[]> {
  const log = await server.statementLog();
  if (server.engine !== "postgresql") {
    return statementsOf(log)
      .filter((one) => (database === undefined || one.database === database) && matching.test(one.text))
      .map((one) => one.text);
  }
  const prefix = database === undefined ? "<" : `<${database}> `;
  return log
    .split("\n")
    .filter(
      (line) => line.startsWith(prefix) && /LOG: {2}(?:statement|execute [^:]*):/.test(line) && matching.test(line),
    );
}
