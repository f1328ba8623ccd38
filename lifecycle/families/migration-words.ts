/** Whose word settles a run: an acknowledgment bound to that operation; while deleting, the annotation too. */
import type { Condition } from "../../crds/common.ts";
import type { AcknowledgmentStatus, ApplyRecord } from "../../crds/status/index.ts";
import { type Context, need } from "../context.ts";
import type { Move } from "../move.ts";
import { instantOf, msOf } from "../time.ts";
import type { AcknowledgmentFacts } from "../view.ts";
import type { Word } from "./family.ts";

const names = (c: Context, word: AcknowledgmentFacts): boolean =>
  word.resourceName === c.resource.name && word.resourceUID === c.resource.uid;

export function wordOf(c: Context, record: ApplyRecord): Word | { readonly look: Move } | undefined {
  const { settledApply } = c.resource.marks;
  if (c.resource.deleting && settledApply?.by !== undefined && settledApply.operationID === record.operationID) {
    return { resolution: "Settled", by: settledApply.by };
  }
  const piece = c.view.acknowledgments;
  if (piece === undefined) {
    const look = need(c, "5", { piece: "acknowledgments" });
    return look === undefined ? undefined : { look };
  }
  const said = piece.value.filter(
    (word) => names(c, word) && word.operationID === record.operationID && word.stamped && !word.deleting,
  );
  const first = said.sort(before)[0];
  if (first === undefined) return undefined;
  const { name, uid, by } = first;
  return { resolution: "Acknowledged", by, acknowledgment: { name, uid } };
}

function before(a: AcknowledgmentFacts, b: AcknowledgmentFacts): number {
  const difference = msOf(a.acknowledgedAt) - msOf(b.acknowledgedAt);
  return difference === 0 ? (a.uid < b.uid ? -1 : 1) : difference;
}

/** Consumed where it ended a record; Stale where it names none that stands. */
export function markAcknowledgments(c: Context): Move | undefined {
  const piece = c.view.acknowledgments;
  if (piece === undefined) return need(c, "11/acknowledgments", { piece: "acknowledgments" });
  for (const word of piece.value) {
    const status = word.deleting ? undefined : statusOf(c, word);
    if (status === undefined) continue;
    const { name, uid, resourceVersion } = word;
    return (
      need(c, "11/acknowledgments", { piece: "acknowledgments" }) ?? {
        kind: "markAcknowledgment",
        rule: "11/acknowledgments",
        name,
        uid,
        resourceVersion,
        status,
      }
    );
  }
  return undefined;
}

const says = (word: AcknowledgmentFacts, type: string): boolean =>
  (word.status.conditions ?? []).some((condition) => condition.type === type && condition.status === "True");

function statusOf(c: Context, word: AcknowledgmentFacts): AcknowledgmentStatus | undefined {
  if (c.status.resolvedRun?.acknowledgment?.uid === word.uid) {
    return says(word, "Consumed")
      ? undefined
      : withCondition(c, word, "Consumed", "RunAcknowledged", "It ended the hold of its run.");
  }
  const standing = names(c, word) && word.operationID === c.record?.operationID;
  if (standing || says(word, "Consumed") || says(word, "Stale")) return undefined;
  return withCondition(c, word, "Stale", "RunNotUnresolved", "It names a run that nobody waits for.");
}

function withCondition(
  c: Context,
  word: AcknowledgmentFacts,
  type: string,
  reason: string,
  message: string,
): AcknowledgmentStatus {
  const condition: Condition = {
    type,
    status: "True",
    reason,
    message,
    observedGeneration: word.generation,
    lastTransitionTime: instantOf(Math.floor(c.nowMs / 1000) * 1000),
  };
  const others = (word.status.conditions ?? []).filter((other) => other.type !== type);
  return { ...word.status, conditions: [...others, condition], observedGeneration: word.generation };
}
