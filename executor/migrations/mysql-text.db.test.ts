/** Our reading of MySQL text held against real servers: what they accept as one statement, and what they commit. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import mysql, { type Connection, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { commitOf, readingOf, ruleAgainst, splitMysql, wordsOf } from "../../sql/mysql/index.ts";
import { MYSQL_GAPS, MYSQL_TABLES, MysqlTexts, numbers, oneOf } from "../../sql/testing/mysql-texts.ts";
import { type MysqlServer, mysqlDatabase, startMysqlServer } from "../cases/mysql-server.ts";

const SYNTAX_ERROR = 1064;
const STARTUP_MS = 300_000;
const TEXTS = 150;

const open = (url: string): Promise<Connection> =>
  // One statement per request: a text that holds two is a syntax error to the server.
  mysql.createConnection({ uri: url, multipleStatements: false, flags: ["-IGNORE_SPACE"] });

const errorOf = (connection: Connection, sql: string): Promise<number | undefined> =>
  connection.query(sql).then(
    () => undefined,
    (error: { errno?: number }) => error.errno ?? -1,
  );

/** Statements that mean the same to both servers; what commits on one of them only is `unknown` to us. */
const COMMITS: readonly string[] = [
  "INSERT INTO a VALUES (9)",
  "SET @x = 1",
  "SET NAMES utf8mb4",
  "SET ROLE NONE",
  "DO SLEEP(0)",
  "SHOW TABLES",
  "EXPLAIN SELECT 1",
  "CHECKSUM TABLE a",
  "WITH q AS (SELECT 1) SELECT * FROM q",
  "INSERT INTO missing VALUES (1)",
  "CREATE TEMPORARY TABLE made (a int)",
  "DROP TEMPORARY TABLE IF EXISTS made",
  "CREATE TABLE made (a int)",
  "CREATE TABLE made AS SELECT 1 AS x",
  "CREATE TABLE a (x int)",
  "CREATE INDEX i ON a (b)",
  "ALTER TABLE a ADD c int",
  "ALTER TABLE missing ADD c int",
  "DROP TABLE missing",
  "TRUNCATE a",
  "RENAME TABLE a TO made",
  "ANALYZE TABLE a",
  "CHECK TABLE a",
  "OPTIMIZE TABLE a",
  "REPAIR TABLE a",
  "FLUSH TABLES",
  "CREATE USER IF NOT EXISTS made@localhost",
  "GRANT SELECT ON *.* TO made@localhost",
  "CREATE VIEW seen AS SELECT 1",
  "CREATE PROCEDURE run() SELECT 1",
  "CREATE TRIGGER fires BEFORE INSERT ON a FOR EACH ROW SET @a = 1",
  "LOCK TABLES a WRITE",
  "COMMIT",
  "BEGIN",
];

describe.each(["mariadb", "mysql"] as const)("%s", (flavor) => {
  let server: MysqlServer;
  const reading = readingOf("", flavor === "mariadb");

  beforeAll(async () => {
    server = await startMysqlServer({ flavor });
  }, STARTUP_MS);
  afterAll(async () => {
    await server.stop();
  });

  test("takes every statement of a split text for one statement", async () => {
    const connection = await open(await mysqlDatabase(server, "texts", MYSQL_TABLES.join(";")));
    let sent = 0;
    for (let seed = 1; seed <= TEXTS; seed += 1) {
      const pick = numbers(seed);
      const make = new MysqlTexts(pick, reading.mariadb, `n${seed}`);
      const expected = Array.from({ length: 1 + pick(6) }, () => make.statement());
      const text = expected.map((part) => `${oneOf(pick, MYSQL_GAPS)}${part};`).join("");
      const outcome = splitMysql(text, reading);
      if ("error" in outcome) throw new Error(`seed ${seed}: ${outcome.error.message}`);
      expect({ seed, texts: outcome.statements.map((s) => s.text) }).toEqual({ seed, texts: expected });
      for (const statement of outcome.statements) {
        const error = await errorOf(connection, statement.text);
        if (error === SYNTAX_ERROR) throw new Error(`seed ${seed}, statement ${statement.number}: a syntax error`);
        sent += 1;
      }
    }
    await connection.end();
    expect(sent).toBeGreaterThan(TEXTS);
  });

  test("commits what we say it commits, and nothing that we say it leaves alone", async () => {
    const wrong: string[] = [];
    for (const sql of COMMITS) {
      const url = await mysqlDatabase(
        server,
        "commits",
        "CREATE TABLE a (b int); CREATE TABLE witness (x int) ENGINE=InnoDB",
      );
      const session = await open(url);
      await session.query("SET autocommit = 0");
      await session.query("START TRANSACTION");
      await session.query("INSERT INTO witness VALUES (1)");
      const error = await errorOf(session, sql);
      if (error === SYNTAX_ERROR) wrong.push(`${sql}: not understood`);
      const [idle] = await session.query<ResultSetHeader>("DO 0");
      const over = ((idle as { serverStatus?: number }).serverStatus ?? 0) % 2 === 0;
      session.destroy();
      const reader = await open(url);
      // What the session left uncommitted is invisible to another, whether or not the server has seen it go.
      const [rows] = await reader.query<RowDataPacket[]>("SELECT COUNT(*) AS n FROM witness");
      await reader.end();
      const committed = rows[0]?.["n"] === 1;
      const said = commitOf(wordsOf(sql, reading));
      // The run goes by the server's status; what it refuses in every mode is never asked about.
      const run = error === undefined && ruleAgainst(wordsOf(sql, reading), false) === undefined;
      if (run && over !== committed) wrong.push(`${sql}: over ${over}`);
      if ((said === "implicit" && !committed) || (said === "none" && committed)) wrong.push(`${sql}: ${said}`);
    }
    expect(wrong).toEqual([]);
  });
});
