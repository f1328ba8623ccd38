import { LIMITS } from "../limits.ts";
import { BodyTracker } from "./body.ts";
import { type MysqlReading, MysqlScanner, type MysqlTextCode, type MysqlTextFailure } from "./scanner.ts";

/** One statement of a MySQL or MariaDB text. */
export interface MysqlStatement {
  /** What is sent: from its first to its last token, without terminator and without the comments around it. */
  readonly text: string;
  /** The text from its first token through its terminator as it stands; equal to `text` where the file ends without one. */
  readonly source: string;
  /** 1-based line on which it starts. */
  readonly line: number;
  /** 1-based position among the text's statements. */
  readonly number: number;
  /** Whether it defines or is a program with a body of its own (routine, trigger, event, package, compound block). */
  readonly program: boolean;
}

export type MysqlSplitOutcome =
  | { readonly statements: readonly MysqlStatement[] }
  | { readonly error: MysqlTextFailure };

const HINT = "end the body with END, or put it between DELIMITER lines";

/**
 * Splits a text into statements as the server and its client read it: quotes in both backslash modes, comments, executable comments
 * (never split inside), `DELIMITER` lines, and bodies of stored programs whose semicolons do not end the statement.
 * @returns the statements without empty ones, or why the text cannot be split without guessing.
 */
export function splitMysql(sql: string, reading: MysqlReading): MysqlSplitOutcome {
  const refused = refuseText(sql);
  if (refused !== undefined) return { error: refused };
  // Editors put a byte order mark before the first character; the server's client drops it too.
  const text = sql.startsWith("\uFEFF") ? sql.slice(1) : sql;
  const outcome = new Splitter(text, reading).run();
  if ("error" in outcome || !/sql_mode/i.test(text)) return outcome;
  return changesMeaning(text, reading, outcome.statements) ?? outcome;
}

/** How a session with this `@@sql_mode` reads text. */
export function readingOf(sqlMode: string, mariadb: boolean): MysqlReading {
  const modes = sqlMode.toUpperCase().split(",");
  return {
    ansiQuotes: modes.includes("ANSI_QUOTES"),
    noBackslashEscapes: modes.includes("NO_BACKSLASH_ESCAPES"),
    mariadb,
  };
}

function refuseText(sql: string): MysqlTextFailure | undefined {
  if (sql.includes("\0") || !sql.isWellFormed()) {
    return { code: "sql_not_text", message: "the SQL holds a NUL or a broken character and is not read", line: 1 };
  }
  if (Buffer.byteLength(sql) > LIMITS.sqlSizeBytes) {
    return { code: "sql_too_large", message: `the SQL is larger than ${LIMITS.sqlSizeBytes} bytes`, line: 1 };
  }
  return undefined;
}

/**
 * A text that sets `sql_mode` may be read otherwise by the server from there on than it was split here. Only where every mode gives
 * the same statements is there nothing to guess.
 */
function changesMeaning(
  text: string,
  reading: MysqlReading,
  statements: readonly MysqlStatement[],
): { readonly error: MysqlTextFailure } | undefined {
  const setting = statements.find((statement) => /sql_mode/i.test(statement.text));
  if (setting === undefined) return undefined;
  for (const ansiQuotes of [false, true]) {
    for (const noBackslashEscapes of [false, true]) {
      const other = new Splitter(text, { ...reading, ansiQuotes, noBackslashEscapes }).run();
      const same =
        !("error" in other) &&
        other.statements.length === statements.length &&
        other.statements.every((statement, index) => statement.source === statements[index]?.source);
      if (!same) {
        return {
          error: {
            code: "ambiguous_sql_mode",
            message:
              "the text sets sql_mode and would be split otherwise under another mode; set it in a file of its own",
            line: setting.line,
          },
        };
      }
    }
  }
  return undefined;
}

class Splitter {
  readonly #scanner: MysqlScanner;
  readonly #text: string;
  readonly #statements: MysqlStatement[] = [];
  #tracker = new BodyTracker();
  /** Where the statement in hand starts; -1 between statements. */
  #start = -1;
  #line = 1;
  #end = 0;
  /** A semicolon was seen that does not end the statement because another delimiter is in force. */
  #semicolon = false;
  #countedLine = 1;
  #nextBreak = -1;

  constructor(text: string, reading: MysqlReading) {
    this.#text = text;
    this.#scanner = new MysqlScanner(text, reading);
  }

