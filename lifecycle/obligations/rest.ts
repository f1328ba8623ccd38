/** Rules 9, 10, 12, 17 and 18, and rule 15's claim: what is left once nothing is owed. */
import { type Context, claimMove, patchIfNew, patchMetadata, rest } from "../context.ts";
import type { ReadType } from "../families/family.ts";
import type { Move } from "../move.ts";
import { cycleAt, cycleUnderWay, unansweredRequest } from "../positions.ts";
import { ahead, msOf } from "../time.ts";
import { acceptedOf, approvalFor, authorityReads } from "./authorize.ts";
import { realmRefusal } from "./census.ts";
import { newClaim } from "./claim.ts";
import { begin, due, sourceNews, waitForRetry } from "./cycle.ts";

/** Rule 9: nothing is ever undone in the database; a record is proved or settled first, by rules 5 and 8. */
export function deletion(c: Context): Move | undefined {
  if (!c.resource.deleting) return undefined;
  if (c.record !== undefined) return heldDeletion(c);
  return c.resource.finalizer ? patchMetadata(c, "9", { finalizer: "remove" }) : rest("9", "Deleting");
}

/** A record holds deletion: people read how to end it, and its reading comes again at its instant. */
function heldDeletion(c: Context): Move {
  const sentence = `Being deleted; an Apply is not accounted for and holds that until a reading settles it. Once it is known what it did, end it with ${c.family.wayOut(c)}.`;
  const told = patchIfNew(c, "9", { cause: { at: "deleting", held: true, sentence } });
  const { nextReconciliationTime } = c.status;
  return told ?? rest("9", "Blocked", nextReconciliationTime === undefined ? undefined : msOf(nextReconciliationTime));
}

/** Rule 10: a bare finalizer, left by a stop between the two effects of a claim, or of a cycle that ended. */
export function bareFinalizer(c: Context): Move | undefined {
  if (!c.resource.finalizer || c.claim !== undefined || c.record !== undefined || cycleUnderWay(c)) return undefined;
  return patchMetadata(c, "10", { finalizer: "remove" });
}

/** Rule 12. */
export function suspension(c: Context): Move | undefined {
  if (!c.spec.suspend) return undefined;
  const underWay = c.status.cycle?.next !== undefined;
  const set = {
    ...(underWay ? { cycle: cycleAt(c, undefined) } : {}),
    ...(c.status.nextReconciliationTime === undefined ? {} : { nextReconciliationTime: undefined }),
  };
  const wayOut = c.record === undefined ? undefined : c.family.wayOut(c);
  const change = { cause: { at: "suspended", wayOut } } as const;
  const told = patchIfNew(c, "12", Object.keys(set).length === 0 ? change : { ...change, set });
  return told ?? rest("12", "Suspended");
}

/** Rule 15. */
export function readings(c: Context): Move | undefined {
  const news = sourceNews(c, "15");
  if ("look" in news) return news.look;
  const next = due(c, news.moved);
  switch (next.kind) {
    case "none":
      return undefined;
    case "waiting":
      return waitForRetry("15", next.untilMs);
    case "begin":
      return begin(c, "15");
    case "read":
      return claimRead(c, next.read);
  }
}

function claimRead(c: Context, read: ReadType): Move {
  const wanted = c.family.readInputs(c, "15", read);
  if ("look" in wanted) return wanted.look;
  const claim = newClaim(c, wanted.inputs);
  return claimMove(c, `15/${read.toLowerCase()}`, {
    set: {
      activeOperation: claim,
      cycle: cycleAt(c, undefined),
      lastAttemptTime: claim.startedAt,
      retryNotBefore: undefined,
      ...(claim.planSerial === undefined ? {} : { planSerial: claim.planSerial }),
    },
    cause: { at: "claimed", type: claim.type, proving: false, approved: false },
  });
}

/** Rule 17: the single replay guard. The plan stands, was never dispatched, no record stands, and somebody decided it. */
export function apply(c: Context): Move | undefined {
  const { plan } = c.status;
  if (plan === undefined || plan.dispatched === true || c.record !== undefined) return undefined;
  const authorised = c.family.authorised(c);
  if (authorised === undefined) return undefined;
  if (authorised.by === "approval" && approvalFor(c, undefined) === undefined) return undefined;
  const { retryNotBefore } = c.status;
  if (ahead(retryNotBefore, c.nowMs)) return waitForRetry("17", msOf(retryNotBefore ?? ""));
  const look = authorityReads(c, "17");
  if (look !== undefined) return look;
  const refusal = realmRefusal(c, "17", true);
  if (refusal !== undefined) return "look" in refusal ? refusal.look : undefined;
  const approval = authorised.by === "approval" ? approvalFor(c, undefined) : undefined;
  const inputs = c.family.applyInputs(c, approval === undefined ? undefined : acceptedOf(approval));
  if (inputs === undefined) return undefined;
  const claim = newClaim(c, inputs);
  return claimMove(c, "17", {
    set: { activeOperation: claim, lastAttemptTime: claim.startedAt, retryNotBefore: undefined },
    cause: { at: "claimed", type: "Apply", proving: false, approved: approval !== undefined },
  });
}

/** Rule 18. */
export function atRest(c: Context): Move {
  const { verdict, cause } = c.family.restsIn(c);
  const told = cause === undefined ? undefined : patchIfNew(c, "18", { cause });
  if (told !== undefined) return told;
  const next = due(c, false);
  if (next.kind !== "none") return rest("18", verdict);
  const { retryNotBefore } = c.status;
  // A request that came during a retry delay is answered when that ends, not at the interval.
  const asked = unansweredRequest(c) !== undefined && ahead(retryNotBefore, c.nowMs);
  return rest("18", verdict, asked ? Math.min(next.againMs ?? Infinity, msOf(retryNotBefore ?? "")) : next.againMs);
}
