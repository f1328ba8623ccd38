/**
 * What a transition tells people. `Cause` says what happened; phase and conditions follow from it in
 * the family's words, last and in this one place. No decision ever reads them back.
 */
import type { Condition } from "../crds/common.ts";
import type { Claim } from "../crds/status/index.ts";
import { NOT_TRIED, NOT_WAITING, READ, type Told } from "./conditions.ts";
import type { Context, Status } from "./context.ts";
import type { FamilyCause } from "./families/causes.ts";
import { MESSAGE_MAX } from "./limits.ts";
import { instantOf } from "./time.ts";

export type OperationName = Claim["type"];

/** Where a claim that was dropped leads. */
export type Leads = "Pending" | "Suspended" | "Observing" | "Verifying" | "AwaitingApproval";

/** What either family tells. */
export type SharedCause =
  | { readonly at: "bound" }
  | { readonly at: "bindingChanged" }
  | {
      readonly at: "begun";
      readonly read: OperationName;
      /** Another declaration than the last cycle's. */
      readonly changed: boolean;
      readonly sentence: string;
    }
  | { readonly at: "claimed"; readonly type: OperationName; readonly proving: boolean; readonly approved: boolean }
  | { readonly at: "realmHeld"; readonly type: OperationName; readonly proving: boolean; readonly sentence: string }
  | {
      readonly at: "readFailed";
      readonly type: OperationName;
      readonly reason: string;
      readonly sentence: string;
      readonly unreachable: boolean;
    }
  | { readonly at: "unbuilt"; readonly sentence: string }
  | { readonly at: "resultUnread"; readonly sentence: string }
  | {
      readonly at: "podHeld";
      readonly reason: "PodAdmissionRefused" | "PodCannotStart";
      readonly sentence: string;
    }
  | { readonly at: "sourceRefused"; readonly reason: string; readonly sentence: string }
  | { readonly at: "dropped"; readonly leads: Leads; readonly reason: string; readonly sentence: string }
  | { readonly at: "gaveWay" }
  | { readonly at: "holding"; readonly sentence: string }
  | { readonly at: "targetMoved"; readonly sentence: string }
  | { readonly at: "settled"; readonly username: string }
  | { readonly at: "restored" }
  | { readonly at: "planStale"; readonly leads: Leads; readonly sentence: string }
  | {
      readonly at: "suspended";
      /** How a person ends what is owed; undefined where nothing is. */
      readonly wayOut: string | undefined;
    }
  | { readonly at: "blocked"; readonly reason: string; readonly sentence: string }
  | {
      readonly at: "deleting";
      /** A record holds deletion until somebody settles it, or a reading does. */
      readonly held: boolean;
      readonly sentence: string;
    };

export type Cause = SharedCause | FamilyCause;

/**
 * The status as people read it after a transition.
 * @returns the very object it was given when phase, conditions and observedGeneration already say all of it
 */
export function present(c: Context, status: Status, cause: Cause): Status {
  const owes = c.family.record(status) !== undefined;
  const phase = c.family.phase(cause, owes) ?? status.phase;
  const { generation } = c.resource;
  const told = toldIn(phase, status.conditions, c.family.conditions(cause, owes));
  const conditions = merged(status.conditions, told, generation, c.nowMs);
  if (phase === status.phase && conditions === status.conditions && generation === status.observedGeneration) {
    return status;
  }
  return { ...status, phase, conditions, observedGeneration: generation };
}

/** What a cause tells, as far as it outweighs what stands; an approval is asked for only in the phase that waits for one. */
function toldIn(phase: Status["phase"], standing: readonly Condition[] | undefined, told: Told): Told {
  const kept = tellsOfApply(standing) ? told.filter((line) => line !== READ && line !== NOT_TRIED) : told;
  const waits = phase === "AwaitingApproval" || kept.some(([type]) => type === NOT_WAITING[0]);
  return waits ? kept : [...kept, NOT_WAITING];
}

/** Why an Apply failed is told until a proof or another Apply says otherwise: the person who decides next needs it. */
function tellsOfApply(conditions: readonly Condition[] | undefined): boolean {
  return (conditions ?? []).some(
    ({ type, status, reason }) =>
      type === "ReconciliationFailed" && status === "True" && reason === "ApplyOutcomeUnknown",
  );
}

/** Conditions that are written as False only after they were True once: absent means that it never happened. */
const ONLY_AFTER_TRUE: ReadonlySet<string> = new Set(["Applying", "ReconciliationFailed"]);

/** What a line leaves of the condition that stands; undefined where it says nothing new, null where it takes it off. */
function conditionAfter(
  old: Condition | undefined,
  [type, value, reason, sentence]: Told[number],
  generation: number,
  nowMs: number,
): Condition | null | undefined {
  if (value === "absent") return old === undefined ? undefined : null;
  if (value === "doubtful" && old?.status !== "True") return undefined;
  const never = old === undefined && (value === "stale" || (value !== "True" && ONLY_AFTER_TRUE.has(type)));
  if (never) return undefined;
  const status = value === "stale" || value === "doubtful" ? "Unknown" : value;
  const message = bounded(sentence);
  const kept = old?.status === status;
  const same = kept && old.reason === reason && old.message === message && old.observedGeneration === generation;
  if (same) return undefined;
  const lastTransitionTime = kept ? old.lastTransitionTime : instantOf(Math.floor(nowMs / 1000) * 1000);
  return { type, status, reason, message, lastTransitionTime, observedGeneration: generation };
}

/** The conditions with what was told; the same array when it said nothing new. */
function merged(
  before: Condition[] | undefined,
  told: Told,
  generation: number,
  nowMs: number,
): Condition[] | undefined {
  let next: Condition[] | undefined;
  for (const line of told) {
    const list: readonly Condition[] = next ?? before ?? [];
    const at = list.findIndex(({ type }) => type === line[0]);
    const condition = conditionAfter(at >= 0 ? list[at] : undefined, line, generation, nowMs);
    if (condition === undefined) continue;
    next = [...list];
    if (condition === null) next.splice(at, 1);
    else if (at >= 0) next[at] = condition;
    else next.push(condition);
  }
  return next ?? before;
}

function bounded(sentence: string): string {
  return sentence.length <= MESSAGE_MAX ? sentence : `${sentence.slice(0, MESSAGE_MAX - 3)}...`;
}
