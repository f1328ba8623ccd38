/** How the session reads text: the parts of its `sql_mode`, and which executable comments it knows. */
export interface MysqlReading {
  /** Double quotes make identifiers (`ANSI_QUOTES`). */
  readonly ansiQuotes: boolean;
  /** A backslash is a character like any other (`NO_BACKSLASH_ESCAPES`). */
  readonly noBackslashEscapes: boolean;
  /** MariaDB also reads the content of comments that begin with an M and an exclamation mark. */
  readonly mariadb: boolean;
}

/** Stable codes of text that cannot be split. */
export type MysqlTextCode =
  | "sql_not_text"
  | "sql_too_large"
  | "unterminated_quote"
  | "unterminated_comment"
  | "unterminated_body"
  | "ambiguous_comment"
  | "ambiguous_sql_mode"
  | "invalid_delimiter"
  | "several_statements"
  | "package_needs_delimiter"
  | "nested_too_deep"
  | "too_many_statements";

/** Why a text was not split. `message` never holds a piece of the text. */
export interface MysqlTextFailure {
  readonly code: MysqlTextCode;
  readonly message: string;
  /** 1-based line of the text. */
  readonly line: number;
}

export type TokenKind =
  /** Keywords, names without quotes and numbers: letters, digits, `_`, `$` and everything beyond ASCII. */
  | "word"
  | "identifier"
  | "string"
  | "symbol"
  /** The statement's terminator in force. */
  | "delimiter"
  /** The opening of an executable comment; its content follows as ordinary tokens. */
  | "executable"
  | "executable-end";

const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DOUBLE_QUOTE = 0x22;
const HASH = 0x23;
const SINGLE_QUOTE = 0x27;
const STAR = 0x2a;
const DASH = 0x2d;
const SLASH = 0x2f;
const BACKTICK = 0x60;
const DELETE = 0x7f;

const isSpace = (code: number): boolean => code === SPACE || (code >= TAB && code <= CARRIAGE_RETURN);

function isWordCode(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x5f ||
    code === 0x24 ||
    code >= 0x80
  );
}

/**
 * Reads MySQL and MariaDB text token by token, as the server does: ordinary comments are passed over, the content of
 * executable ones is read. One object walks one text; `next` moves it on and the fields describe the token it stands on.
 */
export class MysqlScanner {
  readonly text: string;
  readonly #reading: MysqlReading;
  kind: TokenKind = "symbol";
  start = 0;
  end = 0;
  /** The token stands within an executable comment. */
  inExecutable = false;
  /** Why the text could not be read to its end; `next` has returned false then. */
  failure: { readonly code: MysqlTextCode; readonly message: string; readonly at: number } | undefined;
  #delimiter = ";";
  #delimiterIsWord = false;
  #executableStart = 0;
  #nextEscape = -1;

  constructor(text: string, reading: MysqlReading) {
    this.text = text;
    this.#reading = reading;
  }

  get delimiter(): string {
    return this.#delimiter;
  }

  set delimiter(value: string) {
    this.#delimiter = value;
    this.#delimiterIsWord = isWordCode(value.charCodeAt(0));
  }

  /** Continues at this character; only between statements. */
  continueAt(position: number): void {
    this.end = position;
  }

  /** Moves to the next token. @returns false at the end of the text or at a failure. */
  next(): boolean {
    while (this.failure === undefined) {
      this.#skipSpace();
      this.start = this.end;
      if (this.start >= this.text.length) return this.#finish();
      if (!this.#skipComment()) return this.failure === undefined && this.#token();
    }
    return false;
  }

  /** The token's text. */
  value(): string {
    return this.text.slice(this.start, this.end);
  }

  /** Whether the token is a word that stands behind a `.` or `@`, where no keyword is possible. */
  isQualified(): boolean {
    const before = this.text.charCodeAt(this.start - 1);
    return before === 0x2e || before === 0x40;
  }

  #skipSpace(): void {
    while (isSpace(this.text.charCodeAt(this.end))) this.end += 1;
  }

