import { buildFactBase, type FactBase } from "@supabase/pg-delta";
import { Refused } from "../contract.ts";
import { type Catalog, compareCatalogs, type Difference, type Entry, propertiesThatDiffer } from "./catalog.ts";
import { buildSteps } from "./differ.ts";
import { type Exclusion, NO_EXCLUSION } from "./exclude.ts";
import { type Executable, execute } from "./execute.ts";
import type { Scratch } from "./scratch.ts";
import type { ServerFacts } from "./server.ts";
import type { Session } from "./session.ts";
import { supplement } from "./supplement.ts";
import { narrowed, readView, type View } from "./view.ts";

/** What structures are built on: an empty database of this server. */
export interface Base {
  readonly server: ServerFacts;
  readonly empty: View;
}

export interface Structure {
  /** The database as built, nothing excluded. */
  readonly built: View;
  /** What could not be reproduced: differences from the built database to the wanted one. */
  readonly unseen: readonly Difference[];
}

/** Builds a structure in an empty scratch database, as its administrator. */
export async function buildStructure(
  database: Session,
  wanted: View,
  { server, empty }: Base,
  fill?: (database: Session) => Promise<void>,
): Promise<Structure> {
  await database.query("RESET ROLE");
  if (fill !== undefined) await fill(database);
  else {
    await run(database, buildSteps(empty.allFacts, wanted.allFacts, server));
  }
  const built = await readView(database, NO_EXCLUSION);
  const { steps, rest } = supplement(compareCatalogs(built.allCatalog, wanted.allCatalog));
  await run(database, steps);
  return { built: steps.length === 0 ? built : await readView(database, NO_EXCLUSION), unseen: rest };
}

async function run(database: Session, steps: readonly Executable[]): Promise<void> {
  const result = await execute(database, steps, { mode: "file", lockTimeoutMs: 0 });
  if (result.done) return;
  throw new Refused(
    "clone_not_reproduced",
    `the structure cannot be rebuilt on the scratch server: ${result.reason}`,
    result.sqlstate === undefined ? {} : { sqlstate: result.sqlstate },
  );
}

/**
 * The desired schema in the two spellings a server may give it: as declared, and as it reads after having been rebuilt from its own
 * definitions. PostgreSQL prints some expressions (`IN` over varchar) in a form it reads back as another; both mean the same, and
 * taking one for a change of the other would rebuild an index on every plan.
 */
export interface Desired {
  readonly declared: View;
  readonly settled: View;
}

/** Reads the settled spelling from one more scratch database. What cannot be rebuilt has only its declared spelling. */
export async function settle(scratch: Scratch, declared: View, base: Base, exclusion: Exclusion): Promise<Desired> {
  const database = await scratch.openDatabase();
  try {
    const { built } = await buildStructure(database, declared, base);
    return { declared, settled: narrowed(built, exclusion) };
  } catch (error) {
    if (error instanceof Refused) return { declared, settled: declared };
    throw error;
  }
}

/** The desired schema in the spelling that `present` already has, thing by thing, else in the settled one. */
export function spelledLike(present: View, { declared, settled }: Desired): View {
  return {
    ...declared,
    facts: spelledFacts(present.facts, declared.facts, settled.facts),
    catalog: spelledCatalog(present.catalog, declared.catalog, settled.catalog),
  };
}

function spelledFacts(present: FactBase, declared: FactBase, settled: FactBase): FactBase {
  const chosen = declared.facts().map((fact) => {
    const other = settled.get(fact.id);
    const keep = other === undefined || (present.has(fact.id) && present.hashOf(fact.id) === declared.hashOf(fact.id));
    return keep ? fact : { ...fact, payload: other.payload };
  });
  return buildFactBase(chosen, [...declared.edges], declared.source);
}

function spelledCatalog(present: Catalog, declared: Catalog, settled: Catalog): Catalog {
  const entries = [...declared.entries].map(([key, entry]): [string, Entry] => {
    const other = settled.entries.get(key);
    const now = present.entries.get(key);
    const keep = other === undefined || (now !== undefined && propertiesThatDiffer(now, entry).length === 0);
    return [key, keep ? entry : other];
  });
  return { ...declared, entries: new Map(entries) };
}
