import { describe, expect, test } from "bun:test";
import { commitOf, type MysqlCommit } from "./commit.ts";
import { MYSQL_RULES, type MysqlRule, ruleAgainst } from "./rules.ts";
import { readingOf } from "./split.ts";
import { wordsOf } from "./statement.ts";

const words = (sql: string) => wordsOf(sql, readingOf("", true));
const inFile = (sql: string): MysqlRule | undefined => ruleAgainst(words(sql), true);
const alone = (sql: string): MysqlRule | undefined => ruleAgainst(words(sql), false);

describe("what mode file refuses", () => {
  test.each<[string, MysqlRule]>([
    ["BEGIN", "transaction-control"],
    ["start transaction read only", "transaction-control"],
    ["COMMIT", "transaction-control"],
    ["ROLLBACK TO a", "transaction-control"],
    ["SAVEPOINT a", "transaction-control"],
    ["RELEASE SAVEPOINT a", "transaction-control"],
    ["XA START 'a'", "transaction-control"],
    ["SET autocommit = 0", "transaction-control"],
    ["SET @a = 1, @@SESSION.autocommit := 0", "transaction-control"],
    ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "transaction-control"],
    ["SELECT GET_LOCK('a', 1)", "advisory-lock"],
    ["DO RELEASE_ALL_LOCKS()", "advisory-lock"],
    ["LOCK TABLES a WRITE", "lock-tables"],
    ["FLUSH TABLES a WITH READ LOCK", "lock-tables"],
    ["/*!40101 SET NAMES utf8 */", "executable-comment"],
    ["CREATE TABLE a (b int) /*!50100 ENGINE=InnoDB */", "executable-comment"],
    ["USE other", "use-database"],
    ["SET sql_mode = ''", "sql-mode"],
    ["SET @@session.sql_mode = CONCAT(@@sql_mode, ',ANSI')", "sql-mode"],
    ["SET a = 1, SESSION `sql_mode` = ''", "sql-mode"],
    ["PREPARE a FROM 'DROP TABLE b'", "dynamic-sql"],
    ["DROP PREPARE a", "dynamic-sql"],
    ["EXECUTE IMMEDIATE 'DROP TABLE b'", "dynamic-sql"],
    ["CALL p()", "dynamic-sql"],
    ["BEGIN NOT ATOMIC SELECT 1; END", "dynamic-sql"],
    ["l: LOOP LEAVE l; END LOOP", "dynamic-sql"],
    ["CREATE OR REPLACE ALGORITHM=MERGE DEFINER=a@b SQL SECURITY INVOKER VIEW v AS SELECT 1", "stored-program"],
    ["ALTER VIEW v AS SELECT 1", "stored-program"],
    ["CREATE DEFINER=`a`@`b` PROCEDURE p() SELECT 1", "stored-program"],
    ["CREATE TRIGGER t AFTER INSERT ON a FOR EACH ROW SET @a = 1", "stored-program"],
    ["CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", "stored-program"],
    ["CREATE TABLE a LIKE b", "create-table-like"],
    ["CREATE TEMPORARY TABLE IF NOT EXISTS a.b (LIKE c)", "create-table-like"],
    ["CREATE TABLE a (b int) ENGINE=MyISAM", "storage-engine"],
    ["CREATE TABLE a (b int) COMMENT 'x' ENGINE 'MEMORY'", "storage-engine"],
    ["CREATE TABLE a (b int) ENGINE = DEFAULT", "storage-engine"],
    ["ALTER TABLE a ENGINE=Aria", "storage-engine"],
    ["ALTER TABLE a ADD COLUMN c int, ENGINE `MyISAM`", "storage-engine"],
    ["CREATE TABLE a (b int) PARTITION BY HASH (b) (PARTITION p ENGINE = ARCHIVE)", "storage-engine"],
    ["SET default_storage_engine = MyISAM", "storage-engine"],
    ["SET GLOBAL a = 1", "server-state"],
    ["SET @@GLOBAL.a = 1", "server-state"],
    ["SET a = 1, PERSIST b = 2", "server-state"],
    ["SET PASSWORD = 'x'", "server-state"],
    ["SET STATEMENT max_statement_time = 1 FOR SELECT 1", "server-state"],
    ["CREATE DATABASE a", "server-state"],
    ["DROP SCHEMA IF EXISTS a", "server-state"],
    ["FLUSH PRIVILEGES", "server-state"],
    ["SELECT 1 INTO OUTFILE '/tmp/a'", "file-write"],
  ])("%s", (sql, rule) => {
    expect(inFile(sql)).toBe(rule);
  });

  test.each([
    "INSERT INTO a VALUES ('COMMIT', 'ENGINE=MyISAM', '/*! */')",
    "UPDATE a SET sql_mode = 1, autocommit = 2, `transaction` = 3 WHERE b LIKE 'x'",
    "CREATE TABLE a (engine int, `type` int, b int CHECK (c LIKE 'x'), trigger_at date) ENGINE=InnoDB",
    "CREATE TABLE a ENGINE InnoDB AS SELECT b FROM c WHERE b LIKE 'x'",
    "CREATE TABLE a.b (c int)",
    "ALTER TABLE a ADD COLUMN engine int, DROP COLUMN event",
    "ALTER TABLE a ADD engine varchar(9), CHANGE engine type int, ENGINE=INNODB",
    "ALTER TABLE a ADD INDEX engine (b)",
    "CREATE INDEX view ON a (b)",
    "DROP VIEW v",
    "DROP PROCEDURE IF EXISTS p",
    "SET @sql_mode = 1, @autocommit = 0",
    "SET NAMES utf8mb4",
    "SET foreign_key_checks = 0",
    "SELECT get_lock FROM a",
    "SELECT a.commit, @call FROM `use`",
    "DELETE FROM a",
  ])("and runs: %s", (sql) => {
    expect(inFile(sql)).toBeUndefined();
  });

  test("every rule has a sentence, and none quotes a statement", () => {
    for (const sentence of Object.values(MYSQL_RULES))
      expect(sentence).toMatch(/^(holds|controls|takes|locks|changes|runs|defines|copies|selects|writes) /);
  });
});

