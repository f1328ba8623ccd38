import type { ParseFailure, Parser } from "./parser.ts";

/** One statement of a text, as the server would read it. */
export interface SplitStatement {
  /** The statement without its terminator and without what stands before it. */
  readonly text: string;
  /** UTF-8 byte offset of `text` in the whole. */
  readonly offsetBytes: number;
  /** 1-based line on which `text` starts. */
  readonly line: number;
}

export type SplitOutcome = { readonly statements: readonly SplitStatement[] } | { readonly error: ParseFailure };

/**
 * Splits SQL into its statements by the server's own grammar, so that quotes, dollar quotes, nested comments and
 * `BEGIN ATOMIC` bodies are told apart as the server does.
 * @returns the statements, or why the text cannot be read (never a piece of the text).
 */
export function split(parser: Parser, sql: string): SplitOutcome {
  const outcome = parser.parse(sql);
  if ("error" in outcome) return outcome;
  const bytes = Buffer.from(sql, "utf8");
  const statements: SplitStatement[] = [];
  let line = 1;
  let counted = 0;
  for (const parsed of outcome.statements) {
    const end = parsed.sizeBytes === 0 ? bytes.length : parsed.offsetBytes + parsed.sizeBytes;
    const raw = bytes.subarray(parsed.offsetBytes, end).toString("utf8");
    const trimmed = raw.trimStart();
    const offsetBytes = parsed.offsetBytes + Buffer.byteLength(raw.slice(0, raw.length - trimmed.length));
    for (; counted < offsetBytes; counted += 1) if (bytes[counted] === 0x0a) line += 1;
    statements.push({ text: trimmed.trimEnd(), offsetBytes, line });
  }
  return { statements };
}
