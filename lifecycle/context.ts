/** One decision's context, and the few ways a rule turns it into a Move. */

import type { ApplyRecord, Claim, JournalEntry } from "../crds/status/index.ts";
import type { Family } from "./families/family.ts";
import type { Spec, Status } from "./families/types.ts";
import { journalWith } from "./journal.ts";
import type {
  ClaimMove,
  Dispatch,
  EventIntent,
  Look,
  LookItem,
  MetricTransition,
  Move,
  PatchMetadata,
  PatchStatus,
  Rest,
  RuleId,
  Wait,
} from "./move.ts";
import { type Cause, present } from "./present.ts";
import { instantOf } from "./time.ts";
import type { Tools } from "./tools.ts";
import type { ResourceFacts, View } from "./view.ts";

export type { Status } from "./families/types.ts";

export interface Context {
  readonly view: View;
  readonly tools: Tools;
  readonly family: Family;
  readonly resource: ResourceFacts;
  readonly spec: Spec;
  readonly status: Status;
  readonly claim: Claim | undefined;
  readonly record: ApplyRecord | undefined;
  readonly nowMs: number;
}

export function contextOf(view: View, tools: Tools, family: Family): Context {
  const resource = view.resource.value;
  const { status } = resource;
  return {
    view,
    tools,
    family,
    resource,
    spec: resource.spec,
    status,
    claim: status.activeOperation,
    record: family.record(status),
    nowMs: view.now.wallMs,
  };
}

/** What a patch of the status changes. A member set to undefined clears the field. */
export interface Change {
  readonly set?: Partial<Status>;
  /** What happened, for phase and conditions; absent where a reader need not know. */
  readonly cause?: Cause;
  readonly journal?: readonly JournalEntry[];
  readonly events?: readonly EventIntent[];
  readonly metrics?: readonly MetricTransition[];
}

/** The whole second an instant lies in, as object times have it; so no entry of an object is older than its journal. */
const secondOf = (ms: number): string => instantOf(Math.floor(ms / 1000) * 1000);

/** The status after a change: fields, journal, then what people read. The same object when nothing changes. */
export function statusAfter(c: Context, change: Change): Status {
  let next: Status = c.status;
  if (change.set !== undefined) next = { ...next, ...change.set };
  if (!c.tools.narrate) return next;
  if (next.journal === undefined && next !== c.status) next = { ...next, journal: { coveredSince: secondOf(c.nowMs) } };
  if (change.journal !== undefined && change.journal.length > 0) {
    next = { ...next, journal: journalWith(next.journal, change.journal, c.nowMs) };
  }
  return change.cause === undefined ? next : present(c, next, change.cause);
}

const extras = (change: Pick<Change, "events" | "metrics">) => ({
  ...(change.events === undefined ? {} : { events: change.events }),
  ...(change.metrics === undefined ? {} : { metrics: change.metrics }),
});

const onResource = (c: Context) => ({ uid: c.resource.uid, resourceVersion: c.resource.resourceVersion });

/** One status patch. */
export function patch(c: Context, rule: RuleId, change: Change): PatchStatus {
  return { kind: "patchStatus", rule, ...onResource(c), status: statusAfter(c, change), ...extras(change) };
}

/** A status patch if it says anything new, for rules that only rest. */
export function patchIfNew(c: Context, rule: RuleId, change: Change): PatchStatus | undefined {
  const status = statusAfter(c, change);
  return status === c.status ? undefined : { kind: "patchStatus", rule, ...onResource(c), status, ...extras(change) };
}

export function claimMove(c: Context, rule: RuleId, change: Change): ClaimMove {
  const status = statusAfter(c, change);
  return { kind: "claim", rule, ...onResource(c), finalizer: !c.resource.finalizer, status, ...extras(change) };
}

export function dispatchMove(c: Context, rule: RuleId, change: Change, job: Dispatch["job"]): Dispatch {
  return { kind: "dispatch", rule, ...onResource(c), status: statusAfter(c, change), job, ...extras(change) };
}

export function patchMetadata(
  c: Context,
  rule: RuleId,
  change: Pick<PatchMetadata, "finalizer" | "annotations" | "events">,
): PatchMetadata {
  return { kind: "patchMetadata", rule, ...onResource(c), ...change };
}

export function wait(rule: RuleId, until: string, untilMs: number, read?: Wait["read"]): Wait {
  return { kind: "wait", rule, until, untilMs, ...(read === undefined ? {} : { read }) };
}

export function rest(rule: RuleId, verdict: string, untilMs?: number): Rest {
  return { kind: "rest", rule, verdict, ...(untilMs === undefined ? {} : { untilMs }) };
}

/** Whether a piece was read for this decision, uncached, and is the one meant. */
function fresh(view: View, item: LookItem): boolean {
  switch (item.piece) {
    case "plan":
      return view.plan?.how === "fresh" && view.plan.value.name === item.name;
    case "job":
    case "recordJob": {
      const job = view[item.piece];
      return job?.how === "fresh" && job.value.name === item.name;
    }
    case "pods":
    case "recordPods": {
      const pods = view[item.piece];
      return pods?.how === "fresh" && pods.value.jobName === item.jobName;
    }
    case "lease":
      return view.lease?.how === "fresh" && view.lease.value.digest === item.digest;
    case "foreignHolder":
      return view.foreignHolder?.value.holder === item.holder;
    default:
      return view[item.piece]?.how === "fresh";
  }
}

/** A look for those of the pieces that were not read uncached yet; undefined when all were. */
export function need(c: Context, rule: RuleId, ...items: readonly LookItem[]): Look | undefined {
  let missing: LookItem[] | undefined;
  for (const item of items) {
    if (fresh(c.view, item)) continue;
    missing ??= [];
    missing.push(item);
  }
  return missing === undefined ? undefined : { kind: "look", rule, what: missing };
}

/** Whether a move ends the pass without an effect. */
export function idle(move: Move): boolean {
  return move.kind === "wait" || move.kind === "rest";
}
