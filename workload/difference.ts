import type { Json } from "../crds/canonical.ts";

type JsonMap = { readonly [key: string]: Json | undefined };

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isMap = (value: Json): value is JsonMap => typeof value === "object" && value !== null && !isList(value);

/**
 * The value without what the API server does not store: nulls, absent members and empty lists. Empty objects stay, because
 * an empty selector and no selector mean different things.
 */
export function plain(value: Json): Json {
  if (isList(value)) return value.map(plain);
  if (!isMap(value)) return value;
  const out: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined || member === null || (isList(member) && member.length === 0)) continue;
    out[key] = plain(member);
  }
  return out;
}

/** Path of the first place where two plain values differ, or undefined. Values themselves are never named. */
export function firstDifference(a: Json | undefined, b: Json | undefined, path: string): string | undefined {
  if (a === undefined || b === undefined) return a === b ? undefined : path;
  if (isList(a) && isList(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
      const found = firstDifference(a[i], b[i], `${path}[${i}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isMap(a) && isMap(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
      const found = firstDifference(a[key], b[key], `${path}.${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return a === b ? undefined : path;
}
