import { type Parser, type Touched, touchedBy } from "../../sql/index.ts";
import { displayName, quoteIdent } from "./quote.ts";
import * as ask from "./row-guard-queries.ts";
import { SequenceWatch } from "./sequence-watch.ts";
import type { Row, Session } from "./session.ts";

/**
 * Watches one transaction of a plan that nobody approved as destructive. A default, a check, a generated column or an event
 * trigger may call a function that does anything; no reading of the statements shows that, but the server shows what became of
 * the rows. Each method says in a sentence what the plan may not do, or undefined.
 */
export interface RowGuard {
  before(sql: string): Promise<string | undefined>;
  after(sql: string): Promise<string | undefined>;
  /** Asked last, before the transaction is committed. */
  end(): Promise<string | undefined>;
  /** Asked after the ROLLBACK: takes back what no rollback does. */
  undo(): Promise<void>;
}

/** Statements that may run a function on rows. Without one, and without an event trigger, no sequence is read. */
const RUNS_ON_ROWS =
  /^\s*(?:ALTER\s+(?:FOREIGN\s+)?(?:TABLE|DOMAIN|TYPE)|CREATE\s+(?:UNIQUE\s+)?INDEX|CREATE\s+MATERIALIZED|REFRESH)\b/i;

interface Standing {
  /** For a sentence: "table public.t". */
  readonly what: string;
  readonly sequence: boolean;
  /** What the table's storage is known to be: as it stood, or as a statement that names the table left it. */
  storage: string;
  /** Its size after the plan's own statement that may have written it anew; nothing of the plan makes it smaller again. */
  size?: bigint;
}

const text = (row: Row, key: string): string => String(row[key] ?? "");
/** Statements run with `search_path = public`. */
const quoted = ({ schema, name }: { readonly schema: string; readonly name: string }): string =>
  `${quoteIdent(schema === "" ? "public" : schema)}.${quoteIdent(name)}`;

export interface WatchInput {
  readonly parser: Parser;
  readonly lockTimeoutMs: number;
  /** What the transaction is going to run. */
  readonly statements: readonly string[];
}

/** Looks at what there is, and watches the transaction that begins on this session after it. */
export async function watchRows(session: Session, input: WatchInput): Promise<RowGuard> {
  const [triggers] = await session.query(ask.EVENT_TRIGGERS);
  const eventTriggers = triggers?.["found"] === true;
  const sequences =
    eventTriggers || input.statements.some((sql) => RUNS_ON_ROWS.test(sql))
      ? await SequenceWatch.begin(session, input.lockTimeoutMs)
      : undefined;
  const standing = new Map<string, Standing>();
  const byName = new Set<string>();
  for (const row of await session.query(ask.STANDING)) {
    const [schema, name] = [text(row, "schema"), text(row, "name")];
    byName.add(quoted({ schema, name }));
    const sequence = text(row, "kind") === "S";
    const what = `${sequence ? "sequence" : "table"} ${displayName(schema, name)}`;
    standing.set(text(row, "oid"), { what, sequence, storage: text(row, "storage") });
  }
  return new Watch(session, input.parser, { standing, byName, eventTriggers, sequences });
}

interface Found {
  readonly standing: Map<string, Standing>;
  readonly byName: ReadonlySet<string>;
  readonly eventTriggers: boolean;
  readonly sequences: SequenceWatch | undefined;
}

class Watch implements RowGuard {
  readonly #session: Session;
  readonly #parser: Parser;
  readonly #found: Found;
  /** Of the statement that runs: what it names, and the tables of it that held rows. */
  #touched: Touched | undefined;
  #names: readonly string[] = [];
  readonly #spoken = new Set<string>();
  #filled: ReadonlySet<string> = new Set();

  constructor(session: Session, parser: Parser, found: Found) {
    this.#session = session;
    this.#parser = parser;
    this.#found = found;
  }

