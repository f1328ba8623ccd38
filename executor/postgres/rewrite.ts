import { type Action, encodeId, type FactBase, type StableId } from "@supabase/pg-delta";
import { quoteIdent } from "./quote.ts";

/**
 * Rewrites of the differ's actions. Each keeps what the plan leads to (the proof on the clone holds that) and takes away statements
 * that only look like a change, or that would destroy more than needed.
 */

/**
 * A new enum value is usable only after a commit, and the differ may place a default that uses it before the value. Values that
 * depend on nothing this plan creates come first.
 */
export function hoistEnumValues(actions: readonly Action[]): readonly Action[] {
  const created = new Set(actions.flatMap((a) => a.produces).map(encodeId));
  const first = (a: Action): boolean =>
    a.transactionality === "commitBoundaryAfter" && !a.consumes.some((id) => created.has(encodeId(id)));
  return [...actions.filter(first), ...actions.filter((a) => !first(a))];
}

const REPLACING = /^CREATE OR REPLACE VIEW /;

/**
 * What this plan itself creates already belongs to the role that runs it, and a routine it creates replaces none: saying so again
 * would only make every plan look like a change of privileges.
 */
export function withoutOwnNoise(actions: readonly Action[], user: string): readonly Action[] {
  const created = new Set(actions.filter((a) => !REPLACING.test(a.sql)).flatMap((a) => a.produces.map(encodeId)));
  const authorization = ` AUTHORIZATION ${quoteIdent(user)}`;
  const redundant = (a: Action): boolean => {
    const subject = ownedSubject(a);
    return subject !== undefined && a.sql.endsWith(` OWNER TO ${quoteIdent(user)}`) && created.has(encodeId(subject));
  };
  return actions
    .filter((a) => !redundant(a))
    .map((a) => {
      if (a.verb !== "create") return a;
      const owned = a.sql.startsWith("CREATE SCHEMA ") && a.sql.endsWith(authorization);
      const sql = owned ? a.sql.slice(0, -authorization.length) : a.sql;
      return { ...a, sql: sql.replace(/^CREATE OR REPLACE (FUNCTION|PROCEDURE) /, "CREATE $1 ") };
    });
}

/** The object of an `ALTER … OWNER TO` action. */
function ownedSubject(action: Action): StableId | undefined {
  if (action.produces.length > 0 || action.destroys.length > 0 || !/ OWNER TO "(?:[^"]|"")*"$/.test(action.sql))
    return undefined;
  return action.consumes.find((id) => id.kind !== "role");
}

/**
 * The server itself hands an owner's own privileges to the new owner; where both sides hold nothing but an owner's default
 * privileges, the differ's REVOKE and GRANT around the change say nothing.
 */
export function withoutOwnerGrants(actions: readonly Action[], from: FactBase, to: FactBase): readonly Action[] {
  const covered = new Set<string>();
  for (const action of actions) {
    const subject = ownedSubject(action);
    if (subject === undefined) continue;
    const before = ownerOf(from, subject);
    const after = ownerOf(to, subject);
    if (before === undefined || after === undefined || before === after) continue;
    const old = aclOf(subject, before);
    const fresh = aclOf(subject, after);
    const plain = hasOwnerDefault(from, old) && hasOwnerDefault(to, fresh) && !from.has(fresh) && !to.has(old);
    if (plain) for (const id of [old, fresh]) covered.add(encodeId(id));
  }
  return actions.filter((a) => {
    const concerned = [...a.produces, ...a.destroys, ...a.consumes.filter((id) => id.kind === "acl")];
    return concerned.length === 0 || !concerned.every((id) => covered.has(encodeId(id)));
  });
}

const aclOf = (target: StableId, grantee: string): StableId => ({ kind: "acl", target, grantee });

function ownerOf(facts: FactBase, id: StableId): string | undefined {
  const edge = facts.outgoingEdges(id).find((e) => e.kind === "owner");
  return edge?.to.kind === "role" ? edge.to.name : undefined;
}

