import * as v from "valibot";
import { ApprovalIdentity } from "../../crds/common.ts";
import { annotation } from "../../crds/names.ts";
import { MIRROR_MAX_BYTES, Mirror } from "../../crds/status/mirror.ts";
import type { Marks, MirrorMark } from "../../lifecycle/view.ts";

const Versioned = v.looseObject({ version: v.number() });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The annotations the lifecycle reads. What cannot be read is said to be so; it is never taken for absent. */
export function marksOf(annotations: Readonly<Record<string, string>> | undefined, stateVersion: number): Marks {
  const mirror = annotations?.[annotation.unsettledApply];
  const settled = annotations?.[annotation.settledApply];
  const by = v.safeParse(ApprovalIdentity, parsed(annotations?.[annotation.settledApplyBy] ?? ""));
  return {
    ...(mirror === undefined ? {} : { mirror: mirrorMark(mirror, stateVersion) }),
    ...(settled === undefined
      ? {}
      : { settledApply: { operationID: settled, by: by.success ? by.output : undefined } }),
    ...(annotations?.[annotation.readRequestedAt] === undefined
      ? {}
      : { readRequestedAt: annotations[annotation.readRequestedAt] }),
  };
}

function mirrorMark(text: string, stateVersion: number): MirrorMark {
  if (Buffer.byteLength(text) > MIRROR_MAX_BYTES) return { state: "unreadable" };
  const value = parsed(text);
  if (v.is(Versioned, value) && value.version > stateVersion) return { state: "newer", version: value.version };
  const mirror = v.safeParse(Mirror, value);
  return mirror.success ? { state: "read", mirror: mirror.output } : { state: "unreadable" };
}
