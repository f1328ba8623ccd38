import { expect, test } from "bun:test";
import { emptySessionState, noteSessionState, type SessionState } from "./session-state.ts";
import { readingOf } from "./split.ts";

const reading = readingOf("", true);

function left(...statements: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const state: SessionState = emptySessionState();
  for (const statement of statements) noteSessionState(statement, reading, state);
  return Object.fromEntries(
    Object.entries(state).flatMap(([kind, names]: [string, Set<string>]) =>
      names.size === 0 ? [] : [[kind, [...names]]],
    ),
  );
}

test("temporary tables and sequences are found however their names are written, in bodies and executable comments too", () => {
  expect(left("CREATE TEMPORARY TABLE Seen (a int)")).toEqual({ temporaryTables: ["`Seen`"] });
  expect(left("create or replace temporary table if not exists `a``b`.`c` as select 1")).toEqual({
    temporaryTables: ["`a``b`.`c`"],
  });
  expect(left("CREATE /*!40000 TEMPORARY */ TABLE db . t (a int)")).toEqual({ temporaryTables: ["`db`.`t`"] });
  expect(left("CREATE TEMPORARY SEQUENCE s")).toEqual({ temporarySequences: ["`s`"] });
  expect(
    left("CREATE PROCEDURE p() BEGIN CREATE TEMPORARY TABLE t1 (a int); CREATE TEMPORARY TABLE t2 (a int); END"),
  ).toEqual({ temporaryTables: ["`t1`", "`t2`"] });
  expect(left("CREATE TABLE t (temporary int)", "INSERT INTO t VALUES ('TEMPORARY TABLE x')")).toEqual({});
});

test("prepared statements and user variables are found, and the server's variables are none of them", () => {
  expect(left("PREPARE One FROM 'SELECT 1'", "DEALLOCATE PREPARE two")).toEqual({ prepared: ["`One`"] });
  expect(left("SET @a = 1, @`b c` := 2, @'d' = @@sql_mode")).toEqual({ userVariables: ["`a`", "`b c`", "`d`"] });
  expect(left("SET @@SESSION.sql_mode = ''", "SELECT 'a@b'")).toEqual({});
});