function hasOwnerDefault(facts: FactBase, id: StableId): boolean {
  const payload = facts.get(id)?.payload;
  if (payload === undefined) return false;
  const grantable = payload["grantable"];
  return (
    JSON.stringify(payload["privileges"]) === JSON.stringify(payload["_ownerDefault"]) &&
    Array.isArray(grantable) &&
    grantable.length === 0
  );
}

/**
 * The differ drops and creates a view whose query changed, and every view above it. Where the server can replace the views in place
 * (their columns stay, or grow at the end), nothing has to be dropped.
 * @param canReplace whether the view's old columns are the first of its new ones
 * @returns undefined when there is no such view, or one cannot be replaced in place
 */
export function replaceViewsInPlace(
  actions: readonly Action[],
  from: FactBase,
  to: FactBase,
  canReplace: (schema: string, name: string) => boolean,
): readonly Action[] | undefined {
  const dropped = new Set(
    actions.filter((a) => a.verb === "drop").flatMap((a) => a.destroys.filter(isView).map(encodeId)),
  );
  const views = actions.flatMap((a) => a.produces.filter(isView)).filter((id) => dropped.has(encodeId(id)));
  if (views.length === 0 || !views.every((v) => canReplace(v.schema, v.name))) return undefined;
  const replaced = new Set(views.map(encodeId));
  const unchanged = (id: StableId): boolean => from.has(id) && to.has(id) && from.hashOf(id) === to.hashOf(id);
  const kept: Action[] = [];
  for (const action of actions) {
    const result = withoutReplacement(action, replaced, unchanged, (id) => ownerOf(from, id) === ownerOf(to, id));
    if (result === "impossible") return undefined;
    if (result !== "drop") kept.push(result);
  }
  return kept;
}

type ViewId = Extract<StableId, { schema: string; name: string }> & { kind: "view" };

const isView = (id: StableId): id is ViewId => id.kind === "view";

function withoutReplacement(
  action: Action,
  replaced: ReadonlySet<string>,
  unchanged: (id: StableId) => boolean,
  sameOwner: (id: StableId) => boolean,
): Action | "drop" | "impossible" {
  const isReplaced = (id: StableId): boolean => replaced.has(encodeId(id));
  const touched = [...action.produces, ...action.destroys];
  const subject = ownedSubject(action);
  if (subject !== undefined && isReplaced(subject)) return sameOwner(subject) ? "drop" : action;
  const ofViews = touched.filter((id) => isReplaced(id) || ("target" in id && isReplaced(id.target)));
  if (ofViews.length === 0) {
    // A trigger or rule of the view would have gone with it and is made again here.
    return action.consumes.some(isReplaced) && action.produces.some((id) => "table" in id) ? "impossible" : action;
  }
  if (ofViews.length !== touched.length) return "impossible";
  if (action.destroys.some(isReplaced)) return "drop";
  const view = action.produces.find(isReplaced);
  if (view === undefined) return touched.every(unchanged) ? "drop" : action;
  if (unchanged(view)) return "drop";
  return { ...action, verb: "alter", sql: action.sql.replace(/^CREATE VIEW /, "CREATE OR REPLACE VIEW ") };
}

/** Statements whose expressions are the server's own print, not text a person wrote (routine bodies, comments). */
const PRINTED_EXPRESSIONS =
  /^(?:CREATE (?:UNIQUE )?INDEX|(?:CREATE|ALTER) (?:UNLOGGED |FOREIGN )?TABLE|CREATE (?:OR REPLACE )?(?:MATERIALIZED )?VIEW|(?:CREATE|ALTER) (?:POLICY|DOMAIN)|CREATE (?:OR REPLACE )?RULE|CREATE TRIGGER) /;
const VARCHAR_LIST = /\(ARRAY\[((?:'(?:[^']|'')*'::character varying(?:, )?)+)\]\)::text\[\]/g;

/**
 * `x IN ('a', 'b')` over a varchar is printed as `(ARRAY['a'::character varying, …])::text[]`, which the server reads back with the
 * cast moved onto each element, and prints differently from then on. One more cast, which does nothing, keeps the first form.
 */
export function keepSpelling(sql: string): string {
  return PRINTED_EXPRESSIONS.test(sql)
    ? sql.replaceAll(VARCHAR_LIST, "((ARRAY[$1])::character varying[])::text[]")
    : sql;
}
