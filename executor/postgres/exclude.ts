import { Refused } from "../contract.ts";
import { MAX_EXCLUDE_SELECTORS, MAX_SELECTOR_CHARS } from "../limits.ts";

/** Where a thing stands: the second reader's row and the differ's fact both have one. */
export interface Address {
  readonly kind: string;
  readonly schema: string | undefined;
  readonly object: string | undefined;
  readonly child: string | undefined;
}

export interface Exclusion {
  /** The selectors as given, sorted and unique; they are written into the plan. */
  readonly selectors: readonly string[];
  matches(address: Address): boolean;
}

/** Excludes nothing. */
export const NO_EXCLUSION: Exclusion = { selectors: [], matches: () => false };

/** Kinds a selector's `[type=…]` may name. */
const TYPES: ReadonlySet<string> = new Set([
  "schema",
  "table",
  "view",
  "materialized_view",
  "foreign_table",
  "sequence",
  "function",
  "procedure",
  "aggregate",
  "type",
  "enum",
  "domain",
  "collation",
  "extension",
  "index",
  "constraint",
  "trigger",
  "policy",
  "rule",
  "column",
  "event_trigger",
  "publication",
  "server",
  "statistics",
  "cast",
  "operator",
  "operator_class",
  "operator_family",
  "text_search_configuration",
  "text_search_dictionary",
  "language",
  "subscription",
]);

const DEFAULT_SCHEMA = "public";
/** Selectors of one segment also name what lies in no schema at all. */
const WITHOUT_SCHEMA: ReadonlySet<string> = new Set([
  "extension",
  "event_trigger",
  "publication",
  "server",
  "foreign_data_wrapper",
  "subscription",
  "cast",
  "language",
  "transform",
]);

type Matcher = (address: Address) => boolean;

/**
 * Reads exclusion selectors: globs (`*`, `?`) of one to three segments, `schema`, `schema.object` or `schema.object.child`, with
 * an optional `[type=table|view]`. One segment names a schema, an object of the schema `public`, or an object outside of schemas.
 * @throws Refused `invalid_exclude` naming a selector that cannot be honoured
 */
export function parseExclusion(values: readonly string[]): Exclusion {
  const selectors = [...new Set(values.map((s) => s.trim()))].sort();
  if (selectors.length > MAX_EXCLUDE_SELECTORS) {
    throw new Refused("invalid_exclude", `there are more than ${MAX_EXCLUDE_SELECTORS} exclude selectors`);
  }
  const matchers = selectors.map(matcherOf);
  return { selectors, matches: (address) => matchers.some((m) => m(address)) };
}

function matcherOf(selector: string): Matcher {
  const refuse = (why: string): never => {
    throw new Refused("invalid_exclude", `the exclude selector "${selector}" cannot be honoured: ${why}`, {
      objects: [selector],
    });
  };
  if (selector.length > MAX_SELECTOR_CHARS) refuse(`it is longer than ${MAX_SELECTOR_CHARS} characters`);
  const match = /^([^[\]]*)(?:\[type=([a-z_|]+)\])?$/.exec(selector);
  if (match === null) return refuse("only [type=…] may follow the name");
  const [, name = "", typeList] = match;
  if (/["\\{},]/.test(name)) refuse("quotes, backslashes, braces and commas are not supported");
  const segments = name.split(".");
  if (segments.length > 3 || segments.some((s) => s === "")) refuse("it must have one to three segments");
  const types = typeList?.split("|");
  const unknown = types?.find((t) => !TYPES.has(t));
  if (unknown !== undefined) refuse(`the type "${unknown}" is not known`);
  const ofType: Matcher = (address) =>
    types === undefined || types.includes(address.kind) || (address.kind === "type" && types.includes("enum"));
  const globs = segments.map(globOf);
  const byName = [oneSegment, twoSegments, threeSegments][globs.length - 1] ?? oneSegment;
  return (address) => ofType(address) && byName(globs, address);
}

type Glob = (text: string) => boolean;

function oneSegment([glob = () => false]: readonly Glob[], address: Address): boolean {
  if (address.child !== undefined) return false;
  if (address.kind === "schema") return glob(address.schema ?? "");
  if (address.object === undefined || !glob(bareName(address.object))) return false;
  return address.schema === DEFAULT_SCHEMA || WITHOUT_SCHEMA.has(address.kind);
}

function twoSegments([schema = () => false, object = () => false]: readonly Glob[], address: Address): boolean {
  if (address.schema === undefined || address.object === undefined || address.child !== undefined) return false;
  return schema(address.schema) && object(bareName(address.object));
}

function threeSegments(
  [schema = () => false, object = () => false, child = () => false]: readonly Glob[],
  address: Address,
): boolean {
  if (address.schema === undefined || address.object === undefined || address.child === undefined) return false;
  return schema(address.schema) && object(bareName(address.object)) && child(address.child);
}

/** A routine is matched by its name alone, whatever its arguments. */
const bareName = (object: string): string => object.replace(/\(.*$/s, "");

function globOf(pattern: string): Glob {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const regex = new RegExp(`^${source}$`, "s");
  return (text) => regex.test(text);
}
