import type { ServerAnswer } from "./database.ts";

/**
 * The server took a statement and it did to the session what no statement of a migration may do: known only afterwards, because no
 * reading of the text shows it. The message goes on after "statement 1 of 3 …" and holds nothing of the statement.
 */
export class ForbiddenEffect extends Error {}

/** As an answer: it is certain that the statement ran. */
export function forbiddenAnswer(error: unknown): ServerAnswer | undefined {
  if (!(error instanceof ForbiddenEffect)) return undefined;
  return { sqlState: undefined, mysqlErrno: undefined, definite: true, forbidden: error.message };
}
