import { createHash } from "node:crypto";
import { CATALOG_STATEMENT_TIMEOUT_MS } from "../limits.ts";
import { COLUMN_ORDER, catalogQueries } from "./catalog-queries.ts";
import type { Address, Exclusion } from "./exclude.ts";
import { displayName } from "./quote.ts";
import type { Session } from "./session.ts";

/** One thing the second reader found. */
export interface Entry extends Address {
  readonly props: Readonly<Record<string, unknown>>;
}

/** A database as the second reader sees it, by key. */
export interface Catalog {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Columns of each table in physical order, by displayed table name. */
  readonly columnOrder: ReadonlyMap<string, readonly string[]>;
  /** The same of views, where the order is part of the definition. */
  readonly viewColumns: ReadonlyMap<string, readonly string[]>;
}

/** One difference between two catalogs: what is on one side only, or which properties differ. */
export interface Difference {
  readonly key: string;
  readonly address: Address;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
  readonly properties: readonly string[];
}

const keyOf = (a: Address): string => JSON.stringify([a.kind, a.schema ?? null, a.object ?? null, a.child ?? null]);

type Relations = ReadonlyMap<string, string>;

/** A table's children and what belongs to it are excluded with it; a schema's objects with the schema. */
function excluded(entry: Entry, exclusion: Exclusion, relations: Relations): boolean {
  const { schema, object } = entry;
  const commented = entry.kind.replace(/^(?:comment on (?:table )?|unmodeled )/, "").replaceAll(" ", "_");
  if (exclusion.matches({ ...entry, kind: commented })) return true;
  if (schema === undefined) return false;
  if (exclusion.matches({ kind: "schema", schema, object: undefined, child: undefined })) return true;
  if (object === undefined) return false;
  const kind = relations.get(displayName(schema, object));
  if (kind !== undefined && exclusion.matches({ kind, schema, object, child: undefined })) return true;
  const owner = entry.kind === "sequence_definition" ? entry.props["owned by"] : undefined;
  if (!Array.isArray(owner)) return false;
  return exclusion.matches({ kind: "table", schema: String(owner[0]), object: String(owner[1]), child: undefined });
}

const RELATION_KINDS: readonly string[] = [
  "table",
  "view",
  "materialized_view",
  "foreign_table",
  "sequence",
  "domain",
  "type",
];

/** Reads everything in one snapshot. Nothing is written. */
export async function readCatalog(session: Session): Promise<Catalog> {
  await session.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  try {
    await session.query(
      `SET LOCAL search_path TO pg_catalog; SET LOCAL statement_timeout = ${CATALOG_STATEMENT_TIMEOUT_MS}`,
    );
    const [version] = await session.query("SELECT current_setting('server_version_num')::int / 10000 AS major");
    const all: Entry[] = [];
    for (const sql of catalogQueries(Number(version?.["major"]))) {
      for (const row of await session.query(`SELECT * FROM (${sql}) AS r(kind, schema, object, child, props)`))
        all.push(entryOf(row));
    }
    const order = await session.query(COLUMN_ORDER);
    return {
      entries: new Map(all.map((e) => [keyOf(e), e] as const).sort(([a], [b]) => (a < b ? -1 : 1))),
      columnOrder: orderOf(order.filter((r) => r["view"] !== true)),
      viewColumns: orderOf(order.filter((r) => r["view"] === true)),
    };
  } finally {
    if (!session.lost()) await session.query("ROLLBACK");
  }
}