  run(): MysqlSplitOutcome {
    const scanner = this.#scanner;
    while (scanner.next()) {
      const error = this.#start < 0 && this.#isDelimiterCommand() ? this.#setDelimiter() : this.#accept();
      if (error !== undefined) return { error };
    }
    if (scanner.failure !== undefined) {
      const { code, message, at } = scanner.failure;
      return { error: this.#failure(code, message, this.#lineAt(at)) };
    }
    if (this.#start < 0) return { statements: this.#statements };
    if (this.#tracker.open && scanner.delimiter === ";") {
      return { error: this.#failure("unterminated_body", `a body has no end; ${HINT}`, this.#line) };
    }
    const error = this.#complete(this.#end);
    return error === undefined ? { statements: this.#statements } : { error };
  }

  #isDelimiterCommand(): boolean {
    const { start, end } = this.#scanner;
    return (
      this.#scanner.kind === "word" &&
      !this.#scanner.inExecutable &&
      end - start === "DELIMITER".length &&
      this.#scanner.value().toUpperCase() === "DELIMITER"
    );
  }

  /** The client takes the first word of the rest of the line, without its quotes. */
  #setDelimiter(): MysqlTextFailure | undefined {
    const from = this.#scanner.end;
    const newline = this.#text.indexOf("\n", from);
    const to = newline < 0 ? this.#text.length : newline;
    const rest = this.#text.slice(from, to).trim();
    const match = /^(?:'([^']*)'|"([^"]*)"|`([^`]*)`|(\S+))/.exec(rest);
    const delimiter = match?.[1] ?? match?.[2] ?? match?.[3] ?? match?.[4] ?? "";
    if (delimiter === "" || delimiter.includes("\\") || delimiter.length > LIMITS.mysqlDelimiterLength) {
      const message = `DELIMITER needs 1 to ${LIMITS.mysqlDelimiterLength} characters without a backslash`;
      return this.#failure("invalid_delimiter", message, this.#lineAt(this.#scanner.start));
    }
    this.#scanner.delimiter = delimiter;
    this.#scanner.continueAt(to);
    return undefined;
  }

  #accept(): MysqlTextFailure | undefined {
    const scanner = this.#scanner;
    if (scanner.kind === "delimiter") {
      if (scanner.delimiter !== ";" || !this.#tracker.open) return this.#complete(scanner.end);
      this.#tracker.symbol(";");
      this.#end = scanner.end;
      return undefined;
    }
    if (this.#start < 0) {
      this.#start = scanner.start;
      this.#line = this.#lineAt(scanner.start);
    }
    if (this.#semicolon && this.#tracker.program === "none") {
      const message = "several statements stand before one delimiter; end each with the delimiter in force";
      return this.#failure("several_statements", message, this.#line);
    }
    this.#end = scanner.end;
    this.#track();
    if (!this.#tracker.tooDeep) return undefined;
    return this.#failure("nested_too_deep", `blocks nest deeper than ${LIMITS.mysqlBlockDepth}`, this.#line);
  }

  #track(): void {
    const scanner = this.#scanner;
    if (scanner.kind === "word") {
      const keyword = !scanner.isQualified();
      this.#tracker.word(keyword ? scanner.value().toUpperCase() : "", keyword);
    } else if (scanner.kind === "symbol") {
      const symbol = scanner.value();
      if (symbol === ";" && !scanner.inExecutable) this.#semicolon = true;
      this.#tracker.symbol(symbol);
    } else if (scanner.kind === "string" || scanner.kind === "identifier") {
      this.#tracker.word("", false);
    }
  }

  /** Ends the statement in hand; `end` is behind its terminator. */
  #complete(end: number): MysqlTextFailure | undefined {
    if (this.#start < 0) return undefined;
    const { program } = this.#tracker;
    if (program === "package" && this.#scanner.delimiter === ";") {
      const message = "a package's end cannot be told from its routines'; put it between DELIMITER lines";
      return this.#failure("package_needs_delimiter", message, this.#line);
    }
    if (this.#statements.length >= LIMITS.mysqlStatementCount) {
      const message = `the SQL has more than ${LIMITS.mysqlStatementCount} statements`;
      return this.#failure("too_many_statements", message, this.#line);
    }
    this.#statements.push({
      text: this.#text.slice(this.#start, this.#end),
      source: this.#text.slice(this.#start, end),
      line: this.#line,
      number: this.#statements.length + 1,
      program: program !== "none",
    });
    this.#start = -1;
    this.#semicolon = false;
    this.#tracker = new BodyTracker();
    return undefined;
  }

  /** Positions are asked in rising order; the next line break is remembered, so that long lines are searched once. */
  #lineAt(position: number): number {
    while (this.#nextBreak < position) {
      if (this.#nextBreak >= 0) this.#countedLine += 1;
      const found = this.#text.indexOf("\n", this.#nextBreak + 1);
      this.#nextBreak = found < 0 ? Number.POSITIVE_INFINITY : found;
    }
    return this.#countedLine;
  }

  #failure(code: MysqlTextCode, message: string, line: number): MysqlTextFailure {
    return { code, message: `${message} (line ${line})`, line };
  }
}
