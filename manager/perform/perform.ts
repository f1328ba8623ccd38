import type { Move } from "../../lifecycle/move.ts";
import { resourceKey } from "../families.ts";
import type { Reading } from "../view/reader.ts";
import type { PerformDeps, Performed, Performing } from "./context.ts";
import {
  performAcknowledgment,
  performApproval,
  performCreateChunk,
  performCreatePlan,
  performCreateProjection,
  performCreateSnapshot,
  performDelete,
  performMarkPlanReady,
  performOpenGate,
  performScheduleTtl,
  performWriteLease,
} from "./objects.ts";
import { performClaim, performDispatch, performPatchMetadata, performPatchStatus } from "./resource.ts";

/** A move with an effect; `look`, `wait` and `rest` have none. */
export type Effect = Exclude<Move, { readonly kind: "look" | "wait" | "rest" }>;

export function isEffect(move: Move): move is Effect {
  return move.kind !== "look" && move.kind !== "wait" && move.kind !== "rest";
}

/** Performs one effect, once. Errors: KubeError for what did nothing and may be tried again after a wait. */
export function perform(deps: PerformDeps, reading: Reading, move: Effect): Promise<Performed> {
  const resource = reading.view.resource.value;
  const p: Performing = { ...deps, reading, resource, key: resourceKey(resource.kind, resource) };
  switch (move.kind) {
    case "patchStatus":
      return performPatchStatus(p, move);
    case "patchMetadata":
      return performPatchMetadata(p, move);
    case "claim":
      return performClaim(p, move);
    case "dispatch":
      return performDispatch(p, move);
    case "writeLease":
      return performWriteLease(p, move);
    case "createSnapshot":
      return performCreateSnapshot(p, move);
    case "createPlan":
      return performCreatePlan(p, move);
    case "createChunk":
      return performCreateChunk(p, move);
    case "markPlanReady":
      return performMarkPlanReady(p, move);
    case "createProjection":
      return performCreateProjection(p, move);
    case "markApproval":
    case "consumeApproval":
      return performApproval(p, move);
    case "markAcknowledgment":
      return performAcknowledgment(p, move);
    case "openGate":
      return performOpenGate(p, move);
    case "scheduleTtl":
      return performScheduleTtl(p, move);
    case "deletePlan":
    case "deleteSnapshot":
      return performDelete(p, move);
  }
}
