/**
 * A migration's conditions, one case per cause. Progressing and Blocked say the same as Reconciling and Stalled in the
 * words this family has always had; Blocked also stays while a run is not accounted for.
 */
import { type Flow, type Line, NO_APPROVAL, type Told, told } from "../conditions.ts";
import type { Cause, SharedCause } from "../present.ts";
import { ofSequence, ofStatements, type SequenceCause } from "./causes.ts";

/** @param owes a run is not accounted for */
export function migrationConditions(cause: Cause, owes: boolean): Told {
  if (ofStatements(cause)) return [];
  const said = ofSequence(cause) ? own(cause) : shared(cause);
  return owes ? said.map((line) => (line[0] === "Blocked" && line[1] === "False" ? HELD : line)) : said;
}

const HELD: Line = [
  "Blocked",
  "True",
  "OutcomeUnknown",
  "A run is not accounted for; nothing else runs until it is settled.",
];

/** @param flow `held…`: a run that is not accounted for keeps it blocked, whatever comes by itself */
function say(
  ready: "True" | "False",
  reason: string,
  sentence: string,
  flow: Flow | "held" | "heldAtRest",
  ...more: readonly Line[]
): Told {
  const plain: Flow = flow === "held" ? "reconciling" : flow === "heldAtRest" ? "rests" : flow;
  const blocked = flow !== "reconciling" && flow !== "rests";
  return told(
    ready,
    reason,
    sentence,
    plain,
    ["Progressing", plain === "reconciling" ? "True" : "False", reason, sentence],
    ["Blocked", blocked ? "True" : "False", reason, sentence],
    ...more,
  );
}

function own(cause: SequenceCause): Told {
  switch (cause.at) {
    case "historyMatched": {
      const sentence = `The history is the source's; nothing is pending at version ${cause.version}.`;
      return say("True", "HistoryMatched", sentence, "rests", NO_APPROVAL);
    }
    case "sequencePending":
      return say(
        "False",
        "MigrationsPending",
        `${count(cause.count)} pending; the plan is being published.`,
        "reconciling",
      );
    case "sequenceReady":
      return ready(cause);
    case "historyRefused":
      return say("False", cause.reason, cause.sentence, "stalled", NO_APPROVAL);
    case "unpublished":
      return say("False", "OperationFailed", cause.sentence, "reconciling");
    case "ran":
      return ran(cause);
  }
}

const count = (versions: number): string => `${versions} version${versions === 1 ? " is" : "s are"}`;

function ready({ apply, count: versions }: Extract<SequenceCause, { readonly at: "sequenceReady" }>): Told {
  if (apply === "Never") {
    const sentence = `${count(versions)} pending and spec.policy.apply is Never: plans are recorded and none is run.`;
    const line: Line = ["ApprovalRequired", "False", "ApplyDisabled", sentence];
    return say("False", "ApplyDisabled", sentence, "rests", line);
  }
  if (apply === "OnApproval") {
    const sentence = `${count(versions)} pending; the plan waits for an approval of exactly this plan.`;
    const line: Line = ["ApprovalRequired", "True", "AwaitingApproval", sentence];
    return say("False", "AwaitingApproval", sentence, "rests", line);
  }
  const sentence = `${count(versions)} pending; policy lets the plan run, and it is about to.`;
  return say("False", "ApplyPending", sentence, "reconciling", NO_APPROVAL);
}

const SPENT: Line = ["ApprovalRequired", "False", "Satisfied", "The plan was dispatched once and is spent."];

function ran({ outcome, selected, sentence }: Extract<SequenceCause, { readonly at: "ran" }>): Told {
  if (outcome === "Partial" || outcome === "Unknown") {
    return say("False", "OutcomeUnknown", sentence, "held", SPENT);
  }
  if (outcome === "Failed") {
    return say("False", selected ? "VerifyingHistory" : "OperationFailed", sentence, "reconciling", SPENT);
  }
  return say("False", "VerifyingHistory", sentence, "reconciling", SPENT);
}

