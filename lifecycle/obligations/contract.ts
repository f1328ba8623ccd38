/** Rule 1: a state written under a newer contract is refused, never interpreted. No write. */
import { type Context, rest } from "../context.ts";
import type { Move } from "../move.ts";

export function newerContract(c: Context): Move | undefined {
  const ours = c.view.configuration.components.controllerStateVersion;
  return newestStored(c) > ours ? rest("1", "Refused") : undefined;
}

function newestStored(c: Context): number {
  const { executionBinding, plan } = c.status;
  const mark = c.resource.marks.mirror;
  const mirror = mark?.state === "newer" ? mark.version : mark?.state === "read" ? mark.mirror.version : 0;
  return Math.max(
    executionBinding?.controllerStateVersion ?? 0,
    plan?.controllerStateVersion ?? 0,
    c.record?.binding?.controllerStateVersion ?? 0,
    mirror,
  );
}
