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
 * The tokens of one statement, comments left out, the content of executable comments included.
 * @param statement a statement as `splitMysql` gives it, which therefore can be read to its end
 */
export function wordsOf(statement: string, reading: MysqlReading): readonly MysqlWord[] {
  const scanner = new MysqlScanner(statement, reading);
  const words: MysqlWord[] = [];
  let depth = 0;
  while (scanner.next()) {
    const raw = scanner.value();
    if (scanner.kind === "executable-end") continue;
    if (raw === ")") depth = Math.max(0, depth - 1);
    if (scanner.kind === "word") {
      const qualified = scanner.isQualified();
      words.push({ kind: "word", value: qualified ? raw : raw.toUpperCase(), qualified, depth });
    } else if (scanner.kind === "identifier" || scanner.kind === "string") {
      words.push({ kind: scanner.kind, value: raw.slice(1, -1), qualified: scanner.isQualified(), depth });
    } else {
      words.push({
        kind: scanner.kind === "executable" ? "executable" : "symbol",
        value: raw,
        qualified: false,
        depth,
      });
    }
    if (raw === "(") depth += 1;
  }
  return words;
}

/** Whether the token is this keyword (one of them), not a name or a string. */
export function isKeyword(word: MysqlWord | undefined, ...keywords: readonly string[]): boolean {
  return word !== undefined && word.kind === "word" && !word.qualified && keywords.includes(word.value);
}
