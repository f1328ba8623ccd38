import { calledOnRows, type Parser, rowChanger } from "../../sql/index.ts";
import type { Session } from "./session.ts";

/** What changes rows beside a plan's statements, as far as functions say so in plain statements. */
export interface RowChanges {
  /** Whether an event trigger of the database does with every change of its schema. */
  readonly withEveryStatement: boolean;
  /** Functions that do, by bare name. */
  readonly functions: ReadonlySet<string>;
}

/** The functions that run when a definition changes; what a drop or a login runs, no plan without a drop does. */
const OF_EVENT_TRIGGERS = `SELECT DISTINCT pg_catalog.pg_get_functiondef(e.evtfoid) AS definition FROM pg_catalog.pg_event_trigger e
  WHERE e.evtenabled <> 'D' AND e.evtevent NOT IN ('sql_drop', 'login')`;

const NAMED = `SELECT pg_catalog.pg_get_functiondef(p.oid) AS definition FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  WHERE p.prokind = 'f' AND l.lanname IN ('sql', 'plpgsql') AND n.nspname <> 'pg_catalog' AND p.proname::text = ANY ($1::text[])`;

/**
 * Reads what the target's functions and those that the plan makes would change beside its statements. It may be meant, but the
 * plan has to say so: a person then approves it, and it is run without the watch over its rows.
 */
export async function rowChangesOf(
  session: Session,
  parser: Parser,
  statements: readonly { readonly sql: string }[],
): Promise<RowChanges> {
  const changers = (definitions: readonly string[]): string[] =>
    definitions.map((definition) => rowChanger(parser, definition)).filter((name) => name !== undefined);
  const definitionsOf = async (sql: string, values?: readonly unknown[]): Promise<string[]> =>
    (await session.query(sql, values)).map((row) => String(row["definition"] ?? ""));
  const called = [...new Set(statements.flatMap(({ sql }) => calledOnRows(parser, sql)))];
  const standing = called.length === 0 ? [] : await definitionsOf(NAMED, [called]);
  const made = statements
    .map(({ sql }) => sql)
    .filter((sql) => /^\s*CREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\b/i.test(sql));
  return {
    withEveryStatement: changers(await definitionsOf(OF_EVENT_TRIGGERS)).length > 0,
    functions: new Set(changers([...standing, ...made])),
  };
}
