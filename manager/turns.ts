import type { ResourceFacts } from "../lifecycle/view.ts";
import { limits } from "./limits.ts";
import type { Effect } from "./perform/perform.ts";

/**
 * A new image, or a restart after a long time, makes a reading of every resource due at once. Ordinary readings therefore take
 * turns: so many operations at a time in the cluster. An Apply, the proof of one, and everything after a claim never wait: somebody
 * decided on it, or a realm is held. A resource that is being deleted takes no turn from the others: its namespace may admit no Job
 * any more, and its proof then stands until a person settles it.
 */
export function turnAfterMs(
  move: Effect,
  resource: ResourceFacts,
  all: Iterable<ResourceFacts>,
  operationsMax: number,
  fraction: number,
): number | undefined {
  if (move.kind !== "claim") return undefined;
  const claim = move.status.activeOperation;
  if (claim === undefined || claim.type === "Apply" || claim.proves !== undefined) return undefined;
  let running = 0;
  for (const other of all) {
    if (other.uid !== resource.uid && !other.deleting && other.status.activeOperation !== undefined) running += 1;
    if (running >= operationsMax) return limits.turnMsMin + (limits.turnMsMax - limits.turnMsMin) * fraction;
  }
  return undefined;
}
