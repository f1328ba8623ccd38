/** Reading MySQL and MariaDB text: statements, what they do to a transaction, and what a migration may not hold. Pure. */
export { commitOf, isTransactionControl, type MysqlCommit } from "./commit.ts";
export { MYSQL_RULES, type MysqlRule, ruleAgainst } from "./rules.ts";
export type { MysqlReading, MysqlTextCode, MysqlTextFailure } from "./scanner.ts";
export { emptySessionState, noteSessionState, type SessionState } from "./session-state.ts";
export { type MysqlSplitOutcome, type MysqlStatement, readingOf, splitMysql } from "./split.ts";
export { type MysqlWord, wordsOf } from "./statement.ts";
