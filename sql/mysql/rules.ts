import { carriedBy, isTarget, isTransactionControl } from "./commit.ts";
import { isKeyword, type MysqlWord } from "./statement.ts";

/** Stable names of what keeps a statement from running in a migration. */
export type MysqlRule =
  | "executable-comment"
  | "transaction-control"
  | "advisory-lock"
  | "lock-tables"
  | "use-database"
  | "sql-mode"
  | "dynamic-sql"
  | "stored-program"
  | "create-table-like"
  | "storage-engine"
  | "server-state"
  | "file-write";

/** What each rule says to a person: what the statement does, then what to do. */
export const MYSQL_RULES: Readonly<Record<MysqlRule, string>> = {
  "executable-comment": "holds an executable comment, whose effect depends on the server's version; write plain SQL",
  "transaction-control": "controls the transaction; leave that to the run",
  "advisory-lock": "takes or releases advisory locks, and the run itself holds one; remove that call",
  "lock-tables": "locks tables, which would keep the run from recording its progress; remove it",
  "use-database": "changes the database; name the database in the table's name",
  "sql-mode": "changes sql_mode, and with it how later statements are read",
  "dynamic-sql": "runs other SQL that cannot be read beforehand; write that SQL out",
  "stored-program": "defines a view, routine, trigger or event",
  "create-table-like": "copies a table whose storage engine cannot be read here; write the table out",
  "storage-engine": "selects a storage engine other than InnoDB, which cannot roll back",
  "server-state": "changes state outside the transaction",
  "file-write": "writes a file on the server",
};

type Check = (words: readonly MysqlWord[]) => boolean;

/** Rules that hold however a migration runs, because the one session carries the lock and the history row. */
const ALWAYS: readonly (readonly [MysqlRule, Check])[] = [
  ["transaction-control", isTransactionControl],
  ["advisory-lock", usesAdvisoryLock],
  ["lock-tables", locksTables],
];

/** Rules of mode `file`, where statements and history row stand in one transaction (reference, runner §6.4). */
const IN_TRANSACTION: readonly (readonly [MysqlRule, Check])[] = [
  ["executable-comment", (words) => words.some((word) => word.kind === "executable")],
  ...ALWAYS,
  ["use-database", ([first]) => isKeyword(first, "USE")],
  ["sql-mode", (words) => assigns(words, /^sql_mode$/i)],
  ["dynamic-sql", runsOtherSql],
  ["stored-program", definesProgram],
  ["create-table-like", createsTableLike],
  ["storage-engine", selectsOtherEngine],
  ["server-state", changesServerState],
  ["file-write", writesFile],
];

/**
 * The first rule that keeps this statement from running in mode `file` (true) or `none` (false); undefined when it may run.
 * @param words as `wordsOf` gives them
 */
export function ruleAgainst(words: readonly MysqlWord[], inTransaction: boolean): MysqlRule | undefined {
  return (inTransaction ? IN_TRANSACTION : ALWAYS).find(([, check]) => check(words))?.[0];
}

function usesAdvisoryLock(words: readonly MysqlWord[]): boolean {
  return words.some(
    (word, index) =>
      isKeyword(word, "GET_LOCK", "RELEASE_LOCK", "RELEASE_ALL_LOCKS") && words[index + 1]?.value === "(",
  );
}

function locksTables(words: readonly MysqlWord[]): boolean {
  const [first, second] = carriedBy(words) ?? words;
  if (isKeyword(first, "LOCK", "UNLOCK")) return isKeyword(second, "TABLE", "TABLES", "INSTANCE");
  if (!isKeyword(first, "FLUSH")) return false;
  return words.some((word, index) => isKeyword(word, "LOCK", "EXPORT") && index > 1);
}

function assigns(words: readonly MysqlWord[], name: RegExp): boolean {
  if (!isKeyword(words[0], "SET")) return false;
  return words.some((word, index) => name.test(word.value) && isTarget(words, index));
}

function runsOtherSql(words: readonly MysqlWord[]): boolean {
  const [first, second] = words;
  if (isKeyword(first, "CALL", "PREPARE", "EXECUTE", "DEALLOCATE")) return true;
  if (isKeyword(first, "DROP") && isKeyword(second, "PREPARE")) return true;
  if (isKeyword(first, "IF", "CASE", "LOOP", "REPEAT", "WHILE", "FOR")) return true;
  return isKeyword(first, "BEGIN") || second?.value === ":";
}

