/**
 * Rule 6, second half: from a claim that holds to its Job. For an Apply: realm, projections, envelope, authority again,
 * mirror, consumed approval, dispatch; a reading skips what only an Apply has. `dispatchStarted`, then the one create.
 */
import { annotation, chunkName } from "../../crds/names.ts";
import type { Claim, JournalEntry } from "../../crds/status/index.ts";
import { type Context, dispatchMove, need, patchMetadata, wait } from "../context.ts";
import type { Move } from "../move.ts";
import { ahead, instantOf, msOf } from "../time.ts";
import { approvalFor } from "./authorize.ts";
import { enveloped, unbuilt } from "./envelope.ts";
import { approvalStatus } from "./marks.ts";
import { mirrorOfClaim, mirrorText } from "./mirror.ts";
import { bindRealm, nextRenewalMs } from "./realm.ts";
import { reauthorize } from "./revalidate.ts";

/** Advances an undispatched claim by one effect. */
export function advance(c: Context, claim: Claim): Move {
  const { retryNotBefore } = c.status;
  if (ahead(retryNotBefore, c.nowMs)) {
    return wait("6/retry", "the retry delay", Math.min(msOf(retryNotBefore ?? ""), nextRenewalMs(c)));
  }
  const realm = bindRealm(c, "6/realm", claim);
  if (realm !== undefined) return realm;
  if (claim.type === "Apply") {
    const projections = project(c, claim);
    if (projections !== undefined) return projections;
  }
  const ready = enveloped(c, claim);
  if ("move" in ready) return ready.move;
  if (claim.type === "Apply") {
    const before = commit(c, claim);
    if (before !== undefined) return before;
  }
  return dispatchMove(c, "6/dispatch", dispatchChange(c, claim), ready.job);
}

/** Chunk projections: created and read back, immutable, owned by the plan. */
function project(c: Context, claim: Claim): Move | undefined {
  const { plan } = claim;
  if (plan === undefined || !c.family.projectsPlan) return undefined;
  const look = need(c, "6/project", { piece: "plan", name: plan.name }, { piece: "projections", planName: plan.name });
  if (look !== undefined) return look;
  const object = c.view.plan?.value.object;
  if (object === null || object === undefined || object.uid !== plan.uid) return reauthorize(c, claim);
  for (const chunk of c.family.chunksOf(object.spec)) {
    const name = chunkName(plan.name, chunk.index);
    const projection = c.view.projections?.value.find((p) => p.name === name);
    if (projection === undefined) {
      const { index, digest } = chunk;
      return {
        kind: "createProjection",
        rule: "6/project",
        planName: plan.name,
        planUID: plan.uid,
        index,
        name,
        digest,
      };
    }
    const right = projection.immutable && projection.digest === chunk.digest && projection.planUID === plan.uid;
    if (!right || projection.deleting) {
      return unbuilt(c, claim, `ConfigMap ${name} is not the plan's chunk it should be. Delete it; it is made anew.`);
    }
  }
  return undefined;
}

/** What an Apply still needs right before its dispatch: authority re-read, no Job of its name, the mirror, its approval spent. */
function commit(c: Context, claim: Claim): Move | undefined {
  const refused = reauthorize(c, claim);
  if (refused !== undefined) return refused;
  const look = need(c, "6/commit", { piece: "job", name: claim.jobName });
  if (look !== undefined) return look;
  if (c.view.job?.value.job !== null && c.view.job?.value.job !== undefined) {
    return c.family.conclude(c, "6/strange", claim, {
      unknown: true,
      uncertain: true,
      sentence: "A Job nobody recorded stands under the Apply's name; what it did is read from the database.",
    });
  }
  return mirrored(c, claim) ?? consumed(c, claim);
}

function mirrored(c: Context, claim: Claim): Move | undefined {
  const mark = c.resource.marks.mirror;
  const wanted = mirrorOfClaim(c, claim);
  if (wanted === undefined)
    return unbuilt(c, claim, "The claim lacks what its mirror has to say; it is prepared anew.");
  const there =
    mark?.state === "read" &&
    mark.mirror.operationID === claim.id &&
    mark.mirror.executionNotAfter === wanted.executionNotAfter;
  if (there) return undefined;
  return patchMetadata(c, "6/mirror", { annotations: { [annotation.unsettledApply]: mirrorText(wanted) } });
}

/** Consumption is evidence that a decision was spent; only the claim it names may still go on. */
function consumed(c: Context, claim: Claim): Move | undefined {
  if (claim.approval === undefined) return undefined;
  const approval = approvalFor(c, claim);
  if (approval === undefined || approval.status.consumedBy?.operationID === claim.id) return undefined;
  const sentence = "This approval was spent on one dispatch.";
  const marked = approvalStatus(c, approval, [["Consumed", "True", "DispatchCommitted", sentence]]) ?? approval.status;
  const { name, uid, resourceVersion } = approval;
  return {
    kind: "consumeApproval",
    rule: "6/consume",
    name,
    uid,
    resourceVersion,
    status: { ...marked, consumedBy: { operationID: claim.id, jobName: claim.jobName, at: instantOf(c.nowMs) } },
  };
}

function dispatchChange(c: Context, claim: Claim) {
  const { plan } = c.status;
  const started = { activeOperation: { ...claim, dispatchStarted: true, dispatchedAt: instantOf(c.nowMs) } };
  if (claim.type !== "Apply" || plan === undefined) return { set: started };
  const approval = claim.approval === undefined ? {} : { approval: claim.approval };
  return {
    set: { ...started, plan: { ...plan, dispatched: true, ...approval } },
    journal: approvalEntries(c, claim),
    ...(claim.approval === undefined
      ? {}
      : {
          events: [
            {
              type: "Normal" as const,
              reason: "ApprovalAccepted",
              note: `${claim.approval.approver.username} approved the plan; it is dispatched once.`,
            },
          ],
        }),
  };
}

function approvalEntries(c: Context, claim: Claim): readonly JournalEntry[] {
  const { approval, plan } = claim;
  if (approval === undefined || plan === undefined) return [];
  return [
    {
      type: "ApprovalAccepted",
      time: instantOf(c.nowMs),
      plan,
      approvalName: approval.name,
      approvalUID: approval.uid,
      approver: approval.approver,
      operationID: claim.id,
    },
  ];
}
