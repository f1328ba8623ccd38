import { buildFactBase, type Fact, type StableId } from "@supabase/pg-delta";
import { Refused } from "../contract.ts";
import { compareCatalogs, type Entry, mayBeRespelled, propertiesThatDiffer } from "./catalog.ts";
import { type Base, buildStructure } from "./clone.ts";
import type { Exclusion } from "./exclude.ts";
import type { Scratch } from "./scratch.ts";
import { narrowed, type View } from "./view.ts";

/**
 * PostgreSQL prints some expressions (`IN` over varchar, for one) in a form that it reads back as another, which it then prints
 * differently. Both mean the same, and taking one for a change of the other would rebuild an index on every plan. Two things are the
 * same if they are equal after each has been rebuilt from its own print.
 */
export interface Spelling {
  /** The declared schema, in the target's spelling wherever the two mean the same. */
  readonly wanted: View;
  /** The wanted schema, in the spelling that a database has after a plan, wherever that is one the server gives it. */
  accepted(reached: View): Promise<View>;
}

interface SpellingInput {
  readonly scratch: Scratch;
  readonly base: Base;
  readonly target: View;
  readonly declared: View;
  readonly exclusion: Exclusion;
}

/** Finds out what is only spelled differently. Databases are rebuilt only where something might be. */
export async function spellingOf(input: SpellingInput): Promise<Spelling> {
  const { target, declared } = input;
  let rebuilt: Promise<View> | undefined;
  const settled = (): Promise<View> => {
    rebuilt ??= rebuild(declared, input);
    return rebuilt;
  };
  const wanted = differsInPrint(target, declared)
    ? inSpellingOf(target, declared, await rebuild(target, input), await settled())
    : declared;
  return {
    wanted,
    accepted: async (reached) => {
      if (!differsInPrint(reached, wanted)) return wanted;
      const other = await settled();
      return inSpellingOf(reached, wanted, reached, other);
    },
  };
}

const differsInPrint = (a: View, b: View): boolean => compareCatalogs(a.catalog, b.catalog).some(mayBeRespelled);

/** The view as the server prints it after it was built from its own print; itself where it cannot be rebuilt. */
async function rebuild(view: View, { scratch, base, exclusion }: SpellingInput): Promise<View> {
  const database = await scratch.openDatabase();
  try {
    const { built } = await buildStructure(database, view, base, { asPrinted: true });
    return narrowed(built, exclusion);
  } catch (error) {
    if (error instanceof Refused) return view;
    throw error;
  }
}

/**
 * Whether two entries differ in nothing but printed text that both have. A rebuild that loses something on both sides makes them
 * look alike, so each has to be this to its own rebuild too.
 */
function respelled(before: Entry | undefined, after: Entry | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return mayBeRespelled({ before, after, properties: propertiesThatDiffer(before, after) });
}

/** `wanted`, with what `present` has instead wherever both are the same once settled. */
function inSpellingOf(present: View, wanted: View, presentSettled: View, wantedSettled: View): View {
  const sameFact = (id: StableId): boolean =>
    present.facts.has(id) &&
    presentSettled.facts.has(id) &&
    wantedSettled.facts.has(id) &&
    presentSettled.facts.hashOf(id) === wantedSettled.facts.hashOf(id);
  const facts = wanted.facts.facts().map((fact): Fact => {
    const now = present.facts.get(fact.id);
    return now !== undefined && sameFact(fact.id) ? { ...fact, payload: now.payload } : fact;
  });
  const entries = [...wanted.catalog.entries].map(([key, entry]): [string, Entry] => {
    const now = present.catalog.entries.get(key);
    const a = presentSettled.catalog.entries.get(key);
    const b = wantedSettled.catalog.entries.get(key);
    const same =
      respelled(now, entry) &&
      respelled(now, a) &&
      respelled(entry, b) &&
      a !== undefined &&
      b !== undefined &&
      propertiesThatDiffer(a, b).length === 0;
    return [key, same && now !== undefined ? now : entry];
  });
  return {
    ...wanted,
    facts: buildFactBase(facts, [...wanted.facts.edges], wanted.facts.source),
    catalog: { ...wanted.catalog, entries: new Map(entries) },
  };
}
