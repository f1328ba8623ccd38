/**
 * Rule 11: what waits for our mark. Idempotent, in any order, and decided from the cache where an old view can do no harm:
 * an approval's conditions authorise nothing, a TTL collects only what is finished.
 */

import type { Condition } from "../../crds/common.ts";
import { annotation } from "../../crds/names.ts";
import type { ApprovalStatus, Mirror } from "../../crds/status/index.ts";
import { type Context, need, patchMetadata } from "../context.ts";
import { JOB_KEPT_SECONDS } from "../limits.ts";
import type { Move, RuleId } from "../move.ts";
import { instantOf } from "../time.ts";
import type { ApprovalFacts } from "../view.ts";
import { namesStandingPlan } from "./authorize.ts";
import { mirrorOfRecord, mirrorText } from "./mirror.ts";
import { prune } from "./prune.ts";

export function mark(c: Context): Move | undefined {
  return markApprovals(c) ?? c.family.markWords(c) ?? markSettled(c) ?? markMirror(c) ?? scheduleTtls(c) ?? prune(c);
}

type Line = readonly [type: string, status: "True" | "False", reason: string, sentence: string];

function markApprovals(c: Context): Move | undefined {
  const piece = c.view.approvals;
  if (piece === undefined) return need(c, "11/approvals", { piece: "approvals" });
  for (const approval of piece.value) {
    const move = markApproval(c, approval);
    if (move === undefined) continue;
    return need(c, "11/approvals", { piece: "approvals" }) ?? move;
  }
  return undefined;
}

function markApproval(c: Context, approval: ApprovalFacts): Move | undefined {
  if (approval.deleting) return undefined;
  if (!namesStandingPlan(c, approval)) return markStale(c, "11/approvals", approval, "PlanNoLongerCurrent");
  if (approval.status.consumedBy !== undefined) return undefined;
  return writeMarks(c, "11/approvals", approval, [
    ["Accepted", "True", "CurrentPlan", "The approval is for the plan that stands."],
    ["Stale", "False", "CurrentPlan", "The approval is for the plan that stands."],
  ]);
}

/** Accepted=False and Stale=True, kept beside Consumed; undefined where the approval says so already. */
export function markStale(c: Context, rule: RuleId, approval: ApprovalFacts, reason: string): Move | undefined {
  const sentence =
    approval.status.consumedBy !== undefined
      ? "Spent by one dispatch. The approved plan no longer matches what is declared and what the database holds, and nothing is left to do with it."
      : reason === "ExecutionBindingChanged"
        ? "An execution component changed; the plan this approval names was retired. Approve the new plan."
        : "The approved plan no longer matches what is declared and what the database holds. Approve the plan that stands, if there is one.";
  const said = approval.status.conditions?.find((condition) => condition.type === "Stale");
  if (said?.status === "True") return undefined;
  return writeMarks(c, rule, approval, [
    ["Accepted", "False", reason, sentence],
    ["Stale", "True", reason, sentence],
  ]);
}

function writeMarks(c: Context, rule: RuleId, approval: ApprovalFacts, lines: readonly Line[]): Move | undefined {
  const status = approvalStatus(c, approval, lines);
  if (status === undefined) return undefined;
  const stale = lines.some(([type, value]) => type === "Stale" && value === "True");
  const { name, uid, resourceVersion } = approval;
  return {
    kind: "markApproval",
    rule,
    name,
    uid,
    resourceVersion,
    status,
    metrics: [{ metric: "approvals_total", outcome: stale ? "stale" : "accepted" }],
    // An approval that was spent goes stale as it should: that is nobody's warning.
    ...(stale && approval.status.consumedBy === undefined
      ? {
          events: [
            {
              type: "Warning" as const,
              reason: "ApprovalStale",
              note: "The approval names a plan that does not stand any more.",
              approval: { name, uid },
            },
          ],
        }
      : {}),
  };
}

/** An approval's status with these conditions; undefined when it says all of it already. */
export function approvalStatus(
  c: Context,
  approval: ApprovalFacts,
  lines: readonly Line[],
): ApprovalStatus | undefined {
  const before = approval.status.conditions ?? [];
  const { generation } = approval;
  let conditions: Condition[] | undefined;
  for (const [type, status, reason, message] of lines) {
    const old = before.find((condition) => condition.type === type);
    if (old?.status === status && old.reason === reason && old.message === message) continue;
    const condition: Condition = {
      type,
      status,
      reason,
      message,
      observedGeneration: generation,
      lastTransitionTime:
        old?.status === status ? old.lastTransitionTime : instantOf(Math.floor(c.nowMs / 1000) * 1000),
    };
    conditions = [...(conditions ?? before).filter((other) => other.type !== type), condition];
  }
  return conditions === undefined ? undefined : { ...approval.status, conditions, observedGeneration: generation };
}

function markSettled(c: Context): Move | undefined {
  const { settledApply } = c.resource.marks;
  if (settledApply === undefined || settledApply.operationID === c.record?.operationID) return undefined;
  return patchMetadata(c, "11/settled", {
    annotations: { [annotation.settledApply]: null, [annotation.settledApplyBy]: null },
  });
}

/** The mirror says no less than its record: outcome, Job and when it was recorded. */
export function markMirror(c: Context): Move | undefined {
  const { record } = c;
  const { mirror: mark } = c.resource.marks;
  if (record === undefined || c.resource.deleting) return undefined;
  const wanted = mirrorOfRecord(c, record, mark?.state === "read" ? mark.mirror : undefined);
  if (wanted === undefined || (mark?.state === "read" && sameMirror(mark.mirror, wanted))) return undefined;
  return patchMetadata(c, "11/mirror", { annotations: { [annotation.unsettledApply]: mirrorText(wanted) } });
}

function sameMirror(a: Mirror, b: Mirror): boolean {
  return (
    a.operationID === b.operationID && a.outcome === b.outcome && a.jobUID === b.jobUID && a.recordedAt === b.recordedAt
  );
}

/** A finished Job of ours that no claim names is kept for a while and then collected. */
function scheduleTtls(c: Context): Move | undefined {
  for (const job of c.view.ownedJobs?.value ?? []) {
    const finished = job.terminal !== undefined && job.finishedAtMs !== undefined;
    if (!finished || job.ttlSeconds !== undefined || job.deleting || job.ownerUID !== c.resource.uid) continue;
    if (job.name === c.claim?.jobName) continue;
    return {
      kind: "scheduleTtl",
      rule: "11/ttl",
      jobName: job.name,
      jobUID: job.uid,
      ttlSeconds: ttlSeconds(c, job.finishedAtMs ?? c.nowMs, JOB_KEPT_SECONDS),
    };
  }
  return undefined;
}

/** The TTL counts from now, although Kubernetes counts from the finish. */
export function ttlSeconds(c: Context, finishedAtMs: number, keptSeconds: number): number {
  return Math.max(0, Math.ceil((c.nowMs - finishedAtMs) / 1000)) + keptSeconds;
}