const orderOf = (rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<string, readonly string[]> =>
  new Map(rows.map((r) => [displayName(String(r["schema"]), String(r["object"])), r["columns"] as string[]]));

const nameOf = (entry: Address): string => displayName(entry.schema ?? "", entry.object ?? "");

/** The catalog without what the selectors exclude and without what belongs to it. */
export function withoutExcludedEntries(catalog: Catalog, exclusion: Exclusion): Catalog {
  if (exclusion.selectors.length === 0) return catalog;
  const all = [...catalog.entries];
  const relations = new Map(all.filter(([, e]) => RELATION_KINDS.includes(e.kind)).map(([, e]) => [nameOf(e), e.kind]));
  const gone = new Set(all.filter(([, e]) => excluded(e, exclusion, relations)).map(([key]) => key));
  const goneSequences = new Set(
    all.filter(([key, e]) => gone.has(key) && e.kind === "sequence_definition").map(([, e]) => nameOf(e)),
  );
  const entries = all.filter(([key, e]) => !gone.has(key) && !(e.kind === "sequence" && goneSequences.has(nameOf(e))));
  return { ...catalog, entries: new Map(entries) };
}

const optional = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function entryOf(row: Readonly<Record<string, unknown>>): Entry {
  return {
    kind: String(row["kind"]),
    schema: optional(row["schema"]),
    object: optional(row["object"]),
    child: optional(row["child"]),
    props: (row["props"] ?? {}) as Record<string, unknown>,
  };
}

/** Key order of JSON from the server is stable within a major; sorting makes it so everywhere. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`).join(",")}}`;
}

/** Lowercase hex SHA-256 over every entry. */
export function catalogDigest(catalog: Catalog): string {
  const hash = createHash("sha256");
  for (const [key, entry] of catalog.entries) hash.update(`${key}${canonical(entry.props)}\n`);
  return hash.digest("hex");
}

/** Names of the properties in which two entries differ. */
export function propertiesThatDiffer(a: Entry, b: Entry): readonly string[] {
  const names = [...new Set([...Object.keys(a.props), ...Object.keys(b.props)])].sort();
  return names.filter((n) => canonical(a.props[n]) !== canonical(b.props[n]));
}

/** What differs from `before` to `after`, in key order. */
export function compareCatalogs(before: Catalog, after: Catalog): readonly Difference[] {
  const keys = [...new Set([...before.entries.keys(), ...after.entries.keys()])].sort();
  return keys.flatMap((key): Difference[] => {
    const a = before.entries.get(key);
    const b = after.entries.get(key);
    const address = (a ?? b) as Entry;
    if (a === undefined || b === undefined) return [{ key, address, before: a, after: b, properties: [] }];
    const properties = propertiesThatDiffer(a, b);
    return properties.length === 0 ? [] : [{ key, address, before: a, after: b, properties }];
  });
}

/** Properties that hold SQL text printed by the server. */
const PRINTED: ReadonlySet<string> = new Set([
  "definition",
  "query",
  "default",
  "using",
  "check",
  "partition key",
  "partition bound",
  "tables",
]);

/** What may take its text from a parent where it is rebuilt: there a lost word is a lost property, and no spelling. */
const INHERITING: ReadonlySet<string> = new Set(["column", "index"]);

/**
 * Both sides have it and only its printed text differs: it may be the same thing in another spelling. A text that one side does
 * not have at all is no spelling of the other's.
 */
export function mayBeRespelled({ before, after, properties }: Omit<Difference, "key" | "address">): boolean {
  if (before === undefined || after === undefined) return false;
  return properties.every((property) => {
    const [a, b] = [before.props[property] ?? null, after.props[property] ?? null];
    if (!PRINTED.has(property) || a === null || b === null) return false;
    return !INHERITING.has(after.kind) || wordsOf(a) === wordsOf(b);
  });
}

/** The words and literals of a printed text: another spelling moves casts and parentheses about. */
const wordsOf = (text: unknown): string =>
  [...new Set(String(text).match(/'(?:[^']|'')*'|[\p{L}\p{N}_$]+/gu))].sort().join(" ");

/** A difference as a person reads it: `column public.t.a (storage)`. */
export function describeDifference({ address, before, after, properties }: Difference): string {
  const kind = address.kind.replace(/^unmodeled /, "").replaceAll("_", " ");
  const parts = [address.schema, address.object, address.child].filter((p) => p !== undefined);
  const plain = address.kind.startsWith("unmodeled ");
  const name = plain ? parts.join(".") : displayName(...parts);
  if (before === undefined) return `${kind} ${name} (missing)`;
  if (after === undefined) return `${kind} ${name} (not declared)`;
  return `${kind} ${name} (${properties.join(", ")})`;
}

/** Whether a view's columns are the first of its wanted ones, name by name and type by type: then the server can replace it in place. */
export function viewCanBeReplaced(present: Catalog, wanted: Catalog, schema: string, name: string): boolean {
  const view = displayName(schema, name);
  const now = present.viewColumns.get(view);
  const then = wanted.viewColumns.get(view);
  if (now === undefined || then === undefined) return false;
  return now.every((column, at) => {
    const key = keyOf({ kind: "column", schema, object: name, child: column });
    const a = present.entries.get(key);
    const b = wanted.entries.get(key);
    return then[at] === column && a !== undefined && b !== undefined && propertiesThatDiffer(a, b).length === 0;
  });
}

/** Tables whose common columns stand in another order on the two sides. */
export function columnOrderFindings(target: Catalog, desired: Catalog): readonly string[] {
  const tables: string[] = [];
  for (const [table, wanted] of desired.columnOrder) {
    const present = target.columnOrder.get(table);
    if (present === undefined) continue;
    const common = new Set(wanted.filter((c) => present.includes(c)));
    const order = (columns: readonly string[]): string => columns.filter((c) => common.has(c)).join("\0");
    if (order(wanted) !== order(present)) tables.push(table);
  }
  return tables.sort();
}
