import { LIMITS } from "./limits.ts";
import { type Mistake, mistakeOf, type ScannedToken } from "./mistake.ts";
import type { Tree } from "./tree.ts";

/** Why a text was not parsed. `message` never holds a piece of the text. */
export interface ParseFailure extends Mistake {
  readonly code: "sql_syntax" | "sql_too_large" | "sql_not_text" | "sql_reader_failed";
  readonly message: string;
  /** 1-based line of the text where the reader stopped; 1 where it is unknown. */
  readonly line: number;
}

/** One statement as PostgreSQL's own grammar read it; offsets are UTF-8 bytes of the parsed text. */
export interface ParsedStatement {
  readonly tree: Tree;
  readonly offsetBytes: number;
  /** 0 means: up to the end of the text. */
  readonly sizeBytes: number;
}

export type ParseOutcome = { readonly statements: readonly ParsedStatement[] } | { readonly error: ParseFailure };

/** The reader of PostgreSQL's grammar. It keeps no state between calls. */
export interface Parser {
  /** Parses any number of statements. */
  parse(sql: string): ParseOutcome;
  /** Parses the body of one PL/pgSQL routine given as its whole CREATE FUNCTION, CREATE PROCEDURE or DO statement. */
  parseRoutine(sql: string): { readonly tree: Tree } | { readonly error: ParseFailure };
  /** Splits a text into keyword and other tokens, comments left out; undefined when even that is impossible. */
  words(sql: string): readonly string[] | undefined;
}

interface Library {
  readonly parseSync: (sql: string) => unknown;
  readonly parsePlPgSQLSync: (sql: string) => unknown;
  readonly scanSync: (sql: string) => {
    readonly tokens: readonly ScannedToken[];
  };
}

/**
 * Loads PostgreSQL's grammar (libpg_query as WebAssembly) once per process.
 * @throws only when the WebAssembly module itself cannot be loaded, which is a broken build.
 */
export async function loadParser(): Promise<Parser> {
  const library = await import("libpg-query");
  await library.loadModule();
  return parserOf(library as unknown as Library);
}

function parserOf(library: Library): Parser {
  return {
    parse(sql) {
      const refused = refuseText(sql);
      if (refused !== undefined) return { error: refused };
      // The library refuses an empty text, which to the server is simply no statement.
      if (sql.trim() === "") return { statements: [] };
      try {
        return { statements: statementsOf(library.parseSync(sql)) };
      } catch (thrown) {
        return { error: failureOf(library, thrown, sql) };
      }
    },
    parseRoutine(sql) {
      const refused = refuseText(sql);
      if (refused !== undefined) return { error: refused };
      try {
        return { tree: library.parsePlPgSQLSync(sql) as Tree };
      } catch (thrown) {
        return { error: failureOf(library, thrown, sql) };
      }
    },
    words(sql) {
      if (refuseText(sql) !== undefined) return undefined;
      if (sql.trim() === "") return [];
      try {
        return library
          .scanSync(sql)
          .tokens.filter((token) => token.tokenName !== "SQL_COMMENT" && token.tokenName !== "C_COMMENT")
          .map((token) => (token.keywordKind === 0 && token.tokenName !== "IDENT" ? "" : token.text.toLowerCase()));
      } catch {
        return undefined;
      }
    },
  };
}

/**
 * A NUL would end the text for the C parser while the server would be handed the rest, and an unpaired surrogate has no
 * UTF-8 form: both would let the parser read something else than what runs.
 */
function refuseText(sql: string): ParseFailure | undefined {
  if (sql.includes("\0") || !sql.isWellFormed()) {
    return { code: "sql_not_text", message: "the SQL holds a NUL or a broken character and is not read", line: 1 };
  }
  if (Buffer.byteLength(sql) > LIMITS.sqlSizeBytes) {
    return { code: "sql_too_large", message: `the SQL is larger than ${LIMITS.sqlSizeBytes} bytes`, line: 1 };
  }
  return undefined;
}

function statementsOf(result: unknown): ParsedStatement[] {
  const parsed = result as { readonly stmts?: readonly { stmt?: Tree; stmt_location?: number; stmt_len?: number }[] };
  return (parsed.stmts ?? []).map((raw) => ({
    tree: raw.stmt ?? {},
    // The first statement of a text that starts with it carries no location.
    offsetBytes: raw.stmt_location ?? 0,
    sizeBytes: raw.stmt_len ?? 0,
  }));
}

function failureOf(library: Library, thrown: unknown, sql: string): ParseFailure {
  const details = (thrown as { readonly sqlDetails?: { readonly message: string; readonly cursorPosition?: number } })
    .sqlDetails;
  const position = details?.cursorPosition ?? 0;
  const line = lineAt(sql, position);
  if (details === undefined) {
    return { code: "sql_reader_failed", message: `the SQL cannot be read at line ${line}`, line };
  }
  const mistake = mistakeOf((text) => library.scanSync(text).tokens, details.message, sql, line);
  return { code: "sql_syntax", message: `${withoutQuotedText(details.message)} at line ${line}`, line, ...mistake };
}

/** PostgreSQL quotes the offending text in its messages; what stands before the first quote names the kind of error. */
function withoutQuotedText(message: string): string {
  const kind = message
    .split(/["'“]/)[0]
    ?.replace(/\s+(at or near|of|in|for)?\s*$/, "")
    .trim();
  return kind === undefined || kind === "" ? "syntax error" : kind;
}

/** @returns the 1-based line of a character position (the grammar counts characters here, not bytes). */
function lineAt(sql: string, position: number): number {
  let line = 1;
  let seen = 0;
  for (const character of sql) {
    if (seen >= position) break;
    if (character === "\n") line += 1;
    seen += 1;
  }
  return line;
}
