import { type MysqlReading, MysqlScanner } from "./scanner.ts";

/** A token of one statement in the form the rules read. */
export interface MysqlWord {
  readonly kind: "word" | "identifier" | "string" | "symbol" | "executable";
  /** Keywords in upper case; names and strings without their quotes, as written; symbols as they are. */
  readonly value: string;
  /** The word stands behind `.` or `@`, so that it is a name. */
  readonly qualified: boolean;
  /** How many parentheses stand open before it. */
  readonly depth: number;
}

/**
 * The tokens of one statement, comments left out, the content of executable comments included. Rows of an INSERT or REPLACE are left
 * out but for their words and opening parentheses: no rule reads values, and there may be millions.
 * @param statement a statement as `splitMysql` gives it, which therefore can be read to its end
 */
export function wordsOf(statement: string, reading: MysqlReading): readonly MysqlWord[] {
  const scanner = new MysqlScanner(statement, reading);
  const words: MysqlWord[] = [];
  let last: MysqlWord | undefined;
  let depth = 0;
  while (scanner.next()) {
    const symbol = scanner.kind === "symbol" ? scanner.value() : "";
    if (symbol === ")") depth = Math.max(0, depth - 1);
    const ofRow = depth > 0 && isKeyword(words[0], "INSERT", "REPLACE") && isValue(scanner, symbol);
    if (scanner.kind !== "executable-end" && !ofRow) {
      const word = wordAt(scanner, depth);
      // Long runs of one token, such as the parentheses of rows, share one object.
      last = last !== undefined && sameWord(last, word) ? last : word;
      words.push(last);
    }
    if (symbol === "(") depth += 1;
  }
  return words;
}

function isValue(scanner: MysqlScanner, symbol: string): boolean {
  if (scanner.kind === "symbol") return symbol !== "(";
  if (scanner.kind === "word") return /^[0-9]/.test(scanner.text.charAt(scanner.start));
  return scanner.kind === "string" || scanner.kind === "identifier";
}

function sameWord(a: MysqlWord, b: MysqlWord): boolean {
  return a.kind === b.kind && a.value === b.value && a.qualified === b.qualified && a.depth === b.depth;
}

function wordAt(scanner: MysqlScanner, depth: number): MysqlWord {
  const raw = scanner.value();
  if (scanner.kind === "word") {
    const qualified = scanner.isQualified();
    return { kind: "word", value: qualified ? raw : raw.toUpperCase(), qualified, depth };
  }
  if (scanner.kind === "identifier" || scanner.kind === "string") {
    return { kind: scanner.kind, value: raw.slice(1, -1), qualified: scanner.isQualified(), depth };
  }
  return { kind: scanner.kind === "executable" ? "executable" : "symbol", value: raw, qualified: false, depth };
}

/** Whether the token is this keyword (one of them), not a name or a string. */
export function isKeyword(word: MysqlWord | undefined, ...keywords: readonly string[]): boolean {
  return word !== undefined && word.kind === "word" && !word.qualified && keywords.includes(word.value);
}
