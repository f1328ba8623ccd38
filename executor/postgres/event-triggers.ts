import { changesRows, type Parser } from "../../sql/index.ts";
import type { Session } from "./session.ts";

/** The functions that run when a definition changes; what a drop or a login runs, no plan without a drop does. */
const FUNCTIONS = `SELECT DISTINCT pg_catalog.pg_get_functiondef(e.evtfoid) AS definition FROM pg_catalog.pg_event_trigger e
  WHERE e.evtenabled <> 'D' AND e.evtevent NOT IN ('sql_drop', 'login')`;

/**
 * Whether an event trigger of this database changes rows with every change of its schema. That is by the decision of whoever made
 * it, but the plan has to say so: a person then approves it, and it is run without the watch over its rows.
 */
export async function rowChangesWithDdl(session: Session, parser: Parser): Promise<boolean> {
  const rows = await session.query(FUNCTIONS);
  return rows.some((row) => changesRows(parser, String(row["definition"] ?? "")));
}