const OTHER_KINDS: readonly string[] =
  "TABLE INDEX DATABASE SCHEMA USER ROLE SERVER TABLESPACE LOGFILE RESOURCE SPATIAL SEQUENCE INSTANCE".split(" ");

function definesProgram(words: readonly MysqlWord[]): boolean {
  if (!isKeyword(words[0], "CREATE", "ALTER")) return false;
  const kind = words.find((word) =>
    isKeyword(word, "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE", ...OTHER_KINDS),
  );
  return kind !== undefined && !OTHER_KINDS.includes(kind.value);
}

/** Where TABLE stands in CREATE or ALTER … TABLE; -1 in other statements. */
function tableKeyword(words: readonly MysqlWord[], verb: string): number {
  if (!isKeyword(words[0], verb)) return -1;
  const at = words.findIndex((word) => isKeyword(word, "TABLE"));
  // CREATE OR REPLACE TEMPORARY TABLE is the longest form.
  return at <= 4 ? at : -1;
}

/** `CREATE TABLE a LIKE b` and `CREATE TABLE a (LIKE b)`; a LIKE deeper in is a comparison. */
function createsTableLike(words: readonly MysqlWord[]): boolean {
  const table = tableKeyword(words, "CREATE");
  if (table < 0) return false;
  const like = words.findIndex((word, index) => index > table && isKeyword(word, "LIKE"));
  if (like < 0) return false;
  const before = words[like - 1];
  if (before?.value === "(" && before.kind === "symbol") return before.depth === 0;
  return !words.slice(table, like).some((word) => word.value === "(" || isKeyword(word, "SELECT", "AS", "WITH"));
}

/** Every ENGINE option counts, those of partitions too; DEFAULT may be any engine, so it counts as another one. */
function selectsOtherEngine(words: readonly MysqlWord[]): boolean {
  if (assigns(words, /^(default_|default_tmp_)?storage_engine$/i)) return true;
  if (tableKeyword(words, "CREATE") < 0 && tableKeyword(words, "ALTER") < 0) return false;
  return words.some((word, index) => {
    if (!isKeyword(word, "ENGINE", "TYPE")) return false;
    const equals = words[index + 1]?.value === "=";
    // Without an equals sign only ENGINE is an option; `engine int` is a column, which stands in parentheses or behind a keyword.
    if (!equals && (word.value === "TYPE" || word.depth > 0 || !isOption(words, index))) return false;
    const value = words[index + (equals ? 2 : 1)];
    return value !== undefined && value.value.toUpperCase() !== "INNODB";
  });
}

/** Whether an option can stand here: behind the column list, another option's value, a comma or the table's name. */
function isOption(words: readonly MysqlWord[], index: number): boolean {
  return !isKeyword(
    words[index - 1],
    "COLUMN",
    "ADD",
    "DROP",
    "MODIFY",
    "CHANGE",
    "BY",
    "AFTER",
    "TO",
    "INDEX",
    "KEY",
    "EXISTS",
  );
}

function changesServerState(words: readonly MysqlWord[]): boolean {
  const [first] = words;
  if (
    isKeyword(first, "RESET", "FLUSH", "INSTALL", "UNINSTALL", "CHANGE", "STOP", "SHUTDOWN", "KILL", "RESTART", "CLONE")
  )
    return true;
  if (isKeyword(first, "CREATE", "ALTER", "DROP")) {
    const kind = words.slice(1).find((word) => !isKeyword(word, "OR", "REPLACE"));
    return isKeyword(kind, "DATABASE", "SCHEMA");
  }
  if (!isKeyword(first, "SET")) return false;
  return words.some((word, index) => {
    const begins = index === 1 || words[index - 1]?.value === "," || words[index - 1]?.value === "@";
    return (
      begins &&
      word.kind === "word" &&
      /^(GLOBAL|PERSIST|PERSIST_ONLY|PASSWORD|DEFAULT|RESOURCE|STATEMENT)$/i.test(word.value)
    );
  });
}

function writesFile(words: readonly MysqlWord[]): boolean {
  return words.some((word, index) => isKeyword(word, "INTO") && isKeyword(words[index + 1], "OUTFILE", "DUMPFILE"));
}
