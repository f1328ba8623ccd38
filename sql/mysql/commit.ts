import { isKeyword, type MysqlWord } from "./statement.ts";

/** What a statement does to the transaction it runs in. */
export type MysqlCommit =
  /** Stays in the transaction, or leaves it alone. */
  | "none"
  /** The server commits before and after it. */
  | "implicit"
  /** Begins, ends or changes the transaction itself. */
  | "control"
  /** Depends on what it calls or on the server's version. */
  | "unknown";

/** First words of statements that always commit (MySQL manual, "Statements That Cause an Implicit Commit"; MariaDB adds BACKUP). */
const ALWAYS: ReadonlySet<string> = new Set(
  "TRUNCATE RENAME GRANT REVOKE ANALYZE OPTIMIZE REPAIR CHECK CHECKSUM FLUSH RESET CACHE INSTALL UNINSTALL CHANGE STOP IMPORT BACKUP".split(
    " ",
  ),
);

/** First words that run something else. */
const RUNS_OTHER: readonly string[] = ["CALL", "EXECUTE", "IF", "CASE", "LOOP", "REPEAT", "WHILE", "FOR"];

/** What this statement does to the transaction. @param words as `wordsOf` gives them */
export function commitOf(words: readonly MysqlWord[]): MysqlCommit {
  if (words.some((word) => word.kind === "executable")) return "unknown";
  if (isTransactionControl(words)) return "control";
  const [first, second] = words;
  if (first?.kind !== "word") return "none";
  if (isKeyword(first, ...RUNS_OTHER)) return "unknown";
  if (isKeyword(first, "BEGIN") || words[1]?.value === ":") return "unknown";
  if (ALWAYS.has(first.value)) return "implicit";
  if (isKeyword(first, "CREATE", "ALTER", "DROP")) return isTemporary(words) ? "none" : "implicit";
  if (isKeyword(first, "LOCK", "UNLOCK")) return "implicit";
  if (isKeyword(first, "START") && isKeyword(second, "SLAVE", "REPLICA", "GROUP_REPLICATION", "ALL")) return "implicit";
  if (isKeyword(first, "LOAD") && isKeyword(second, "INDEX")) return "implicit";
  if (isKeyword(first, "SET") && isKeyword(second, "PASSWORD", "DEFAULT", "ROLE")) return "implicit";
  return "none";
}

/** `CREATE` and `DROP TEMPORARY TABLE` do not commit; `ALTER TABLE` of a temporary table cannot be told and counts as a commit. */
function isTemporary(words: readonly MysqlWord[]): boolean {
  const at = words.findIndex((word) => isKeyword(word, "TEMPORARY", "TABLE"));
  return at > 0 && at <= 3 && isKeyword(words[at], "TEMPORARY") && isKeyword(words[at + 1], "TABLE");
}

/**
 * Whether a statement begins, ends or changes a transaction: BEGIN, START TRANSACTION, COMMIT, ROLLBACK, savepoints, XA, SET
 * TRANSACTION and autocommit. A compound block (`BEGIN NOT ATOMIC`) is none.
 */
export function isTransactionControl(words: readonly MysqlWord[]): boolean {
  const [first, second] = words;
  if (isKeyword(first, "COMMIT", "ROLLBACK", "SAVEPOINT", "XA")) return true;
  if (isKeyword(first, "BEGIN")) return !isKeyword(second, "NOT");
  if (isKeyword(first, "START")) return isKeyword(second, "TRANSACTION");
  if (isKeyword(first, "RELEASE")) return isKeyword(second, "SAVEPOINT");
  if (!isKeyword(first, "SET")) return false;
  return words.some(
    (word, index) =>
      isTarget(words, index) && /^(autocommit|transaction|tx_isolation|completion_type)$/i.test(word.value),
  );
}

/**
 * Whether the token names what a SET assigns: `SET a = 1, @@SESSION.b = 2, GLOBAL c = 3, TRANSACTION …`. A user variable
 * (`@a`) is none.
 */
export function isTarget(words: readonly MysqlWord[], index: number): boolean {
  const word = words[index];
  if (word === undefined || (word.kind !== "word" && word.kind !== "identifier")) return false;
  if (isUserVariable(words, index)) return false;
  if (word.value.toUpperCase() === "TRANSACTION") return index <= 2;
  const behind = words[index + 1]?.value;
  return behind === "=" || behind === ":=";
}

function isUserVariable(words: readonly MysqlWord[], index: number): boolean {
  return words[index - 1]?.value === "@" && words[index - 2]?.value !== "@";
}
