import type { SourceSpec } from "../../crds/source.ts";
import type { PtahSchemaSpec } from "../../crds/spec.ts";

/*
 * What the CRD's rules cannot say of a spec: that it can be right at all. Values that are only not supported yet are stored
 * and shown as Blocked by the manager.
 */

/** @param field where the source stands in the spec @returns the field and what to do, or undefined */
export function sourceProblem(field: string, { configMap, git }: SourceSpec): string | undefined {
  const path = firstRepeated((configMap?.items ?? []).map((item) => item.path));
  if (path !== undefined) return `${field}.configMap.items takes two keys as "${path}"; give each its own path`;
  const key = firstRepeated(configMap?.keys ?? []);
  if (key !== undefined) return `${field}.configMap.keys names "${key}" twice; name it once`;
  const parent = pathInsideFile((configMap?.items ?? []).map((item) => item.path));
  if (parent !== undefined) return `${field}.configMap.items has "${parent}" as a file and as a directory; rename one`;
  if (git !== undefined && /^[a-z]+:\/\/[^/]*:[^/]*@/.test(git.repository)) {
    return `${field}.git.repository holds a password; put it into a Secret and name that in authFrom`;
  }
  return undefined;
}

/** The scratch database is emptied and filled at will: it must not be the target. */
export function scratchProblem({ dev, target }: PtahSchemaSpec): string | undefined {
  if (dev === undefined || dev.urlFrom.name !== target.urlFrom.name || dev.urlFrom.key !== target.urlFrom.key)
    return undefined;
  return "spec.dev names the same Secret key as spec.target; name a scratch database of its own, or leave spec.dev out";
}

function firstRepeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}

function pathInsideFile(paths: readonly string[]): string | undefined {
  return paths.find((path) => paths.some((other) => other.startsWith(`${path}/`)));
}
