/** Where in a statement a mistake is, in lines. */

/** A relation the server names in its sentence about a REFERENCES clause, for which it gives no position. */
const NAMED_RELATION = /(?:relation|referenced table) "(?:[^".]+\.)?(?<name>[^".]+)"/;

/**
 * Lines between the statement's first word and what the server means; 0 where it does not say.
 * @param sql the statement as it was sent
 * @param error what the server answered; `position` counts characters from 1
 */
export function linesBeforeMistake(sql: string, error: unknown): number {
  const { position, message } = (error ?? {}) as { readonly position?: unknown; readonly message?: unknown };
  const at = Number(position ?? 0);
  const name = NAMED_RELATION.exec(String(message ?? ""))?.groups?.["name"];
  const lines = at > 0 ? linesIn([...sql].slice(0, at - 1).join("")) : linesBeforeReference(sql, name);
  return Math.max(0, lines - linesBeforeFirstWord(sql));
}

function linesBeforeReference(sql: string, name: string | undefined): number {
  if (name === undefined) return 0;
  const escaped = name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const clause = new RegExp(`\\bREFERENCES\\s+(?:[^\\s(.]+\\.)?"?${escaped}"?(?![\\w"])`, "i").exec(sql);
  return clause === null ? 0 : linesIn(sql.slice(0, clause.index));
}

const linesIn = (text: string): number => text.split("\n").length - 1;

/** Comments above a statement belong to it; a person looks for the line of its first word. */
export function linesBeforeFirstWord(text: string): number {
  const comments = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/.exec(text)?.[0] ?? "";
  return comments.split("\n").length - 1;
}
