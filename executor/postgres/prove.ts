import { plan } from "@supabase/pg-delta";
import { Refused } from "../contract.ts";
import { MAX_NAMES_IN_REPORT } from "../limits.ts";
import { type Catalog, compareCatalogs, type Difference, describeDifference, mayBeRespelled } from "./catalog.ts";
import { type Base, buildStructure } from "./clone.ts";
import type { Step } from "./differ.ts";
import type { Exclusion } from "./exclude.ts";
import { type Executable, execute } from "./execute.ts";
import { quoteIdent } from "./quote.ts";
import type { Session } from "./session.ts";
import type { Spelling } from "./spelling.ts";
import { supplement } from "./supplement.ts";
import { differOptions, readView, type View } from "./view.ts";

export interface ProofInput {
  /** An empty scratch database. */
  readonly clone: Session;
  readonly target: View;
  readonly spelling: Spelling;
  readonly base: Base;
  readonly steps: readonly Step[];
  readonly exclusion: Exclusion;
  /** Fills the clone with the target's structure some other way (pg_dump); the default is the differ's own build. */
  readonly fill?: (clone: Session) => Promise<void>;
}

/**
 * Applies the steps to a clone of the target's structure and reads it back with both readers. What only the second reader sees
 * and one ALTER can set is added to the steps here.
 * @returns the steps that are proven to lead to the desired schema
 * @throws Refused `plan_fails_on_clone` (the server refuses a statement, its position named), `not_managed` (something would be
 *   left different, named), `plan_not_stable`, `clone_not_reproduced`
 */
export async function provenSteps(input: ProofInput): Promise<readonly Step[]> {
  const { clone, base, spelling, target } = input;
  const structure = await buildStructure(clone, target, base, input.fill === undefined ? {} : { fill: input.fill });
  const unseen = structure.unseen.filter((d) => !mayBeRespelled(d));
  const hidden = new Set(unseen.filter((d) => sameAsWanted(d.key, input)).map((d) => d.key));
  const differences = async (reached: View): Promise<readonly Difference[]> => {
    const accepted = await spelling.accepted(reached);
    return compareCatalogs(reached.catalog, accepted.catalog).filter((d) => !hidden.has(d.key));
  };
  await clone.query(`SET ROLE ${quoteIdent(base.server.user)}`);
  await runOnClone(clone, input.steps, 0);
  const once = await readView(clone, input.exclusion);
  const { steps: extra } = supplement(await differences(once));
  await runOnClone(clone, extra, input.steps.length);
  const reached = extra.length === 0 ? once : await readView(clone, input.exclusion);
  const left = [
    ...(await differences(reached)),
    ...compareCatalogs(target.catalog, spelling.wanted.catalog).filter((d) => unseen.some((u) => u.key === d.key)),
  ];
  if (left.length > 0) throw notManaged(left);
  const again = plan(reached.facts, (await spelling.accepted(reached)).facts, differOptions(base.server)).actions;
  if (again.length > 0) {
    throw new Refused(
      "plan_not_stable",
      `after the plan a second one would still change ${again.length === 1 ? "one thing" : `${again.length} things`}; change the schema by a written migration`,
    );
  }
  return [...input.steps, ...extra];
}

/** Something the clone lacks although the target has it; the declared schema holds the very same, so nothing is to be done. */
function sameAsWanted(key: string, { spelling, target }: ProofInput): boolean {
  const only = (catalog: Catalog): Catalog => {
    const entry = catalog.entries.get(key);
    return { ...catalog, entries: new Map(entry === undefined ? [] : [[key, entry]]) };
  };
  return compareCatalogs(only(target.catalog), only(spelling.wanted.catalog)).length === 0;
}

async function runOnClone(clone: Session, steps: readonly Executable[], offset: number): Promise<void> {
  const result = await execute(clone, steps, { mode: "file", lockTimeoutMs: 0, withoutRows: true });
  if (result.done) return;
  const position = offset + result.position;
  throw new Refused(
    "plan_fails_on_clone",
    `statement ${position} of ${offset + steps.length} fails on a clone of the target's structure: ${result.reason}; this change needs a written migration`,
    { statement: position, ...(result.sqlstate === undefined ? {} : { sqlstate: result.sqlstate }) },
  );
}

/** A refusal that names what would be left different. */
function notManaged(left: readonly Difference[]): Refused {
  const names = [...new Set(left.map(describeDifference))];
  const more = names.length > MAX_NAMES_IN_REPORT ? ` and ${names.length - MAX_NAMES_IN_REPORT} more` : "";
  const shown = names.slice(0, MAX_NAMES_IN_REPORT);
  return new Refused(
    "not_managed",
    `the difference is in what this version does not manage: ${shown.join("; ")}${more}`,
    {
      objects: shown,
    },
  );
}
