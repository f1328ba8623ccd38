import { displayName, quoteIdent } from "./quote.ts";
import type { Row, Session } from "./session.ts";

/** Reading a sequence holds a small lock on it until its transaction ends; the server has room for some thousands. */
const SEQUENCES_AT_A_TIME = 500;

/** What each sequence has counted to. One that begins again by itself (CYCLE) says nothing when it goes back. */
const VALUES = `SELECT s.oid::text AS oid, s.nspname AS schema, s.relname AS name, s.up,
    CASE WHEN pg_catalog.has_sequence_privilege(s.oid, 'SELECT, USAGE') THEN pg_catalog.pg_sequence_last_value(s.oid)::text END AS value
  FROM (SELECT q.seqrelid AS oid, n.nspname, c.relname, q.seqincrement > 0 AS up FROM pg_catalog.pg_sequence q
    JOIN pg_catalog.pg_class c ON c.oid = q.seqrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT q.seqcycle AND n.nspname !~ '^pg_' AND q.seqrelid > $1::oid ORDER BY q.seqrelid LIMIT ${SEQUENCES_AT_A_TIME} OFFSET 0) s`;

/** Sequences that this transaction drew from or set: only those are its doing. Chosen before any is read: the server has an error for a table that is asked. */
const TOUCHED = `WITH own AS MATERIALIZED (SELECT q.seqrelid AS oid FROM pg_catalog.pg_sequence q
    JOIN pg_catalog.pg_locks l ON l.relation = q.seqrelid
    WHERE l.pid = pg_catalog.pg_backend_pid() AND l.granted AND l.locktype = 'relation' AND l.mode = 'RowExclusiveLock'
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()))
  SELECT oid::text AS oid, pg_catalog.pg_sequence_last_value(oid)::text AS value
  FROM own WHERE pg_catalog.has_sequence_privilege(oid, 'SELECT, USAGE')`;

/** Nobody who drew from it meanwhile is overtaken. */
const SET_BACK = `SELECT pg_catalog.setval($1::oid::regclass, CASE WHEN $3::bool
    THEN greatest($2::bigint, pg_catalog.pg_sequence_last_value($1::oid)) ELSE least($2::bigint, pg_catalog.pg_sequence_last_value($1::oid)) END, true)`;

interface Counted {
  readonly schema: string;
  readonly name: string;
  readonly up: boolean;
  readonly value: bigint;
}

const countOf = (row: Row): bigint | undefined => (typeof row["value"] === "string" ? BigInt(row["value"]) : undefined);

/** What sequences had counted to before a transaction. A sequence is no part of a transaction: no ROLLBACK sets it back. */
export class SequenceWatch {
  readonly #session: Session;
  readonly #before: ReadonlyMap<string, Counted>;
  readonly #moved = new Map<string, Counted>();

  private constructor(session: Session, before: ReadonlyMap<string, Counted>) {
    this.#session = session;
    this.#before = before;
  }

  /** Reads all values, in short transactions of its own. */
  static async begin(session: Session, lockTimeoutMs: number): Promise<SequenceWatch> {
    const before = new Map<string, Counted>();
    for (let last = "0", full = true; full; ) {
      await session.query("BEGIN READ ONLY");
      await session.query(`SET LOCAL lock_timeout = ${Math.max(0, Math.floor(lockTimeoutMs))}`);
      const rows = await session.query(VALUES, [last]);
      await session.query("COMMIT");
      for (const row of rows) {
        last = String(row["oid"]);
        const value = countOf(row);
        const [schema, name] = [String(row["schema"]), String(row["name"])];
        if (value !== undefined) before.set(last, { schema, name, up: row["up"] === true, value });
      }
      full = rows.length === SEQUENCES_AT_A_TIME;
    }
    return new SequenceWatch(session, before);
  }

  /** @returns the name of one that the transaction moved back without a statement that names it */
  async movedBack(spoken: ReadonlySet<string>): Promise<string | undefined> {
    for (const row of await this.#session.query(TOUCHED)) {
      const was = this.#before.get(String(row["oid"]));
      if (was === undefined || spoken.has(`${quoteIdent(was.schema)}.${quoteIdent(was.name)}`)) continue;
      const value = countOf(row);
      const back = value === undefined || (was.up ? value < was.value : value > was.value);
      if (back) this.#moved.set(String(row["oid"]), was);
    }
    const [first] = this.#moved.values();
    return first === undefined ? undefined : displayName(first.schema, first.name);
  }

  /** After the ROLLBACK: sets those back to what they had counted to. */
  async undo(): Promise<void> {
    for (const [oid, { value, up }] of this.#moved) await this.#session.query(SET_BACK, [oid, String(value), up]);
  }
}
