/** What the server refuses of the executor's own statements about the revision table, in words for whoever can mend it. */
import { Failure, Refused } from "../contract.ts";
import type { MigrationDatabase, ServerAnswer } from "./database.ts";
import { codes } from "./file-end.ts";

/** Privileges on a table, a schema or a database: PostgreSQL's state, MySQL's numbers. */
const DENIED: readonly (string | number)[] = ["42501", 1044, 1142, 1143, 1227, 1370];
const NO_SCHEMA: readonly (string | number)[] = ["3F000", 1049];
/** A column or an object of another kind or type than the table's: what made it was not this tool. */
const FOREIGN: readonly (string | number)[] = [
  "42804",
  "42809",
  "42846",
  "42883",
  "42703",
  "42710",
  "42P07",
  1050,
  1054,
  1347,
];

const among = (known: readonly (string | number)[], { sqlState, mysqlErrno }: ServerAnswer): boolean =>
  known.includes(mysqlErrno ?? sqlState ?? "");

/** Does work of the executor's own. @throws Refused or Failure with a code for what the server refused of it */
export async function explained<T>(database: MigrationDatabase, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const answer = database.answerOf(error);
    throw answer?.definite === true ? (explain(answer) ?? error) : error;
  }
}

function explain(answer: ServerAnswer): Error | undefined {
  const { sqlState } = answer;
  if (among(DENIED, answer)) {
    return new Failure(
      "revision_table_denied",
      `the URL's role lacks a privilege on the revision table${codes(answer)}; grant it SELECT, INSERT, UPDATE and DELETE there, or CREATE on its schema where the table is not there yet`,
      sqlState,
    );
  }
  const detail = sqlState === undefined ? {} : { sqlstate: sqlState };
  if (among(NO_SCHEMA, answer)) {
    return new Refused(
      "revision_schema_missing",
      `the schema of the revision table does not exist${codes(answer)}; create it, or name another (--migrations-schema)`,
      detail,
    );
  }
  if (among(FOREIGN, answer)) {
    return new Refused(
      "revision_table_foreign",
      `what has the revision table's name is of other columns or types than a revision table's${codes(answer)}; move it away or name another (--migrations-table)`,
      detail,
    );
  }
  return undefined;
}
