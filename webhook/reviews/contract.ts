import * as v from "valibot";
import { annotation } from "../../crds/names.ts";

const version = v.optional(v.fallback(v.number(), 0), 0);
const Stored = v.object({
  spec: v.fallback(v.object({ controllerStateVersion: version }), { controllerStateVersion: 0 }),
  status: v.fallback(v.object({ executionBinding: v.object({ controllerStateVersion: version }) }), {
    executionBinding: { controllerStateVersion: 0 },
  }),
});
interface StoredObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
  readonly status?: unknown;
}

const Versioned = v.object({ version: v.number() });

/**
 * Whether an object, or the mirror it carries, was written under a newer contract than this build knows; such a state is
 * refused, never interpreted (lifecycle, rule 1).
 * @returns a sentence, or undefined
 */
export function writtenByNewer(object: StoredObject | undefined, known: number): string | undefined {
  if (object === undefined) return undefined;
  const stored = v.safeParse(Stored, { spec: object.spec ?? {}, status: object.status ?? {} });
  const versions = stored.success
    ? [stored.output.spec.controllerStateVersion, stored.output.status.executionBinding.controllerStateVersion]
    : [];
  const found = Math.max(0, ...versions, mirrorVersion(object.metadata.annotations?.[annotation.unsettledApply]));
  if (found <= known) return undefined;
  return `this object was written under contract version ${found}, and this operator knows ${known}; upgrade the operator`;
}

function mirrorVersion(text: string | undefined): number {
  if (text === undefined) return 0;
  try {
    const parsed = v.safeParse(Versioned, JSON.parse(text));
    return parsed.success ? parsed.output.version : 0;
  } catch {
    return 0;
  }
}
