import * as v from "valibot";
import { annotation } from "../crds/names.ts";
import type { RawCustom } from "../kube/index.ts";
import { CONTROLLER_STATE_VERSION } from "../lifecycle/limits.ts";

/**
 * The version of the stored-state contract that this manager writes and reads. A state written under a newer one is refused,
 * never interpreted (lifecycle, rule 1).
 */
export const STATE_VERSION = CONTROLLER_STATE_VERSION;

const version = v.optional(v.fallback(v.number(), 0), 0);
const Versions = v.object({
  spec: v.optional(v.object({ controllerStateVersion: version, contractVersion: version })),
  status: v.optional(v.object({ executionBinding: v.optional(v.object({ controllerStateVersion: version })) })),
});
const MirrorVersion = v.object({ version: v.number() });

/** Highest plan contract this version knows (api.md: 1 for OCI sources, 2 for ConfigMap and Git). */
const PLAN_CONTRACT_MAX = 2;

/** The state versions an object says it was written under, read without interpreting anything else of it. */
export function newerStateVersions(object: RawCustom): readonly number[] {
  const parsed = v.safeParse(Versions, { spec: object.spec, status: object.status });
  const found: number[] = [];
  if (parsed.success) {
    const { spec, status } = parsed.output;
    if (spec !== undefined) found.push(spec.controllerStateVersion);
    if (spec !== undefined && spec.contractVersion > PLAN_CONTRACT_MAX) found.push(Number.MAX_SAFE_INTEGER);
    if (status?.executionBinding !== undefined) found.push(status.executionBinding.controllerStateVersion);
  }
  const mirror = object.metadata.annotations?.[annotation.unsettledApply];
  if (mirror !== undefined) found.push(mirrorVersion(mirror));
  return found.filter((stored) => stored > STATE_VERSION);
}

function mirrorVersion(text: string): number {
  try {
    const parsed = v.safeParse(MirrorVersion, JSON.parse(text));
    return parsed.success ? parsed.output.version : 0;
  } catch {
    return 0;
  }
}
