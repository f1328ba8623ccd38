/** Statements whose effect lasts as long as their session: what is run later, in another one, does not have it. Pure. */
import { loadParser, type Parser } from "../../sql/index.ts";
import { type MysqlReading, readingOf, wordsOf } from "../../sql/mysql/index.ts";
import type { MigrationDatabase } from "./database.ts";
import type { Statement } from "./migration.ts";

/**
 * Numbers of the statements before `from` that make session state, and of the first one from there on that reads what only a
 * session before it could have left. Where a statement does not show what it does (a call, text that is executed), it counts.
 */
export async function sessionMade(
  { engine, sqlMode }: Pick<MigrationDatabase, "engine" | "sqlMode">,
  statements: readonly Statement[],
  from: number,
): Promise<readonly number[]> {
  const [kept, rest] = [statements.slice(0, from - 1), statements.slice(from - 1)];
  if (engine === "postgresql") {
    const parser = await loadParser();
    return numbersOf(kept.filter((statement) => makesOnPostgres(parser, statement.text)));
  }
  const reading = readingOf(sqlMode, engine === "mariadb");
  const reader = kept.length === 0 ? undefined : rest.find(({ text }) => LEFT_BY_LAST.test(text) || WRITES.test(text));
  return numbersOf([
    ...kept.filter((statement) => makesOnMysql(statement.text, reading)),
    ...(reader !== undefined && LEFT_BY_LAST.test(reader.text) ? [reader] : []),
  ]);
}

const numbersOf = (statements: readonly Statement[]): readonly number[] => statements.map(({ number }) => number);

/** What the statement before left for the next; a statement that writes leaves its own. */
const LEFT_BY_LAST = /\b(?:last_insert_id|row_count|found_rows)\s*\(/i;
const WRITES = /^\s*(?:insert|replace|update|delete|call)\b/i;

const POSTGRES_NAMES = /^(?:set_config|setseed|pg_(?:try_)?advisory_lock(?:_shared)?|dblink_connect(?:_u)?|pg_temp)$/;
/** In the text of a DO block; its strings are read too, because it may execute them. */
const IN_A_BLOCK =
  /\b(?:set_config|setseed|pg_(?:try_)?advisory_lock\w*|dblink_connect\w*|pg_temp|temp|temporary|execute|call)\b|(?:[;$]|\bbegin|\bthen|\belse|\bloop)\s*set\s/i;
/** `SET` of these ends with its transaction. */
const TRANSACTIONS_OWN: readonly string[] = ["local", "constraints", "transaction"];
const HEAD_WORDS = 5;

function makesOnPostgres(parser: Parser, statement: string): boolean {
  const words = parser.words(statement);
  if (words === undefined) return true;
  const [first = "", second = ""] = words;
  if (first === "set") return !TRANSACTIONS_OWN.includes(second);
  if (["prepare", "load", "call"].includes(first)) return true;
  if (first === "do") return IN_A_BLOCK.test(statement);
  if (first === "declare" && words.includes("hold")) return true;
  const temporary = (word: string | undefined): boolean => word === "temp" || word === "temporary";
  if (first === "create" && words.slice(1, HEAD_WORDS).some(temporary)) return true;
  return words.some((word, at) => POSTGRES_NAMES.test(word) || (word === "into" && temporary(words[at + 1])));
}

const SERVERS_OWN: readonly string[] = ["GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD", "DEFAULT"];
const MYSQL_MAKERS: readonly string[] = ["USE", "PREPARE", "LOCK", "HANDLER", "CALL", "EXECUTE", "BEGIN"];
const MYSQL_ASSIGNERS: readonly string[] = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "DO", "WITH", "LOAD"];
const ASSIGNS_VARIABLE = /(?<![@\w'"`])@[\w$.'"`]+\s*:=|\binto\s+@|[(,]\s*@\w+\s*[,)]/i;

function makesOnMysql(statement: string, reading: MysqlReading): boolean {
  const words = wordsOf(statement, reading)
    .filter(({ kind }) => kind === "word")
    .map(({ value }) => value.toUpperCase());
  const [first = "", second = ""] = words;
  if (first === "SET") return !SERVERS_OWN.includes(second) || words.includes("SESSION");
  if (MYSQL_MAKERS.includes(first) || words.includes("GET_LOCK")) return true;
  if (first === "FLUSH") return words.includes("LOCK");
  if (first === "CREATE") return words.slice(1, HEAD_WORDS).includes("TEMPORARY");
  return MYSQL_ASSIGNERS.includes(first) && ASSIGNS_VARIABLE.test(statement);
}