  #finish(): boolean {
    if (this.inExecutable)
      this.#fail("unterminated_comment", "an executable comment has no end", this.#executableStart);
    return false;
  }

  /** @returns whether an ordinary comment was passed over. */
  #skipComment(): boolean {
    if (this.#atDelimiter()) return false;
    const code = this.text.charCodeAt(this.start);
    if (code === HASH || (code === DASH && this.#isDashComment())) return this.#skipLineComment();
    if (code !== SLASH || this.text.charCodeAt(this.start + 1) !== STAR || this.#opensExecutable()) return false;
    const close = this.text.indexOf("*/", this.start + 2);
    if (close < 0) {
      this.#fail("unterminated_comment", "a comment has no end", this.start);
      return false;
    }
    this.end = close + 2;
    return true;
  }

  /** The server wants a blank, a control character or the end behind two dashes; `5--3` is arithmetic. */
  #isDashComment(): boolean {
    if (this.text.charCodeAt(this.start + 1) !== DASH) return false;
    const behind = this.text.charCodeAt(this.start + 2);
    return Number.isNaN(behind) || behind <= SPACE || behind === DELETE;
  }

  #skipLineComment(): boolean {
    const newline = this.text.indexOf("\n", this.start);
    this.end = newline < 0 ? this.text.length : newline + 1;
    if (this.inExecutable) this.#refuseHiddenEnd();
    return this.failure === undefined;
  }

  /** A server that skips the comment ends it at the first end mark; one that reads it does not look into quotes and comments. */
  #refuseHiddenEnd(): void {
    if (!this.text.slice(this.start, this.end).includes("*/")) return;
    this.#fail("ambiguous_comment", "an executable comment's end mark stands in a quote or comment", this.start);
  }

  #opensExecutable(): boolean {
    if (this.text.startsWith("/*!", this.start)) return true;
    return this.#reading.mariadb && this.text.startsWith("/*M!", this.start);
  }

  #atDelimiter(): boolean {
    return !this.inExecutable && this.text.startsWith(this.#delimiter, this.start);
  }

  #token(): boolean {
    const code = this.text.charCodeAt(this.start);
    if (this.#atDelimiter()) return this.#take("delimiter", this.start + this.#delimiter.length);
    if (isWordCode(code)) return this.#word();
    if (code === SINGLE_QUOTE) return this.#quoted("string", code, !this.#reading.noBackslashEscapes);
    if (code === BACKTICK) return this.#quoted("identifier", code, false);
    if (code === DOUBLE_QUOTE) {
      if (this.#reading.ansiQuotes) return this.#quoted("identifier", code, false);
      return this.#quoted("string", code, !this.#reading.noBackslashEscapes);
    }
    if (code === SLASH && this.text.charCodeAt(this.start + 1) === STAR) return this.#openExecutable();
    if (this.inExecutable && this.text.startsWith("*/", this.start)) {
      this.inExecutable = false;
      return this.#take("executable-end", this.start + 2);
    }
    return this.#take("symbol", this.start + (this.text.startsWith(":=", this.start) ? 2 : 1));
  }

  #take(kind: TokenKind, end: number): true {
    this.kind = kind;
    this.end = end;
    return true;
  }

  #word(): boolean {
    let end = this.start + 1;
    while (isWordCode(this.text.charCodeAt(end))) end += 1;
    if (this.#delimiterIsWord && !this.inExecutable) {
      // The client looks for its delimiter at every character, so that `END$$` ends where `$$` is set.
      const cut = this.text.slice(this.start, end).indexOf(this.#delimiter);
      if (cut > 0) end = this.start + cut;
    }
    return this.#take("word", end);
  }

  #openExecutable(): boolean {
    if (this.inExecutable) return this.#fail("ambiguous_comment", "executable comments are nested", this.start);
    this.inExecutable = true;
    this.#executableStart = this.start;
    const mark = this.text.indexOf("!", this.start) + 1;
    let end = mark;
    while (end < mark + 6 && this.text.charCodeAt(end) >= 0x30 && this.text.charCodeAt(end) <= 0x39) end += 1;
    return this.#take("executable", end - mark >= 5 ? end : mark);
  }

  #quoted(kind: "string" | "identifier", quote: number, escapes: boolean): boolean {
    const mark = String.fromCharCode(quote);
    let at = this.start + 1;
    for (;;) {
      const close = this.text.indexOf(mark, at);
      if (close < 0) return this.#fail("unterminated_quote", "a quote has no end", this.start);
      const escaped = escapes ? this.#escapeFrom(at) : close;
      if (escaped < close) {
        at = escaped + 2;
      } else if (this.text.charCodeAt(close + 1) === quote) {
        at = close + 2;
      } else {
        this.#take(kind, close + 1);
        if (this.inExecutable) this.#refuseHiddenEnd();
        return this.failure === undefined;
      }
    }
  }

  /** The next backslash from here; remembered, so that a text without one is not searched to its end for every quote. */
  #escapeFrom(at: number): number {
    if (this.#nextEscape < at) {
      const found = this.text.indexOf("\\", at);
      this.#nextEscape = found < 0 ? Number.POSITIVE_INFINITY : found;
    }
    return this.#nextEscape;
  }

  #fail(code: MysqlTextCode, message: string, at: number): false {
    this.failure = { code, message, at };
    return false;
  }
}
