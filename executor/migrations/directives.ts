/** Directives in the header of a migration file: its blank lines and line comments before the first statement. Pure. */
import { parseDurationMs } from "../flags.ts";
import type { Directives, MigrationRefusal, TransactionMode } from "./migration.ts";

export type DirectivesResult = { readonly directives: Directives } | { readonly refusal: MigrationRefusal };

const MARKER = /^-- \+ptah(\s|$)/;
/** What looks like a marker and is not quite it: taken for a comment, it would silently change nothing. */
const NEAR_MARKER = /^(?:--|#)\s*\+\s*ptah(?:\W|$)/i;
const NEAR_ATLAS = /^(?:--|#)\s*atlas\s*:\s*txmode\b/i;
const ATLAS = /^--\s*atlas:([a-z-]+)\s*(.*)$/;
/** Directives of another tool that say nothing about how a file runs. */
const HARMLESS_ATLAS: ReadonlySet<string> = new Set(["nolint"]);
/** With a directive's name behind it, so that prose is not meant; in a comment of any kind. */
const ANYWHERE =
  /^\s*(?:--|#|\/?\*+)?\s*(?:\+\s*ptah\s*:?\s*(?:no[_-]transaction|lock[_-]timeout|statement[_-]timeout|online[_-]ddl|check\b)|atlas\s*:\s*txmode\b)/i;
const WORTH_READING = /\+\s*ptah|atlas\s*:/i;

const isHeaderLine = (line: string): boolean => /^\s*($|--|#)/.test(line);

interface Line {
  readonly text: string;
  readonly number: number;
}

/** The lines before the first statement. A block comment ends the header, as in the reference. */
function headerOf(text: string): Line[] {
  const lines: Line[] = [];
  let from = text.startsWith("\uFEFF") ? 1 : 0;
  while (from < text.length) {
    const newline = text.indexOf("\n", from);
    const line = text.slice(from, newline < 0 ? text.length : newline);
    if (!isHeaderLine(line)) break;
    lines.push({ text: line.trim(), number: lines.length + 1 });
    if (newline < 0) break;
    from = newline + 1;
  }
  return lines;
}

/**
 * Reads the header of one file.
 * @returns its directives, or why the file cannot be run: a directive that is not known is refused, never passed over
 */
export function readDirectives(path: string, text: string): DirectivesResult {
  if (!WORTH_READING.test(text)) return { directives: { noTransaction: false } };
  const header = headerOf(text);
  const values = new Map<string, string>();
  for (const line of header) {
    const refusal = MARKER.test(line.text) ? readFields(path, line, values) : readOther(path, line);
    if (refusal !== undefined) return { refusal };
  }
  const mode = readAtlasMode(path, header);
  if (typeof mode === "object") return { refusal: mode };
  return conclude(path, values, mode);
}

function readFields(path: string, line: Line, values: Map<string, string>): MigrationRefusal | undefined {
  const fields = line.text.slice("-- +ptah".length).trim().split(/\s+/);
  if (fields[0] === "") return invalid(path, line.number, "names no directive");
  if (fields[0] === "check")
    return unsupported(path, line.number, "check", "make the statement itself guard its precondition");
  for (const field of fields) {
    const [key = "", value] = field.split(/=(.*)/s);
    const name = key.replaceAll("-", "_");
    if (name.startsWith("online_ddl")) {
      return unsupported(
        path,
        line.number,
        name,
        "it needs an external tool; remove it and let the server alter the table",
      );
    }
    if (name !== "no_transaction" && name !== "lock_timeout" && name !== "statement_timeout") {
      return invalid(path, line.number, "names a directive that is not known");
    }
    const given = value ?? (name === "no_transaction" ? "true" : undefined);
    const normal = given === undefined ? undefined : normalValue(name, given);
    if (normal === undefined) return invalid(path, line.number, `gives ${name} a value it cannot have`);
    const earlier = values.get(name);
    if (earlier !== undefined && earlier !== normal) return invalid(path, line.number, `sets ${name} a second time`);
    values.set(name, normal);
  }
  return undefined;
}

/** @returns `true` or `false`, a number of milliseconds above zero as text, or undefined for what is neither */
function normalValue(name: string, value: string): string | undefined {
  if (name === "no_transaction") {
    if (/^(1|t|true)$/i.test(value)) return "true";
    return /^(0|f|false)$/i.test(value) ? "false" : undefined;
  }
  try {
    const durationMs = parseDurationMs(value, name);
    return durationMs > 0 ? String(durationMs) : undefined;
  } catch {
    return undefined;
  }
}

function readOther(path: string, line: Line): MigrationRefusal | undefined {
  if (NEAR_MARKER.test(line.text)) return invalid(path, line.number, "must begin with exactly `-- +ptah `");
  const name = ATLAS.exec(line.text)?.[1];
  if (name === undefined && NEAR_ATLAS.test(line.text)) {
    return invalid(path, line.number, "must be written `-- atlas:txmode file` or `-- atlas:txmode none`");
  }
  if (name === undefined || name === "txmode" || HARMLESS_ATLAS.has(name)) return undefined;
  return unsupported(path, line.number, `atlas:${name}`, "write the file in the native format");
}

/** Atlas reads its mode only in the comment block that begins on the first line and ends with an empty one. */
function readAtlasMode(path: string, header: readonly Line[]): TransactionMode | MigrationRefusal | undefined {
  const found = header.filter(({ text }) => ATLAS.exec(text)?.[1] === "txmode");
  const [line, second] = found;
  if (line === undefined) return undefined;
  if (second !== undefined) return invalid(path, second.number, "sets atlas:txmode a second time");
  const end = header.findIndex(({ text }) => text === "");
  if (end < 0 || line.number > end) {
    return invalid(
      path,
      line.number,
      "must stand in the comment block of the first line, with an empty line behind it",
    );
  }
  const value = ATLAS.exec(line.text)?.[2]?.trim();
  if (value === "file" || value === "none") return value;
  return invalid(path, line.number, "gives atlas:txmode a value other than file or none");
}

function conclude(
  path: string,
  values: ReadonlyMap<string, string>,
  transactionMode: TransactionMode | undefined,
): DirectivesResult {
  const flag = values.get("no_transaction");
  if (flag !== undefined && transactionMode !== undefined && (flag === "true") !== (transactionMode === "none")) {
    return { refusal: invalid(path, 1, "says one transaction mode by no_transaction and another by atlas:txmode") };
  }
  const lockTimeout = values.get("lock_timeout");
  const statementTimeout = values.get("statement_timeout");
  return {
    directives: {
      noTransaction: flag === "true" || transactionMode === "none",
      ...(lockTimeout === undefined ? {} : { lockTimeoutMs: Number(lockTimeout) }),
      ...(statementTimeout === undefined ? {} : { statementTimeoutMs: Number(statementTimeout) }),
      ...(transactionMode === undefined ? {} : { transactionMode }),
    },
  };
}

/**
 * A directive below the header governs nothing, and whoever wrote it believes it does: it is refused where the file is to be run. A
 * line of a string that reads like one is refused too; break that line.
 */
export function misplacedDirective(path: string, text: string): MigrationRefusal | undefined {
  if (!WORTH_READING.test(text)) return undefined;
  const headerLength = headerOf(text).length;
  for (const [index, line] of text.split("\n").entries()) {
    if (index >= headerLength && ANYWHERE.test(line)) {
      return invalid(
        path,
        index + 1,
        "stands below the first statement or in a block comment; move it above, as a line of its own",
      );
    }
  }
  return undefined;
}

/** PostgreSQL ends a comment there and MySQL does not: what is behind it may be run, or hidden, without anybody seeing it. */
export function loneCarriageReturn(path: string, text: string): MigrationRefusal | undefined {
  const at = text.search(/\r(?!\n)/);
  if (at < 0) return undefined;
  const line = text.slice(0, at).split("\n").length;
  return {
    code: "migration_syntax",
    message: `${path} has a carriage return without a line feed on line ${line}, which engines read differently; save it with LF or CR LF line ends, and write such a character in a string as an escape`,
    path,
    line,
    rule: "lone-carriage-return",
  };
}

function invalid(path: string, line: number, what: string): MigrationRefusal {
  return {
    code: "migration_directive_invalid",
    message: `the directive in ${path} on line ${line} ${what}`,
    path,
    line,
  };
}

function unsupported(path: string, line: number, name: string, advice: string): MigrationRefusal {
  return {
    code: "migration_directive_unsupported",
    message: `${path} asks for ${name} on line ${line}, which is not carried out here: ${advice}`,
    path,
    line,
  };
}
