/** Which phase a transition of a migration leads to: seed 003's diagrams, one row per arrow's cause. Display only. */
import type { MigrationPhase } from "../../crds/status/index.ts";
import type { Cause, OperationName, SharedCause } from "../present.ts";
import { ofSequence, ofStatements, type SequenceCause } from "./causes.ts";

const READING: Readonly<Record<OperationName, MigrationPhase>> = {
  Resolve: "Resolving",
  Verify: "Verifying",
  Observe: "Reading",
  Plan: "Reading",
  History: "Reading",
  Apply: "Applying",
};

/**
 * @param owes a run is not accounted for: what else fails meanwhile does not take the resource out of Blocked
 * @returns undefined where the phase stays what it is
 */
export function migrationPhase(cause: Cause, owes: boolean): MigrationPhase | undefined {
  if (ofStatements(cause)) return undefined;
  const phase = ofSequence(cause) ? own(cause) : shared(cause);
  return owes && phase === "Failed" ? "Blocked" : phase;
}

function own(cause: SequenceCause): MigrationPhase {
  switch (cause.at) {
    case "historyMatched":
      return "InSync";
    case "sequencePending":
      return "Planning";
    case "sequenceReady":
      return cause.apply === "OnApproval" ? "AwaitingApproval" : "Planning";
    case "historyRefused":
      return "Blocked";
    case "unpublished":
      return "Failed";
    case "ran":
      if (cause.outcome === "Partial" || cause.outcome === "Unknown") return "Blocked";
      return cause.selected ? "VerifyingHistory" : "Failed";
  }
}

function shared(cause: SharedCause): MigrationPhase | undefined {
  switch (cause.at) {
    case "bindingChanged":
    case "gaveWay":
    case "settled":
      return "Pending";
    case "begun":
      return READING[cause.read];
    case "claimed":
    case "realmHeld":
      return READING[cause.type];
    case "unbuilt":
    case "sourceRefused":
      return "Failed";
    case "dropped":
    case "planStale":
      return cause.leads === "Observing" ? "Pending" : cause.leads;
    case "restored":
    case "targetMoved":
    case "blocked":
      return "Blocked";
    case "suspended":
      return "Suspended";
    case "readFailed":
    case "bound":
    case "resultUnread":
    case "podHeld":
    case "holding":
    case "deleting":
      return undefined;
  }
}
