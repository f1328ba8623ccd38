import type { ResourceRequirements } from "./kubernetes.ts";
import { canonicalQuantity } from "./quantity.ts";

type Quantities = Readonly<Record<string, string | number>>;

/** Quantities in canonical form; one that is none stays as it is, for the API server to refuse by name. */
export function canonicalQuantities(quantities: Quantities | undefined): Record<string, string> {
  const out: Record<string, string> = {};
  for (const key of Object.keys(quantities ?? {}).sort()) {
    const value = quantities?.[key];
    if (value !== undefined) out[key] = canonicalQuantity(value) ?? String(value);
  }
  return out;
}

/** Requests and limits in canonical form, without empty maps. */
export function canonicalResources(resources: ResourceRequirements | undefined): {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
} {
  const limits = canonicalQuantities(resources?.limits);
  const requests = canonicalQuantities(resources?.requests);
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}
