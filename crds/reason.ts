/** The vocabulary of the reason tables: who acts, and the commands a text may name. */
import type { ConditionTypeName } from "./conditions.ts";
import type { Family } from "./names.ts";

/** Who has to act. `nobody`: it comes by itself, or there is nothing to do. */
export type Actor = "nobody" | "author" | "approver" | "database administrator" | "operator administrator";

/** Who has to act, and the next command or what is waited for. `NAME` stands for the resource. */
export interface Advice {
  readonly who: Actor;
  readonly next: string;
}

export interface Reason extends Advice {
  readonly reason: string;
  /** Conditions it appears on, with their status. Progressing and Blocked are a PtahMigration's. */
  readonly conditions: readonly `${ConditionTypeName}=${"True" | "False" | "Unknown"}`[];
  readonly meaning: string;
  /** Where the advice for a PtahMigration is another one; commands alone are translated by {@link adviceFor}. */
  readonly migration?: Advice;
}

export const WAIT = "Nothing to do; kubectl ptah wait schema/NAME returns when it is over.";
/** Of what is settled: there is nothing to wait for. */
export const NOTHING = "Nothing to do.";
export const LOOK = "kubectl ptah schema NAME";
export const PLAN = "kubectl ptah plan NAME";
export const REFRESH = "kubectl ptah refresh schema/NAME --wait";
export const EDIT = "kubectl edit ptahschema NAME";
export const RESUME = `Set spec.suspend to false to go on: kubectl patch ptahschema NAME --type merge -p '{"spec":{"suspend":false}}'`;
export const EVENTS = "kubectl events --for ptahschema/NAME";
/** Reading it comes first. */
export const APPROVE = "kubectl ptah plan NAME, then kubectl ptah approve NAME";
/** What comes of approving again what has failed. */
export const SAME_WAY = "else the same statements may fail the same way";
/** What the message of an uncertain run ends with; true of it until it is settled. */
export const HELD_RUN =
  "It is never replayed: nothing runs until a reading with nothing pending, or a person, settles it.";
/** Of a command that writes to the resource, told to whoever may not: the right is another role's than a database administrator's. */
export const PATCHES = "it takes the role ptah-operator-author";
/** How the hold of a migration's run ends. */
export const ACKNOWLEDGE: Advice = {
  who: "database administrator",
  next:
    "Find out in the database what the run did and mend it, then kubectl ptah refresh migration/NAME --wait " +
    `(${PATCHES}): a read with nothing pending settles it. Where versions stay pending, kubectl ptah acknowledge NAME ends the hold.`,
};
/** The same while it is being deleted: nothing is read on request, and an acknowledgment may not be taken any more. */
export const SETTLE: Advice = {
  who: "database administrator",
  next: `Find out in the database what the run did, then kubectl ptah settle migration/NAME (${PATCHES}) lets it be deleted.`,
};

/** One row of the table. */
export const r = <const Word extends string>(
  reason: Word,
  conditions: Reason["conditions"],
  meaning: string,
  who: Actor = "nobody",
  next: string = WAIT,
  migration?: Advice,
): Reason & { readonly reason: Word } => ({
  reason,
  conditions,
  meaning,
  who,
  next,
  ...(migration === undefined ? {} : { migration }),
});

/** What the tables write for a schema, and what the same command is for a migration. */
const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/\bkubectl ptah schema NAME\b/g, "kubectl ptah migration NAME"],
  [/\bkubectl ptah (approve|plan|settle|wait) NAME\b/g, "kubectl ptah $1 migration/NAME"],
  [/\bptahschema(\/| )NAME\b/g, "ptahmigration$1NAME"],
  [/\bschema\/NAME\b/g, "migration/NAME"],
  [/\bspec\.desired\b/g, "spec.artifact"],
];

/** The advice of an entry of any of the tables for a resource of one family, with its commands. */
export function adviceFor(entry: Advice & { readonly migration?: Advice }, family: Family): Advice {
  if (family === "schema") return { who: entry.who, next: entry.next };
  if (entry.migration !== undefined) return entry.migration;
  const next = COMMANDS.reduce((text, [schema, migration]) => text.replace(schema, migration), entry.next);
  return { who: entry.who, next };
}
