import type { ParseFailure } from "../sql/index.ts";

/**
 * At which word and in which statement a syntax error stands, to go on behind its kind; empty where neither may be said. The reader
 * gives a word only where it can be no piece of a value (`sql/mistake.ts`), so no SQL gets into a message by it.
 */
export function placeOf({ near, word, statementLine }: ParseFailure): string {
  const said = near ?? word;
  const at = said === undefined ? "" : ` at or just before "${said}"`;
  return `${at}${statementLine === undefined ? "" : ` in the statement that begins on line ${statementLine}`}`;
}
