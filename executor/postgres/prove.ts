import { plan } from "@supabase/pg-delta";
import { Refused } from "../contract.ts";
import { MAX_NAMES_IN_REPORT } from "../limits.ts";
import { type Catalog, compareCatalogs, type Difference, describeDifference } from "./catalog.ts";
import { buildSteps, type Step } from "./differ.ts";
import type { Exclusion } from "./exclude.ts";
import { type Executable, execute } from "./execute.ts";
import { quoteIdent } from "./quote.ts";
import type { ServerFacts } from "./server.ts";
import type { Session } from "./session.ts";
import { supplement } from "./supplement.ts";
import { differOptions, readView, type View } from "./view.ts";

export interface ProofInput {
  readonly clone: Session;
  readonly target: View;
  readonly desired: View;
  readonly server: ServerFacts;
  readonly steps: readonly Step[];
  readonly exclusion: Exclusion;
  /** Fills the empty clone with the target's structure some other way (pg_dump); the default is the differ's own build. */
  readonly fill?: (clone: Session) => Promise<void>;
}

const NOTHING: Exclusion = { selectors: [], matches: () => false };

/**
 * Applies the steps to a clone of the target's structure and reads it back with both readers. What only the second reader sees
 * and one ALTER can set is added to the steps here.
 * @returns the steps that are proven to lead to the desired schema
 * @throws Refused `plan_fails_on_clone` (the server refuses a statement, its position named), `not_managed` (something would be
 *   left different, named), `clone_not_reproduced`
 */
export async function provenSteps(input: ProofInput): Promise<readonly Step[]> {
  const { clone, server } = input;
  const unseen = await makeClone(input);
  const hidden = new Set(unseen.filter((d) => sameAsDesired(d, input)).map((d) => d.key));
  await clone.query(`SET ROLE ${quoteIdent(server.user)}`);
  await runOnClone(clone, input.steps, 0);
  const once = await readView(clone, input.exclusion);
  const { steps: extra } = supplement(differencesTo(input.desired.catalog, once.catalog, hidden));
  await runOnClone(clone, extra, input.steps.length);
  const twice = extra.length === 0 ? once : await readView(clone, input.exclusion);
  const left = [
    ...differencesTo(input.desired.catalog, twice.catalog, hidden),
    ...unseen.filter((d) => stillThere(d, input, hidden)),
  ];
  if (left.length > 0) throw notManaged(left);
  const again = plan(twice.facts, input.desired.facts, differOptions(server)).actions;
  if (again.length > 0) {
    throw new Refused(
      "plan_not_stable",
      `after the plan a second one would still change ${again.length} things; change the schema by a written migration`,
    );
  }
  return [...input.steps, ...extra];
}

const differencesTo = (desired: Catalog, present: Catalog, hidden: ReadonlySet<string>): readonly Difference[] =>
  compareCatalogs(present, desired).filter((d) => !hidden.has(d.key));

/** Something the clone lacks although the target has it; the declared schema holds the very same, so nothing is to be done. */
function sameAsDesired(difference: Difference, { desired, target }: ProofInput): boolean {
  return (
    compareCatalogs(
      { entries: entriesOf(target.catalog, difference.key), columnOrder: new Map() },
      { entries: entriesOf(desired.catalog, difference.key), columnOrder: new Map() },
    ).length === 0
  );
}

const entriesOf = (catalog: Catalog, key: string): Catalog["entries"] => {
  const entry = catalog.entries.get(key);
  return new Map(entry === undefined ? [] : [[key, entry]]);
};

/** Something the target has, neither reader's plan removes and the declared schema lacks. */
function stillThere(difference: Difference, { target }: ProofInput, hidden: ReadonlySet<string>): boolean {
  return target.catalog.entries.has(difference.key) && !hidden.has(difference.key);
}

/** Builds the target's structure in the empty clone. @returns what the clone could not be given, as (clone → target) differences */
async function makeClone({ clone, target, server, fill }: ProofInput): Promise<readonly Difference[]> {
  await clone.query("RESET ROLE");
  if (fill !== undefined) await fill(clone);
  else {
    const empty = await readView(clone, NOTHING);
    await build(clone, buildSteps(empty.allFacts, target.allFacts, server));
  }
  const built = await readView(clone, NOTHING);
  const { steps, rest } = supplement(compareCatalogs(built.catalog, target.allCatalog));
  await build(clone, steps);
  return rest;
}

async function build(clone: Session, steps: readonly Executable[]): Promise<void> {
  const result = await execute(clone, steps, { mode: "file", lockTimeoutMs: 0 });
  if (result.done) return;
  throw new Refused(
    "clone_not_reproduced",
    `the target's structure cannot be rebuilt on the scratch server: ${result.reason}`,
    {
      ...(result.sqlstate === undefined ? {} : { sqlstate: result.sqlstate }),
    },
  );
}

async function runOnClone(clone: Session, steps: readonly Executable[], offset: number): Promise<void> {
  const result = await execute(clone, steps, { mode: "file", lockTimeoutMs: 0 });
  if (result.done) return;
  const position = offset + result.position;
  throw new Refused(
    "plan_fails_on_clone",
    `statement ${position} of ${offset + steps.length} fails on a clone of the target's structure: ${result.reason}; this change needs a written migration`,
    { statement: position, ...(result.sqlstate === undefined ? {} : { sqlstate: result.sqlstate }) },
  );
}

/** A refusal that names what would be left different. */
export function notManaged(left: readonly Difference[]): Refused {
  const names = left.map(describeDifference);
  const more = names.length > MAX_NAMES_IN_REPORT ? ` and ${names.length - MAX_NAMES_IN_REPORT} more` : "";
  const shown = names.slice(0, MAX_NAMES_IN_REPORT);
  return new Refused(
    "not_managed",
    `the difference is in what this version does not manage: ${shown.join("; ")}${more}`,
    { objects: shown },
  );
}
