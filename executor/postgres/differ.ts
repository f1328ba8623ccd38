import { type Action, type FactBase, plan, type StableId } from "@supabase/pg-delta";
import { Refused } from "../contract.ts";
import { displayName, quoteIdent } from "./quote.ts";
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

/**
 * The statements that turn one database into another, in an order the server accepts.
 * @throws Refused `needs_written_migration` where the differ knows a change that PostgreSQL cannot make in place
 */
export function planSteps(from: FactBase, to: FactBase, server: ServerFacts): readonly Step[] {
  return tidy(hoistEnumValues(differ(from, to, server)), server.user).map(stepOf);
}

/** The statements that build a structure in an empty database, owners spelled out, run by an administrator. */
export function buildSteps(from: FactBase, to: FactBase, server: ServerFacts): readonly Step[] {
  return hoistEnumValues(differ(from, to, server)).map(stepOf);
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

/**
 * A new enum value is usable only after a commit, and the differ may place a default that uses it before the value. Values that
 * depend on nothing this plan creates come first.
 */
function hoistEnumValues(actions: readonly Action[]): readonly Action[] {
  const created = new Set(actions.flatMap((a) => a.produces).map(key));
  const first = (a: Action): boolean =>
    a.transactionality === "commitBoundaryAfter" && !a.consumes.some((id) => created.has(key(id)));
  return [...actions.filter(first), ...actions.filter((a) => !first(a))];
}

const key = (id: StableId): string => JSON.stringify(id);

/**
 * What this plan itself creates already belongs to the role that runs it, and a routine it creates replaces none: saying so again
 * would only make every plan look like a change of privileges.
 */
function tidy(actions: readonly Action[], user: string): readonly Action[] {
  const created = new Set(actions.flatMap((a) => a.produces).map(key));
  const ownerClause = ` OWNER TO ${quoteIdent(user)}`;
  const authorization = ` AUTHORIZATION ${quoteIdent(user)}`;
  const redundant = (a: Action): boolean =>
    a.produces.length === 0 &&
    a.destroys.length === 0 &&
    a.sql.endsWith(ownerClause) &&
    a.consumes.some((id) => id.kind !== "role" && created.has(key(id)));
  return actions
    .filter((a) => !redundant(a))
    .map((a) => {
      if (a.verb !== "create") return a;
      const sql =
        a.sql.startsWith("CREATE SCHEMA ") && a.sql.endsWith(authorization)
          ? a.sql.slice(0, -authorization.length)
          : a.sql;
      return { ...a, sql: sql.replace(/^CREATE OR REPLACE (FUNCTION|PROCEDURE) /, "CREATE $1 ") };
    });
}

function stepOf(action: Action): Step {
  return {
    sql: builtOnPartitions(action.sql).replace(/;\s*$/, "").trimEnd(),
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
