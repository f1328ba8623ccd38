import { Refused } from "../contract.ts";
import { compareCatalogs, type Difference } from "./catalog.ts";
import { buildSteps } from "./differ.ts";
import { NO_EXCLUSION } from "./exclude.ts";
import { type Executable, execute } from "./execute.ts";
import type { ServerFacts } from "./server.ts";
import type { Session } from "./session.ts";
import { supplement } from "./supplement.ts";
import { readView, type View } from "./view.ts";

/** What structures are built on: an empty database of this server. */
export interface Base {
  readonly server: ServerFacts;
  /** Such a database as both readers see it, read only where something is built: from the first database that is. */
  empty(database: Session): Promise<View>;
}

/** @returns `Base.empty`: reads the first database that it is given and goes on answering with that */
export function emptyReadOnce(): Base["empty"] {
  let first: Promise<View> | undefined;
  return (database) => {
    first ??= readView(database, NO_EXCLUSION);
    return first;
  };
}

export interface Structure {
  /** The database as built, nothing excluded. */
  readonly built: View;
  /** What could not be reproduced: differences from the built database to the wanted one. */
  readonly unseen: readonly Difference[];
}

export interface BuildOptions {
  /** Fills the database some other way than by the differ's own plan. */
  readonly fill?: (database: Session) => Promise<void>;
  /** Takes the server's print of expressions as it is, instead of a text that is read back into the same form. */
  readonly asPrinted?: boolean;
}

/** Builds a structure in an empty scratch database, as its administrator. */
export async function buildStructure(
  database: Session,
  wanted: View,
  base: Base,
  build: BuildOptions = {},
): Promise<Structure> {
  await database.query("RESET ROLE");
  const built = await filled(database, wanted, base, build);
  const { steps, rest } = supplement(compareCatalogs(built.allCatalog, wanted.allCatalog));
  await run(database, steps);
  return { built: steps.length === 0 ? built : await readView(database, NO_EXCLUSION), unseen: rest };
}

/** An empty database filled with the structure, read back; where nothing had to be done, the empty one is what it is. */
async function filled(database: Session, wanted: View, base: Base, build: BuildOptions): Promise<View> {
  if (build.fill !== undefined) {
    await build.fill(database);
    return readView(database, NO_EXCLUSION);
  }
  const empty = await base.empty(database);
  const steps = buildSteps(empty.allFacts, wanted.allFacts, base.server, build.asPrinted === true);
  await run(database, steps);
  return steps.length === 0 ? empty : readView(database, NO_EXCLUSION);
}

async function run(database: Session, steps: readonly Executable[]): Promise<void> {
  const result = await execute(database, steps, { mode: "file", lockTimeoutMs: 0, withoutRows: true });
  if (result.done) return;
  throw new Refused(
    "clone_not_reproduced",
    `the structure cannot be rebuilt on the scratch server: ${result.reason}`,
    result.sqlstate === undefined ? {} : { sqlstate: result.sqlstate },
  );
}
