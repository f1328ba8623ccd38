import { type Action, type FactBase, plan, type StableId } from "@supabase/pg-delta";
import { Refused } from "../contract.ts";
import { displayName } from "./quote.ts";
import { hoistEnumValues, keepSpelling, replaceViewsInPlace, withoutOwnerGrants, withoutOwnNoise } from "./rewrite.ts";
import type { ServerFacts } from "./server.ts";
import { messageOf } from "./session.ts";
import { differOptions } from "./view.ts";

/** One statement of a plan before it is classified. */
export interface Step {
  readonly sql: string;
  /** "alone" cannot run inside a transaction. */
  readonly transaction: "joined" | "alone";
  /** Its effect is usable only after a commit (a new enum value). */
  readonly commitAfter: boolean;
  /** The differ knows that rows are lost. */
  readonly losesRows: boolean;
  /** The differ knows that the table is rewritten. */
  readonly rewrites: boolean;
  /** Tables the statement concerns, as `schema.name`. */
  readonly tables: readonly string[];
}

/** The statements that turn one database into another, in an order the server accepts. */
export interface Planned {
  readonly steps: readonly Step[];
  /** The same without dropping views that can be replaced in place; to be tried first, the proof tells whether it works. */
  readonly gentler: readonly Step[] | undefined;
}

export interface DifferInput {
  readonly from: FactBase;
  readonly to: FactBase;
  readonly server: ServerFacts;
  /** Whether a view's columns allow it to be replaced in place. */
  readonly canReplace: (schema: string, name: string) => boolean;
}

/** @throws Refused `needs_written_migration` where the differ knows a change that PostgreSQL cannot make in place */
export function planSteps({ from, to, server, canReplace }: DifferInput): Planned {
  const actions = hoistEnumValues(differ(from, to, server));
  const finish = (some: readonly Action[]): readonly Step[] =>
    withoutOwnNoise(withoutOwnerGrants(some, from, to), server.user).map((action) => stepOf(action, false));
  const gentler = replaceViewsInPlace(actions, from, to, canReplace);
  return { steps: finish(actions), gentler: gentler === undefined ? undefined : finish(gentler) };
}

/** The statements that build a structure in an empty database, owners spelled out, run by an administrator. */
export function buildSteps(from: FactBase, to: FactBase, server: ServerFacts, asPrinted: boolean): readonly Step[] {
  return hoistEnumValues(differ(from, to, server)).map((action) => stepOf(action, asPrinted));
}

function differ(from: FactBase, to: FactBase, server: ServerFacts): readonly Action[] {
  try {
    return plan(from, to, differOptions(server)).actions;
  } catch (error) {
    const sentence = messageOf(error).split("\n")[0] ?? "";
    throw new Refused(
      "needs_written_migration",
      `the change cannot be planned: ${sentence}; change it by a written migration`,
    );
  }
}

function stepOf(action: Action, asPrinted: boolean): Step {
  const sql = builtOnPartitions(action.sql);
  return {
    sql: (asPrinted ? sql : keepSpelling(sql)).replace(/;\s*$/, "").trimEnd(),
    transaction: action.transactionality === "nonTransactional" ? "alone" : "joined",
    commitAfter: action.transactionality === "commitBoundaryAfter",
    losesRows: action.dataLoss === "destructive",
    rewrites: action.rewriteRisk,
    tables: tablesOf(action),
  };
}

/**
 * The server prints an index of a partitioned table with ONLY. Run like that it would stay invalid and the partitions would get
 * none; without ONLY the server builds and attaches theirs.
 */
function builtOnPartitions(sql: string): string {
  return sql.replace(/^(CREATE (?:UNIQUE )?INDEX (?:"(?:[^"]|"")*"|[^\s"]+) ON )ONLY /, "$1");
}

function tablesOf(action: Action): readonly string[] {
  const ids = [
    ...action.produces,
    ...action.destroys,
    ...action.releases,
    ...(action.verb === "alter" ? action.consumes.slice(0, 1) : []),
  ];
  return [...new Set(ids.map(tableOf).filter((t) => t !== undefined))].sort();
}

function tableOf(id: StableId): string | undefined {
  if ("target" in id) return tableOf(id.target);
  if (id.kind === "publicationRel") return displayName(id.schema, id.table);
  if ("table" in id) return displayName(id.schema, id.table);
  return id.kind === "table" || id.kind === "foreignTable" ? displayName(id.schema, id.name) : undefined;
}
