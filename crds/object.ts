/** The envelope around a spec and a status, as an object of the API has it. */
import * as v from "valibot";
import { API_VERSION, ObjectMeta } from "./common.ts";
import type { CustomKind } from "./kind.ts";

/**
 * The schema of a kind's objects as they are read: fields this version does not know are left out, everything else is
 * typed, defaults are filled in.
 */
export function customObject<Spec extends v.GenericSchema, Status extends v.GenericSchema>(
  kind: CustomKind,
  spec: Spec,
  status: Status,
) {
  return v.object({
    apiVersion: v.optional(v.literal(API_VERSION), API_VERSION),
    kind: v.optional(v.literal(kind.kind), kind.kind),
    metadata: ObjectMeta,
    spec,
    status: v.optional(status),
  });
}

/** The same for a kind without a status. */
export function statelessObject<Spec extends v.GenericSchema>(kind: CustomKind, spec: Spec) {
  return v.object({
    apiVersion: v.optional(v.literal(API_VERSION), API_VERSION),
    kind: v.optional(v.literal(kind.kind), kind.kind),
    metadata: ObjectMeta,
    spec,
  });
}