function shared(cause: SharedCause): Told {
  switch (cause.at) {
    case "bound":
      return say("False", "OperationInProgress", "The first reading is about to start.", "reconciling");
    case "bindingChanged": {
      const sentence = "An execution component changed; what was read before is not evidence any more.";
      const lines: readonly Line[] = [["ArtifactResolved", "stale", "ExecutionBindingChanged", sentence]];
      return say("False", "ExecutionBindingChanged", sentence, "reconciling", ...lines, NO_APPROVAL);
    }
    case "begun":
      return say(
        "False",
        cause.changed ? "DesiredStateChanged" : "OperationInProgress",
        cause.changed ? "What is declared changed; the history is read again." : "The history is about to be read.",
        "reconciling",
        ["ArtifactResolved", "True", "SnapshotTaken", cause.sentence],
      );
    case "claimed":
      return claimed(cause);
    case "realmHeld":
    case "resultUnread":
      return say("False", "OperationInProgress", cause.sentence, "reconciling");
    case "podHeld":
      return say("False", cause.reason, cause.sentence, "reconciling");
    default:
      return trouble(cause);
  }
}

function claimed({ type, approved }: Extract<SharedCause, { readonly at: "claimed" }>): Told {
  if (type !== "Apply") return say("False", "OperationInProgress", `${type} is under way.`, "reconciling");
  const sentence = approved ? "The approved sequence is being run." : "The sequence that policy allows is being run.";
  const line: Line = ["ApprovalRequired", "False", approved ? "Satisfied" : "NotRequired", sentence];
  return say("False", "OperationInProgress", sentence, "reconciling", line);
}

type Trouble = Exclude<
  SharedCause,
  {
    readonly at: "bound" | "bindingChanged" | "begun" | "claimed" | "realmHeld" | "resultUnread" | "podHeld";
  }
>;

function trouble(cause: Trouble): Told {
  switch (cause.at) {
    case "readFailed":
      return say("False", cause.reason, cause.sentence, "reconciling");
    case "unbuilt":
      return say("False", "ConfigurationError", cause.sentence, "reconciling");
    case "sourceRefused":
      return say("False", cause.reason, cause.sentence, "reconciling", [
        "ArtifactResolved",
        "False",
        cause.reason,
        cause.sentence,
      ]);
    case "dropped":
      return say("False", cause.reason, cause.sentence, "reconciling");
    case "gaveWay":
      return say("False", "InputsChanged", "The failed read gave way to reading the source again.", "reconciling");
    case "planStale":
      return say("False", "StalePlan", cause.sentence, "reconciling", NO_APPROVAL);
    default:
      return standing(cause);
  }
}

type Standing = Exclude<
  Trouble,
  { readonly at: "readFailed" | "unbuilt" | "sourceRefused" | "dropped" | "gaveWay" | "planStale" }
>;

function standing(cause: Standing): Told {
  switch (cause.at) {
    case "holding":
      return say("False", "OutcomeUnknown", cause.sentence, "held");
    case "targetMoved":
      return say("False", "TargetIdentityChanged", cause.sentence, "stalled");
    case "settled": {
      const sentence = `${cause.username} settled the run; the history is read again.`;
      const ended: Line = ["Blocked", "False", "RunAcknowledged", sentence];
      return say("False", "OperationInProgress", sentence, "reconciling", ended);
    }
    case "restored":
      return say(
        "False",
        "RecordRestored",
        "The record of a run that is not accounted for was put back; nothing runs until it is settled.",
        "held",
      );
    case "suspended": {
      const owes = cause.wayOut !== undefined;
      const sentence = owes
        ? `Suspended. A run is not accounted for; its reading starts when spec.suspend is false. To end it without one, once it is known what it did: ${cause.wayOut}.`
        : "No new operation starts while spec.suspend is true.";
      return say("False", "Suspended", sentence, owes ? "heldAtRest" : "rests");
    }
    case "blocked":
      return say("False", cause.reason, cause.sentence, "stalled", NO_APPROVAL);
    case "deleting":
      return cause.held
        ? say("False", "OutcomeUnknown", cause.sentence, "held")
        : say("False", "OperationInProgress", cause.sentence, "reconciling");
  }
}
