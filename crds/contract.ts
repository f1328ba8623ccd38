/** The version of the stored-state contract that an object says it was written under, before anything else of it is read. */
import * as v from "valibot";
import { annotation } from "./names.ts";

/** Highest plan contract this version knows: 1 for OCI sources, 2 for ConfigMap and Git. */
const PLAN_CONTRACT_MAX = 2;

const version = v.optional(v.fallback(v.number(), 0), 0);
const Spec = v.fallback(v.object({ controllerStateVersion: version, contractVersion: version }), {
  controllerStateVersion: 0,
  contractVersion: 0,
});
const Status = v.fallback(v.object({ executionBinding: v.object({ controllerStateVersion: version }) }), {
  executionBinding: { controllerStateVersion: 0 },
});
const MirrorVersion = v.object({ version: v.number() });

/** An object of one of our kinds as it is stored, as far as this asks. */
export interface StoredObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/**
 * Every version that a resource, a plan or the mirror on it names. A plan of an unknown plan contract names one beyond all.
 * What is absent, or cannot be read, is 0.
 */
export function storedContractVersions(object: StoredObject): readonly number[] {
  const spec = v.parse(Spec, object.spec);
  const { executionBinding } = v.parse(Status, object.status);
  return [
    spec.controllerStateVersion,
    spec.contractVersion > PLAN_CONTRACT_MAX ? Number.MAX_SAFE_INTEGER : 0,
    executionBinding.controllerStateVersion,
    mirrorVersion(object.metadata.annotations?.[annotation.unsettledApply]),
  ];
}

function mirrorVersion(text: string | undefined): number {
  if (text === undefined) return 0;
  try {
    const parsed = v.safeParse(MirrorVersion, JSON.parse(text));
    return parsed.success ? parsed.output.version : 0;
  } catch {
    return 0;
  }
}
