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
  "TRUNCATE RENAME GRANT REVOKE OPTIMIZE REPAIR CHECK FLUSH RESET INSTALL UNINSTALL IMPORT BACKUP LOCK".split(" "),
);

/** First words that run something else, or that commit on one of the two servers or in some states only. */
const UNKNOWN: ReadonlySet<string> = new Set(
  "BEGIN CALL EXECUTE IF CASE LOOP REPEAT WHILE FOR CACHE CHANGE STOP START UNLOCK".split(" "),
);

/**
 * What this statement does to the transaction once the server has understood it (a text it cannot parse commits nothing).
 * @param words as `wordsOf` gives them
 */
export function commitOf(words: readonly MysqlWord[]): MysqlCommit {
  if (words.some((word) => word.kind === "executable")) return "unknown";
  if (isTransactionControl(words)) return "control";
  const inner = carriedBy(words);
  if (inner !== undefined) return commitOf(inner);
  const [first, second] = words;
  if (first?.kind !== "word") return "none";
  if (UNKNOWN.has(first.value) || second?.value === ":") return "unknown";
  if (isKeyword(first, "DROP") && isKeyword(second, "PREPARE")) return "none";
  if (ALWAYS.has(first.value)) return "implicit";
  if (isKeyword(first, "CREATE", "ALTER", "DROP")) return ofDefinition(words);
  // MariaDB's ANALYZE also runs a statement to time it.
  if (isKeyword(first, "ANALYZE"))
    return words.some((word) => isKeyword(word, "TABLE", "TABLES")) ? "implicit" : "unknown";
  if (isKeyword(first, "LOAD") && isKeyword(second, "INDEX")) return "unknown";
  if (isKeyword(first, "SET") && isKeyword(second, "PASSWORD", "DEFAULT")) return "implicit";
  return "none";
}

/** The statement that MariaDB's `SET STATEMENT … FOR` runs; undefined for other statements. */
export function carriedBy(words: readonly MysqlWord[]): readonly MysqlWord[] | undefined {
  if (!isKeyword(words[0], "SET") || !isKeyword(words[1], "STATEMENT")) return undefined;
  const at = words.findIndex((word) => word.depth === 0 && isKeyword(word, "FOR"));
  return at < 0 ? undefined : words.slice(at + 1);
}

/**
 * `CREATE` and `DROP TEMPORARY TABLE` do not commit, and what MariaDB does for a temporary sequence differs; `ALTER TABLE` of a
 * temporary table cannot be told and counts as a commit.
 */
function ofDefinition(words: readonly MysqlWord[]): MysqlCommit {
  const at = words.findIndex((word) => isKeyword(word, "TEMPORARY", "TABLE"));
  if (at <= 0 || at > 3 || !isKeyword(words[at], "TEMPORARY")) return "implicit";
  return isKeyword(words[at + 1], "TABLE") ? "none" : "unknown";
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
  const inner = carriedBy(words);
  if (inner !== undefined) return isTransactionControl(inner);
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
