import { createHash } from "node:crypto";
import {
  buildFactBase,
  encodeId,
  extract,
  type Fact,
  type FactBase,
  type PlanOptions,
  plan,
  type StableId,
} from "@supabase/pg-delta";
import { CATALOG_STATEMENT_TIMEOUT_MS } from "../limits.ts";
import { type Catalog, catalogDigest, readCatalog, withoutExcludedEntries } from "./catalog.ts";
import type { Address, Exclusion } from "./exclude.ts";
import type { ServerFacts } from "./server.ts";
import { poolOf, type Session } from "./session.ts";

/** A database as both readers see it, exclusions applied. */
export interface View {
  readonly facts: FactBase;
  /** Without exclusions: what a structural clone is made from. */
  readonly allFacts: FactBase;
  readonly catalog: Catalog;
  readonly allCatalog: Catalog;
}

export async function readView(session: Session, exclusion: Exclusion): Promise<View> {
  const { factBase } = await extract(poolOf(session), { statementTimeoutMs: CATALOG_STATEMENT_TIMEOUT_MS });
  const allCatalog = await readCatalog(session);
  return narrowed({ facts: factBase, allFacts: factBase, catalog: allCatalog, allCatalog }, exclusion);
}

/** The same database under these exclusions. */
export function narrowed(view: View, exclusion: Exclusion): View {
  return {
    ...view,
    facts: withoutExcluded(view.allFacts, exclusion),
    catalog: withoutExcludedEntries(view.allCatalog, exclusion),
  };
}

/** What is passed to the differ everywhere: roles belong to the cluster, every role of the target may be named, no renames guessed. */
export function differOptions(server: ServerFacts): PlanOptions {
  return { scope: "database", assumedRoles: server.roles.map((r) => r.name), renames: "off" };
}

/**
 * The identity of a database's state within the managed scope: both readers' digests, the server's major and the exclusions.
 * @returns `sha256:` and 64 hex digits
 */
export function fingerprint(view: View, server: ServerFacts, exclusion: Exclusion): string {
  const managed = plan(view.facts, view.facts, differOptions(server)).source.fingerprint;
  const parts = ["ptah-schema-1", String(server.major), managed, catalogDigest(view.catalog), ...exclusion.selectors];
  return `sha256:${createHash("sha256").update(parts.join("\n")).digest("hex")}`;
}

const KINDS: Readonly<Record<string, string>> = {
  materializedView: "materialized_view",
  foreignTable: "foreign_table",
  eventTrigger: "event_trigger",
  fdw: "foreign_data_wrapper",
};

/** The differ's identity as the address that selectors are matched against. */
export function addressOf(id: StableId): Address {
  const kind = KINDS[id.kind] ?? id.kind;
  if ("target" in id) return { ...addressOf(id.target), kind };
  if (id.kind === "schema") return { kind, schema: id.name, object: undefined, child: undefined };
  if ("table" in id && "name" in id) return { kind, schema: id.schema, object: id.table, child: id.name };
  if ("args" in id) return { kind, schema: id.schema, object: `${id.name}(${id.args.join(",")})`, child: undefined };
  if (id.kind === "typeAttribute") return { kind, schema: id.schema, object: id.type, child: id.name };
  const object = "name" in id ? id.name : undefined;
  const schema = "schema" in id ? (id.schema ?? undefined) : undefined;
  return { kind, schema, object, child: undefined };
}

/** Takes excluded facts and everything below them out of a fact base; what an excluded table owns goes with it. */
function withoutExcluded(facts: FactBase, exclusion: Exclusion): FactBase {
  if (exclusion.selectors.length === 0) return facts;
  const gone = new Set<string>();
  const isGone = (fact: Fact): boolean => {
    const key = encodeId(fact.id);
    if (gone.has(key)) return true;
    const parent = fact.parent === undefined ? undefined : facts.get(fact.parent);
    const out =
      exclusion.matches(indexAddress(fact)) ||
      ownerExcluded(fact, exclusion) ||
      (parent !== undefined && isGone(parent));
    if (out) gone.add(key);
    return out;
  };
  const kept = facts.facts().filter((fact) => !isGone(fact));
  const edges = facts.edges.filter((e) => !gone.has(encodeId(e.from)) && !gone.has(encodeId(e.to)));
  return buildFactBase(kept, [...edges], facts.source);
}

/** An index is addressed through its table, like a constraint. */
function indexAddress(fact: Fact): Address {
  const address = addressOf(fact.id);
  if (fact.id.kind !== "index" || fact.parent === undefined) return address;
  const table = addressOf(fact.parent);
  return { kind: "index", schema: table.schema, object: table.object, child: address.object };
}

function ownerExcluded(fact: Fact, exclusion: Exclusion): boolean {
  const owner = fact.payload["ownedBy"] as { schema?: unknown; table?: unknown } | null | undefined;
  if (fact.id.kind !== "sequence" || typeof owner?.schema !== "string" || typeof owner.table !== "string") return false;
  return exclusion.matches({ kind: "table", schema: owner.schema, object: owner.table, child: undefined });
}