  async before(sql: string): Promise<string | undefined> {
    this.#touched = touchedBy(this.#parser, sql);
    for (const name of this.#touched.named) this.#spoken.add(quoted(name));
    // A statement that names nothing which stood before has nothing of its own to excuse.
    this.#names = [...new Set(this.#touched.named.map(quoted))].filter((name) => this.#found.byName.has(name));
    this.#filled = new Set();
    if (this.#names.length === 0) return undefined;
    const wrong = await this.#changedUnderOurLock();
    if (wrong !== undefined) return wrong;
    const { rewrites } = this.#touched;
    if (rewrites === undefined || !this.#found.byName.has(quoted(rewrites))) return undefined;
    // The statement takes this lock anyway. Taken first, nobody else's rewrite lies between the two looks at the table.
    const table = quoted(rewrites);
    const [row] = await this.#session.query(ask.MAY_LOCK, [table]);
    if (row?.["may"] === true)
      await this.#session.query(`LOCK TABLE ${rewrites.only ? "ONLY " : ""}${table} IN ACCESS EXCLUSIVE MODE`);
    const family = await this.#session.query(ask.STORAGE, [[table]]);
    // A function cannot empty the table that a statement is writing, but another table of the family; an event trigger can.
    if (family.length > 1 || this.#found.eventTriggers) {
      const rows = await this.#session.query(ask.SIZES_AND_ROWS, [[table]]);
      this.#filled = new Set(rows.filter((r) => r["filled"] === true).map((r) => text(r, "oid")));
    }
    this.#learn(family);
    return undefined;
  }

  async after(): Promise<string | undefined> {
    if (this.#names.length === 0) return undefined;
    const { rewrites } = this.#touched ?? {};
    if (rewrites !== undefined) {
      const rows = await this.#session.query(ask.SIZES, [[quoted(rewrites)]]);
      const emptied = rows.find((r) => text(r, "size") === "0" && this.#filled.has(text(r, "oid")));
      if (emptied !== undefined) return this.#refusal("emptied", text(emptied, "oid"));
      this.#learn(rows);
    }
    this.#learn(await this.#session.query(ask.STORAGE, [this.#names]));
    return undefined;
  }

  async end(): Promise<string | undefined> {
    const sequence = await this.#found.sequences?.movedBack(this.#spoken);
    const [row = {}] = await this.#session.query(ask.CHANGED);
    if (text(row, "rows") !== "0") return this.#said(`changed or deleted ${text(row, "rows")} rows`);
    if (text(row, "objects") !== "0") return this.#said("changed or deleted large objects");
    const locked = await this.#session.query(ask.LOCKED);
    for (const r of locked) {
      const oid = text(r, "oid");
      const stood = this.#found.standing.get(oid);
      if (stood === undefined) continue;
      if (r["storage"] === null) return this.#refusal("dropped", oid);
      if (r["drops_column"] === true) return this.#refusal("dropped a column of", oid);
      // A sequence's storage goes with its table's (SET LOGGED); what it has counted to is looked at by itself.
      if (!stood.sequence && text(r, "storage") !== stood.storage) return this.#refusal("emptied or replaced", oid);
    }
    if (sequence !== undefined) return this.#said(`set sequence ${sequence} back`);
    return this.#ownTables();
  }

  async undo(): Promise<void> {
    await this.#found.sequences?.undo();
  }

  /** Tables that the plan itself may have written anew: emptied after that, they keep the new storage. */
  async #ownTables(): Promise<string | undefined> {
    const own = [...this.#found.standing].filter(([, stood]) => stood.size !== undefined);
    if (own.length === 0) return undefined;
    const rows = await this.#session.query(
      "SELECT o::text AS oid, pg_catalog.pg_relation_size(o)::text AS size FROM pg_catalog.unnest($1::oid[]) o",
      [own.map(([oid]) => oid)],
    );
    for (const row of rows) {
      const stood = this.#found.standing.get(text(row, "oid"));
      if (stood?.size !== undefined && BigInt(text(row, "size")) < stood.size)
        return this.#refusal("emptied", text(row, "oid"));
    }
    // Emptied and filled again it would not be smaller.
    const [inserted] = await this.#session.query(ask.INSERTED, [own.map(([oid]) => oid)]);
    return inserted === undefined ? undefined : this.#refusal("put rows into", text(inserted, "oid"));
  }

  /**
   * Between two statements of the plan nobody but this session changes a table under this session's lock; without that lock
   * another session did (a VACUUM FULL, say), and what it left is what is known from then on.
   */
  async #changedUnderOurLock(): Promise<string | undefined> {
    const now = await this.#session.query(ask.STORAGE, [this.#names]);
    const differ = now.filter((r) => {
      const stood = this.#found.standing.get(text(r, "oid"));
      return stood !== undefined && stood.storage !== text(r, "storage");
    });
    if (differ.length > 0) {
      const ours = new Set((await this.#session.query(ask.LOCKED)).map((r) => text(r, "oid")));
      const wrong = differ.find((r) => ours.has(text(r, "oid")));
      if (wrong !== undefined) return this.#refusal("emptied or replaced", text(wrong, "oid"));
    }
    this.#learn(now);
    return undefined;
  }

  #learn(rows: readonly Row[]): void {
    for (const row of rows) {
      const stood = this.#found.standing.get(text(row, "oid"));
      if (stood === undefined) continue;
      if (row["size"] !== undefined) stood.size = BigInt(text(row, "size"));
      stood.storage = text(row, "storage");
    }
  }

  #refusal(did: string, oid: string): string {
    return this.#said(`${did} ${this.#found.standing.get(oid)?.what ?? "a table"}`);
  }

  #said(did: string): string {
    const advice = this.#found.eventTriggers
      ? "do that by a written migration; if an event trigger means to do it, let its function do it in plain statements, so that the plan is destructive and a person approves it, or disable it for this change"
      : "do that by a written migration";
    return `a function or trigger that runs with the plan ${did}, which the plan does not say; ${advice}`;
  }
}
