/** A CREATE TABLE on several lines, for reading alone: what runs and what `-o sql` prints stay the stored bytes. */

/** Text whose quoting this reader could take for something else is shown as it is. */
const LEFT_ALONE = /[\n\\`#]|--|\/\*|\$\w*\$/;
const NAME = '(?:"(?:[^"]|"")*"|[^\\s"(.]+)';
/** Up to the parenthesis of its columns; PARTITION OF, OF and AS have none, or another one. */
const TABLE = new RegExp(`^CREATE (?:UNLOGGED |FOREIGN )?TABLE (?:IF NOT EXISTS )?${NAME}(?:\\.${NAME})* ?\\(`, "i");

/**
 * Breaks a one-line CREATE TABLE at the commas of its own list, outside of quotes and inner parentheses. Nothing but white space
 * between tokens changes, so that the same tokens are shown in the same order.
 */
export function laidOut(sql: string): string {
  const head = TABLE.exec(sql)?.[0];
  if (head === undefined || LEFT_ALONE.test(sql)) return sql;
  const items = listed(sql.slice(head.length));
  if (items === undefined || items.list.length < 2) return sql;
  return `${head}\n  ${items.list.join(",\n  ")}\n)${items.rest}`;
}

/** The items of a list whose parenthesis is open, and what stands behind its end; undefined where it has no end. */
function listed(text: string): { readonly list: readonly string[]; readonly rest: string } | undefined {
  const list: string[] = [];
  let depth = 1;
  let quote = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (quote !== "") {
      // A doubled quote closes and opens again, which comes to the same.
      if (char === quote) quote = "";
    } else if (char === "'" || char === '"') quote = char;
    else if (char === "(") depth += 1;
    else if (char === ")") depth -= 1;
    if (quote !== "" || (depth > 0 && !(char === "," && depth === 1))) continue;
    list.push(text.slice(from, at).replaceAll(/^ +| +$/g, ""));
    if (depth === 0) return { list, rest: text.slice(at + 1) };
    from = at + 1;
  }
  return undefined;
}
