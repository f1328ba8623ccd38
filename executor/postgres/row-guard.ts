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
  #looked: readonly string[] = [];
  readonly #filled = new Set<string>();

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
    this.#filled.clear();
    if (this.#names.length === 0) return undefined;
    const wrong = await this.#changedUnderOurLock();
    if (wrong !== undefined) return wrong;
    const { locks } = this.#touched;
    const table = locks === undefined ? "" : quoted(locks);
    let family: readonly Row[] = [];
    if (locks !== undefined && this.#found.byName.has(table)) {
      // The statement takes this lock anyway. Taken first, nobody else's rewrite lies between the two looks at the table.
      const [row] = await this.#session.query(ask.MAY_LOCK, [table]);
      if (row?.["may"] === true)
        await this.#session.query(`LOCK TABLE ${locks.only ? "ONLY " : ""}${table} IN ACCESS EXCLUSIVE MODE`);
      family = await this.#session.query(ask.STORAGE, [[table]]);
      this.#learn(family);
    }
    // A function cannot empty the table that the server is working on, but another one of its family; an event trigger can.
    this.#looked = this.#found.eventTriggers ? this.#names : family.length > 1 ? [table] : [];
    if (this.#looked.length > 0) {
      const rows = await this.#session.query(ask.SIZES_AND_ROWS, [this.#looked]);
      for (const r of rows) if (r["filled"] === true) this.#filled.add(text(r, "oid"));
    }
    return undefined;
  }

  async after(): Promise<string | undefined> {
    if (this.#names.length === 0) return undefined;
    if (this.#filled.size > 0) {
      const rows = await this.#session.query(ask.SIZES, [this.#looked]);
      const emptied = rows.find((r) => text(r, "size") === "0" && this.#filled.has(text(r, "oid")));
      if (emptied !== undefined) return this.#refusal("emptied", text(emptied, "oid"));
    }
    const { locks, own } = this.#touched ?? { locks: undefined, own: [] };
    if (locks !== undefined) this.#written(await this.#session.query(ask.SIZES, [[quoted(locks)]]));
    if (own.length > 0) this.#learn(await this.#session.query(ask.STORAGE, [own.map(quoted)]));
    return this.#changedUnderOurLock();
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
    const own = [...this.#found.standing].filter(([, stood]) => stood.size !== undefined).map(([oid]) => oid);
    const smaller = await this.#smaller(own);
    if (smaller !== undefined || own.length === 0) return smaller;
    // Emptied and filled again it would not be smaller.
    const [inserted] = await this.#session.query(ask.INSERTED, [own]);
    return inserted === undefined ? undefined : this.#refusal("put rows into", text(inserted, "oid"));
  }

  /** Whether one of these is smaller than the plan's own statement left it. */
  async #smaller(oids: readonly string[]): Promise<string | undefined> {
    if (oids.length === 0) return undefined;
    for (const row of await this.#session.query(ask.SIZES_OF, [oids])) {
      const left = this.#found.standing.get(text(row, "oid"))?.size;
      if (left !== undefined && BigInt(text(row, "size")) < left) return this.#refusal("emptied", text(row, "oid"));
    }
    return undefined;
  }

  /**
   * Asked where no statement of the plan has touched the tables since they were last known. Under this session's lock nobody but
   * a function of its own changed one; without that lock another session did (a VACUUM FULL, say), and what it left is known.
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
    const own = now.map((r) => text(r, "oid")).filter((oid) => this.#found.standing.get(oid)?.size !== undefined);
    return this.#smaller(own);
  }

  /** What the plan's statement left. Only where it wrote a table anew can that one be emptied without other storage. */
  #written(rows: readonly Row[]): void {
    for (const row of rows) {
      const stood = this.#found.standing.get(text(row, "oid"));
      if (stood !== undefined && (stood.size !== undefined || stood.storage !== text(row, "storage")))
        stood.size = BigInt(text(row, "size"));
    }
    this.#learn(rows);
  }

  #learn(rows: readonly Row[]): void {
    for (const row of rows) {
      const stood = this.#found.standing.get(text(row, "oid"));
      if (stood !== undefined) stood.storage = text(row, "storage");
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
