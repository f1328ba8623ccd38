/** Which phase a transition of a schema leads to: seed 003's diagrams, one row per arrow's cause. Display only. */
import type { SchemaPhase } from "../../crds/status/index.ts";
import type { Cause, OperationName } from "../present.ts";
import { ofSequence } from "./causes.ts";

const READING: Readonly<Record<OperationName, SchemaPhase>> = {
  Resolve: "Resolving",
  Verify: "Verifying",
  Observe: "Observing",
  Plan: "Planning",
  History: "Observing",
  Apply: "Applying",
};

/** @returns undefined where the phase stays what it is */
export function schemaPhase(cause: Cause): SchemaPhase | undefined {
  if (ofSequence(cause)) return undefined;
  switch (cause.at) {
    case "bindingChanged":
    case "gaveWay":
    case "superseded":
    case "settled":
    case "restored":
      return "Pending";
    case "begun":
      return READING[cause.read];
    case "claimed":
    case "realmHeld":
      return cause.proving ? "VerifyingConvergence" : READING[cause.type];
    case "readFailed":
    case "unbuilt":
    case "sourceRefused":
      return "Failed";
    case "dropped":
    case "planStale":
      return cause.leads;
    case "versionLearned":
      return cause.proving ? "VerifyingConvergence" : "Observing";
    case "observed":
      return cause.proving ? "VerifyingConvergence" : "Planning";
    case "decided":
      return cause.verdict.kind;
    case "converged":
      return "InSync";
    case "applied":
      return "VerifyingConvergence";
    case "planRefused":
    case "targetMoved":
    case "blocked":
      return "Blocked";
    case "suspended":
      return "Suspended";
    case "bound":
    case "resultUnread":
    case "podHeld":
    case "holding":
    case "deleting":
      return undefined;
  }
}
