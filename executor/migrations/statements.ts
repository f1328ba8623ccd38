/** The statements of a migration's up file, as its engine reads them, checked for the way they are to run. */
import { loadParser, type Parser, split } from "../../sql/index.ts";
import { MYSQL_RULES, type MysqlTextCode, readingOf, ruleAgainst, splitMysql, wordsOf } from "../../sql/mysql/index.ts";
import { MAX_MIGRATION_STATEMENTS } from "../limits.ts";
import { placeOf } from "../mistake-said.ts";
import { misplacedDirective } from "./directives.ts";
import type {
  Migration,
  MigrationEngine,
  MigrationRefusal,
  MigrationRefusalCode,
  Statement,
  StatementsResult,
  TransactionMode,
} from "./migration.ts";

export interface StatementsOptions {
  readonly engine: MigrationEngine;
  /** How the file will run; run mode `all` counts as `file`. */
  readonly mode: TransactionMode;
  /** The session's `@@sql_mode` (MySQL and MariaDB), which decides how quotes are read; empty is the default reading. */
  readonly sqlMode?: string;
}

/**
 * Splits the up file and refuses, by statement number and rule, what cannot run in this mode. Both engines refuse transaction control
 * in either mode: the run owns the transaction, and the history row with it.
 */
export async function statementsOf(migration: Migration, options: StatementsOptions): Promise<StatementsResult> {
  const { path, text } = migration.up;
  const refusal = migration.refusal ?? misplacedDirective(path, text);
  if (refusal !== undefined) return { refusal };
  if (options.engine !== "postgresql") return mysqlStatements(path, text, options);
  return postgresStatements(await loadParser(), path, text);
}

function mysqlStatements(
  path: string,
  text: string,
  { engine, mode, sqlMode = "" }: StatementsOptions,
): StatementsResult {
  const reading = readingOf(sqlMode, engine === "mariadb");
  const outcome = splitMysql(text, reading);
  if ("error" in outcome) {
    const { code, message, line } = outcome.error;
    return { refusal: { code: codeOf(code), message: `${path}: ${message}`, path, line, rule: code } };
  }
  for (const statement of outcome.statements) {
    const rule = ruleAgainst(wordsOf(statement.text, reading), mode === "file");
    if (rule === undefined) continue;
    const advice = mode === "file" && !ruleAgainstAlone(statement.text, reading) ? "give the file no_transaction" : "";
    return { refusal: refuse(path, statement, rule, advised(MYSQL_RULES[rule], advice)) };
  }
  return {
    statements: outcome.statements.map(({ text: t, source, line, number }) => ({ text: t, source, line, number })),
  };
}

/** A rule with what else may be done; some say themselves what to do. */
const advised = (rule: string, advice: string): string =>
  advice === "" ? rule : `${rule}${rule.includes(";") ? ", or" : ";"} ${advice}`;

function ruleAgainstAlone(statement: string, reading: Parameters<typeof wordsOf>[1]): boolean {
  return ruleAgainst(wordsOf(statement, reading), false) !== undefined;
}

function codeOf(code: MysqlTextCode): MigrationRefusalCode {
  return code === "sql_not_text" ? "migration_not_text" : "migration_syntax";
}

function postgresStatements(parser: Parser, path: string, text: string): StatementsResult {
  // The server's grammar takes a byte order mark for a name.
  const sql = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const outcome = split(parser, sql);
  if ("error" in outcome) {
    const { code, line } = outcome.error;
    const place = placeOf(outcome.error);
    const message = `${path}: ${outcome.error.message}${place === "" ? "" : `,${place}`}; correct the file`;
    return { refusal: { code: "migration_syntax", message, path, line, rule: code } };
  }
  if (outcome.statements.length > MAX_MIGRATION_STATEMENTS) {
    const message = `${path} has more than ${MAX_MIGRATION_STATEMENTS} statements; split it`;
    return { refusal: { code: "migration_syntax", message, path, rule: "too_many_statements" } };
  }
  const bytes = Buffer.from(sql, "utf8");
  const statements = outcome.statements.map((statement, index): Statement => {
    const end = throughSemicolon(bytes, statement.offsetBytes + Buffer.byteLength(statement.text));
    const source = bytes.subarray(statement.offsetBytes, end).toString("utf8");
    return { text: statement.text, source, line: statement.line, number: index + 1 };
  });
  for (const statement of statements) {
    const rule = postgresRule(parser, statement.text);
    if (rule !== undefined) return { refusal: refuse(path, statement, rule, POSTGRES_RULES[rule]) };
  }
  return { statements };
}

/** The end of a statement's source: behind its semicolon where one follows, else behind its text. */
function throughSemicolon(bytes: Buffer, end: number): number {
  let at = end;
  while (at < bytes.length && /\s/.test(String.fromCharCode(bytes[at] ?? 0))) at += 1;
  return bytes[at] === 0x3b ? at + 1 : end;
}

const POSTGRES_RULES = {
  "transaction-control": "controls the transaction; leave that to the run",
  "advisory-lock": "releases advisory locks, and the run itself holds one; remove it",
  "client-copy": "copies from or to a client, and a run has no stream to give; write the rows as INSERT",
} as const;

const RULED_WORDS = /^(begin|start|commit|end|rollback|abort|savepoint|release|prepare|set|discard|copy)\b/i;

/** COPY that names neither a file nor a program. */
const copiesWithClient = (tree: object): boolean => {
  const copy = (tree as { readonly CopyStmt?: { readonly filename?: string } }).CopyStmt;
  return copy !== undefined && copy.filename === undefined;
};

function postgresRule(parser: Parser, statement: string): keyof typeof POSTGRES_RULES | undefined {
  if (/pg_advisory_unlock/i.test(statement)) {
    const words = parser.words(statement) ?? [];
    if (words.some((word) => word.startsWith("pg_advisory_unlock"))) return "advisory-lock";
  }
  if (!RULED_WORDS.test(statement)) return undefined;
  const outcome = parser.parse(statement);
  const tree = "error" in outcome ? undefined : outcome.statements[0]?.tree;
  if (tree === undefined) return undefined;
  if ("TransactionStmt" in tree) return "transaction-control";
  if (copiesWithClient(tree)) return "client-copy";
  const setting = tree["VariableSetStmt"] as { readonly name?: string } | undefined;
  if (setting?.name === "TRANSACTION" || setting?.name === "SESSION CHARACTERISTICS") return "transaction-control";
  const discard = tree["DiscardStmt"] as { readonly target?: string } | undefined;
  return discard?.target === "DISCARD_ALL" ? "advisory-lock" : undefined;
}

function refuse(path: string, statement: Statement, rule: string, what: string): MigrationRefusal {
  return {
    code: "migration_statement_refused",
    message: `statement ${statement.number} of ${path} (line ${statement.line}) ${what}`,
    path,
    line: statement.line,
    statement: statement.number,
    rule,
  };
}
