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
  /**
   * The unquoted word the reader stumbled over, where it is no word of SQL: a misspelt keyword, mostly. Absent wherever it
   * might be a piece of a value: beside a literal, behind a word that introduces a credential.
   */
  readonly word?: string;
  /** 1-based line on which the statement with the mistake begins, where it begins on another line. */
  readonly statementLine?: number;
}

/** What an identifier may hold, in PostgreSQL's own length. */
const WORD = /^[\p{L}_][\p{L}\p{N}_$]{0,62}$/u;
/** Behind one of these a word may be a value that lacks its quotes. */
const CREDENTIAL = /pass|pwd|secret|token|credential|connection|options|identified|api_?key|auth/i;
/** A literal of any kind; a word on its line may be what was meant to be inside of it. */
const LITERAL = /^\$|'/;
const COMMENTS: readonly string[] = ["SQL_COMMENT", "C_COMMENT"];

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
    const tokens = withLines(scan(sql), sql);
    const begins = statementLine(tokens, line);
    return {
      ...(near === undefined ? {} : tells(scan, near) ? { near } : harmless(tokens, near, line) ? { word: near } : {}),
      ...(begins === undefined || begins === line ? {} : { statementLine: begins }),
    };
  } catch {
    return {};
  }
}

function tells(scan: (sql: string) => readonly ScannedToken[], token: string): boolean {
  return PUNCTUATION.test(token) || scan(token).every(({ keywordKind }) => keywordKind !== 0);
}

/** Whether the word stands on the line as a plain identifier that cannot be a piece of a value. */
function harmless(tokens: readonly PlacedToken[], word: string, line: number): boolean {
  if (!WORD.test(word)) return false;
  const at = tokens.findIndex((token) => token.line === line && token.tokenName === "IDENT" && token.text === word);
  if (at < 0) return false;
  const beside = tokens.filter((token) => token.line <= line && lastLine(token) >= line);
  if (beside.some(({ text }) => LITERAL.test(text))) return false;
  return ![...beside, ...tokens.slice(Math.max(0, at - 2), at)].some(({ text }) => CREDENTIAL.test(text));
}

const lastLine = ({ line, text }: PlacedToken): number => line + text.split("\n").length - 1;

interface PlacedToken extends ScannedToken {
  /** 1-based line on which it begins. */
  readonly line: number;
}

/** Comments are left out. */
function withLines(tokens: readonly ScannedToken[], sql: string): readonly PlacedToken[] {
  const bytes = Buffer.from(sql, "utf8");
  let line = 1;
  let counted = 0;
  return tokens
    .filter(({ tokenName }) => !COMMENTS.includes(tokenName))
    .map(({ text, tokenName, keywordKind, start }) => {
      for (; counted < start; counted += 1) if (bytes[counted] === 0x0a) line += 1;
      return { text, tokenName, keywordKind, start, line };
    });
}

/** The line of the first token of the last statement that begins at or before the mistake. */
function statementLine(tokens: readonly PlacedToken[], mistakeLine: number): number | undefined {
  let begins: number | undefined;
  let first = true;
  for (const { line, text } of tokens) {
    if (line > mistakeLine) break;
    if (first) begins = line;
    first = text === ";";
  }
  return begins;
}