describe("what a statement on its own may not do", () => {
  test("transactions, advisory locks and table locks belong to the run in every mode", () => {
    expect(alone("COMMIT")).toBe("transaction-control");
    expect(alone("SELECT RELEASE_LOCK('a')")).toBe("advisory-lock");
    expect(alone("UNLOCK TABLES")).toBe("lock-tables");
    expect(alone("SET STATEMENT max_statement_time = 1 FOR COMMIT")).toBe("transaction-control");
    expect(alone("SET STATEMENT max_statement_time = 1 FOR LOCK TABLES a READ")).toBe("lock-tables");
    expect(alone("SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE a ADD b int")).toBeUndefined();
  });

  test("what only a transaction cannot hold runs", () => {
    for (const sql of [
      "CALL p()",
      "CREATE VIEW v AS SELECT 1",
      "/*!40101 SET NAMES utf8 */",
      "CREATE TABLE a LIKE b",
    ]) {
      expect(alone(sql)).toBeUndefined();
    }
  });
});

describe("what a statement does to its transaction", () => {
  test.each<[string, MysqlCommit]>([
    ["INSERT INTO a VALUES (1)", "none"],
    ["WITH a AS (SELECT 1) SELECT * FROM a", "none"],
    ["SET @a = 1", "none"],
    ["LOAD DATA INFILE 'a' INTO TABLE b", "none"],
    ["CREATE TEMPORARY TABLE a (b int)", "none"],
    ["DROP TEMPORARY TABLE IF EXISTS a", "none"],
    ["CREATE TABLE a (b int)", "implicit"],
    ["CREATE UNIQUE INDEX a ON b (c)", "implicit"],
    ["ALTER TABLE a ADD b int", "implicit"],
    ["DROP TABLE a", "implicit"],
    ["DROP TABLE temporary", "implicit"],
    ["DROP TEMPORARY SEQUENCE IF EXISTS s", "unknown"],
    ["DROP PREPARE s", "none"],
    ["TRUNCATE a", "implicit"],
    ["RENAME TABLE a TO b", "implicit"],
    ["GRANT SELECT ON a TO b", "implicit"],
    ["SET PASSWORD = 'x'", "implicit"],
    ["OPTIMIZE TABLE a", "implicit"],
    ["SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE a ADD b int", "implicit"],
    ["SET STATEMENT max_statement_time = 5 FOR SELECT 1", "none"],
    ["SET ROLE NONE", "none"],
    ["CHECKSUM TABLE a", "none"],
    ["ANALYZE LOCAL TABLE a", "implicit"],
    ["ANALYZE UPDATE a SET b = 1", "unknown"],
    ["UNLOCK TABLES", "unknown"],
    ["START REPLICA", "unknown"],
    ["COMMIT", "control"],
    ["SET autocommit = 1", "control"],
    ["CALL p()", "unknown"],
    ["EXECUTE a", "unknown"],
    ["BEGIN NOT ATOMIC END", "unknown"],
    ["CREATE TABLE a (b int) /*!50000 COMMENT 'x' */", "unknown"],
  ])("%s: %s", (sql, commit) => {
    expect(commitOf(words(sql))).toBe(commit);
  });
});
