/** What may be said about a syntax error without saying what the text holds. */

/** One token as the grammar's scanner reads it; offsets are UTF-8 bytes. */
export interface ScannedToken {
  readonly text: string;
  readonly tokenName: string;
  readonly keywordKind: number;
  readonly start: number;
}

export interface Mistake {
  /** The token the reader stumbled over, where it is a word of SQL or punctuation; never a name, a string or a number. */
  readonly near?: string;
  /** 1-based line on which the statement with the mistake begins, where it begins on another line. */
  readonly statementLine?: number;
}

const PUNCTUATION = /^[^\p{L}\p{N}\s_'"$]{1,2}$/u;

/**
 * @param scan the grammar's scanner; throws where a text cannot even be split into tokens
 * @param message the grammar's own sentence
 * @param line 1-based line where the reader stopped
 */
export function mistakeOf(
  scan: (sql: string) => readonly ScannedToken[],
  message: string,
  sql: string,
  line: number,
): Mistake {
  try {
    const near = /at or near "(?<token>[^"]+)"/.exec(message)?.groups?.["token"];
    const begins = statementLine(scan(sql), sql, line);
    return {
      ...(near !== undefined && tells(scan, near) ? { near } : {}),
      ...(begins === undefined || begins === line ? {} : { statementLine: begins }),
    };
  } catch {
    return {};
  }
}

function tells(scan: (sql: string) => readonly ScannedToken[], token: string): boolean {
  return PUNCTUATION.test(token) || scan(token).every(({ keywordKind }) => keywordKind !== 0);
}

/** The line of the first token of the last statement that begins at or before the mistake. */
function statementLine(tokens: readonly ScannedToken[], sql: string, mistakeLine: number): number | undefined {
  const bytes = Buffer.from(sql, "utf8");
  let line = 1;
  let counted = 0;
  let begins: number | undefined;
  let first = true;
  for (const { start, text, tokenName } of tokens) {
    if (tokenName === "SQL_COMMENT" || tokenName === "C_COMMENT") continue;
    for (; counted < start; counted += 1) if (bytes[counted] === 0x0a) line += 1;
    if (line > mistakeLine) break;
    if (first) begins = line;
    first = text === ";";
  }
  return begins;
}
