import { canonicalJson, type Json } from "../../crds/canonical.ts";

/** Whether two values are the same JSON; absent and an empty object, list or null differ only where Kubernetes would too. */
export function same(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalJson(a as Json) === canonicalJson(b as Json);
}

/** The same for maps and lists that Kubernetes leaves out when they are empty. */
export function sameOrEmpty(a: unknown, b: unknown): boolean {
  return same(filled(a), filled(b));
}

function filled(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  return typeof value === "object" && Object.keys(value).length === 0 ? undefined : value;
}
