/** What a server itself says was run on it: the proof that nothing ran twice, and nothing that nobody decided. */
import type { Database } from "./database.ts";
import type { Lab } from "./lab.ts";

/** Server options with which every change of a definition or a row is written to the server's log, its database in front. */
export const LOGGED = ["-c", "log_statement=mod", "-c", "log_line_prefix=<%d> "] as const;

/** Log lines of statements that match, in the order they ran; of one database where it is named. */
export async function statementsOn(
  lab: Lab,
  server: Database,
  matching: RegExp,
  database?: string,
): Promise<readonly string[]> {
  const log = await lab.must(["logs", "-n", server.namespace, server.name, "-c", "postgres"]);
  const prefix = database === undefined ? "<" : `<${database}> `;
  return log
    .split("\n")
    .filter(
      (line) => line.startsWith(prefix) && /LOG: {2}(?:statement|execute [^:]*):/.test(line) && matching.test(line),
    );
}
