/**
 * Rule 6, first half: whether a claim that may still be given up holds. Withdraw an undispatched Apply, discard a reading,
 * give way between two attempts; a record's reading asks only for its record, Lease, binding and suspension.
 */
import { commandFor } from "../../crds/commands.ts";
import type { Claim } from "../../crds/status/index.ts";
import { type Context, need } from "../context.ts";
import type { Move } from "../move.ts";
import { cycleAt, unansweredRequest } from "../positions.ts";
import type { Cause, Leads } from "../present.ts";
import { ahead, isInstant } from "../time.ts";
import { acceptedOf, approvalFor, authorityReads } from "./authorize.ts";
import { bindingMoved } from "./binding.ts";
import { realmRefusal, unsupported } from "./census.ts";
import { sameSource } from "./cycle.ts";
import { drop } from "./drop.ts";
import { recordInvalidRequest } from "./readRequest.ts";
import { dispatchClosed } from "./realm.ts";

const FIRST = "Resolve";

const dropped = (leads: Leads, reason: string, sentence: string): Cause => ({ at: "dropped", leads, reason, sentence });

/** What a claim that suspension dropped leads to: Suspended, or one pass before it. */
const suspendedBy = (c: Context, owes: boolean): Cause =>
  c.family.suspendLeads === "Suspended"
    ? { at: "suspended", wayOut: owes ? c.family.wayOut(c) : undefined }
    : dropped(c.family.suspendLeads, "Suspended", "spec.suspend asks for it; nothing more is started.");

/** Ends a claim for something anyone may change at any time; undefined when nothing of it happened. */
function commonEnd(c: Context, claim: Claim): Move | undefined {
  if (c.resource.deleting) {
    return drop(c, "6/deletion", claim, {
      set: { cycle: cycleAt(c, undefined) },
      cause: { at: "deleting", held: false, sentence: "Being deleted; nothing was started." },
    });
  }
  if (c.spec.suspend) {
    return drop(c, "6/suspension", claim, {
      set: { cycle: cycleAt(c, undefined) },
      cause: suspendedBy(c, false),
    });
  }
  const begins = { cycle: cycleAt(c, FIRST), retryNotBefore: undefined };
  const refusal = unsupported(c) ?? realmRefusal(c, "6", false);
  if (refusal !== undefined && "look" in refusal) return refusal.look;
  if (refusal !== undefined) {
    return drop(c, "6/refused", claim, { set: begins, cause: dropped("Pending", refusal.reason, refusal.sentence) });
  }
  if (bindingMoved(c, claim.executionBindingID)) {
    return drop(c, "6/binding", claim, {
      set: begins,
      cause: dropped("Pending", "ExecutionBindingChanged", "An execution component changed; the reading starts again."),
    });
  }
  return undefined;
}

/** An ordinary reading: discarded when its inputs moved; between two attempts it also gives way. */
export function revalidateRead(c: Context, claim: Claim): Move | undefined {
  const ended = commonEnd(c, claim);
  if (ended !== undefined) return ended;
  if (claim.generation !== c.resource.generation) {
    return drop(c, "6/inputs", claim, {
      set: { cycle: cycleAt(c, FIRST), retryNotBefore: undefined },
      cause: dropped("Pending", "InputsChanged", "The declaration changed; the reading starts again."),
    });
  }
  if (claim.attempt === 1 || claim.dispatchStarted === true) return undefined;
  return giveWay(c, claim) ?? recordInvalidRequest(c, "6");
}

/** Between two attempts, with no Job of its own: at once for a moved source, at the end of the delay for a request. */
function giveWay(c: Context, claim: Claim): Move | undefined {
  const piece = c.view.source;
  const moved =
    piece === undefined ||
    piece.value.state !== "resolved" ||
    claim.source === undefined ||
    !sameSource(piece.value, claim.source);
  const look = moved ? need(c, "6", { piece: "source" }) : undefined;
  if (look !== undefined) return look;
  const request = unansweredRequest(c);
  const asked = request !== undefined && isInstant(request.value) && !ahead(c.status.retryNotBefore, c.nowMs);
  if (!moved && !asked) return undefined;
  return drop(c, "6/giveway", claim, {
    set: { cycle: cycleAt(c, FIRST), retryNotBefore: undefined },
    cause: { at: "gaveWay" },
    events: [
      { type: "Normal", reason: "ReadRestarted", note: "The failed reading gave way to reading the source again." },
    ],
  });
}

/** A record's reading: its record and binding, and suspension while no Job exists under its name. */
export function revalidateProof(c: Context, claim: Claim): Move | undefined {
  const { record } = c;
  if (record === undefined || record.operationID !== claim.proves) {
    return drop(c, "6/record", claim, {
      set: { cycle: cycleAt(c, FIRST) },
      cause: dropped("Pending", "InputsChanged", "What the reading was to prove is settled."),
    });
  }
  if (bindingMoved(c, claim.executionBindingID)) {
    return drop(c, "6/binding", claim, {
      set: c.family.withRecord({ ...record, next: c.family.proofStart }),
      cause: dropped("Pending", "ExecutionBindingChanged", "An execution component changed; the proof starts again."),
    });
  }
  if (c.spec.suspend && claim.dispatchStarted !== true) {
    return drop(c, "6/suspension", claim, { cause: suspendedBy(c, true) });
  }
  if (claim.dispatchStarted !== true && claim.leaseEpoch !== undefined && record.lease === undefined) {
    return drop(c, "6/lease", claim, {
      cause: dropped(
        "Pending",
        "LeaseContinuityLost",
        "The database realm's Lease changed hands; the proof takes it again.",
      ),
    });
  }
  return claim.dispatchStarted === true || claim.attempt === 1 ? undefined : recordInvalidRequest(c, "6");
}

/** An undispatched Apply: suspension, deletion, engine, realm, binding, its dispatch window, and all that authorised it. */
export function revalidateApply(c: Context, claim: Claim): Move | undefined {
  const ended = commonEnd(c, claim);
  if (ended !== undefined) return ended;
  if (dispatchClosed(claim, c.nowMs)) {
    return withdraw(c, claim, "StalePlan", "The plan could not be started in its time; the database is read again.");
  }
  const { plan } = c.status;
  if (plan === undefined || plan.uid !== claim.plan?.uid || plan.dispatched === true) {
    return withdraw(c, claim, "StalePlan", "The plan does not stand any more; the database is read again.");
  }
  return undefined;
}

/** The same reads that authorised the claim, made again uncached right before what cannot be taken back. */
export function reauthorize(c: Context, claim: Claim): Move | undefined {
  const look = authorityReads(c, "6/authorize");
  if (look !== undefined) return look;
  const refusal = realmRefusal(c, "6/authorize", true);
  if (refusal !== undefined) return "look" in refusal ? refusal.look : commonEnd(c, claim);
  const difference = c.family.planDifference(c);
  if (difference !== undefined) {
    return withdraw(c, claim, "StalePlan", difference.sentence, difference.next === FIRST ? FIRST : undefined);
  }
  if (claim.approval === undefined) {
    return c.family.authorised(c)?.by === "policy" ? undefined : revoked(c, claim, "Policy asks for an approval now.");
  }
  if (c.family.authorised(c) === undefined) return revoked(c, claim, "Policy does not allow the plan any more.");
  const approval = approvalFor(c, claim);
  return approval !== undefined && acceptedOf(approval).uid === claim.approval.uid
    ? undefined
    : revoked(
        c,
        claim,
        `The approval does not hold any more; the plan waits for another: ${commandFor("approve", c.family.name, c.resource)}`,
      );
}

function withdraw(c: Context, claim: Claim, reason: string, sentence: string, next?: typeof FIRST): Move {
  const leads = next === FIRST ? "Pending" : c.family.staleLeads;
  return drop(c, "6/withdraw", claim, {
    set: { cycle: cycleAt(c, next ?? c.family.staleNext), retryNotBefore: undefined },
    cause: dropped(leads, reason, sentence),
    metrics: [{ metric: "applies_total", outcome: "stale" }],
  });
}

function revoked(c: Context, claim: Claim, sentence: string): Move {
  const { leads, next } = c.family.revoked;
  return drop(c, "6/revoked", claim, {
    ...(next === undefined ? {} : { set: { cycle: cycleAt(c, next) } }),
    cause: dropped(leads, "ApprovalRevoked", sentence),
    events: [{ type: "Warning", reason: "ApprovalRevoked", note: `${sentence} No Job was created.` }],
    metrics: [{ metric: "applies_total", outcome: "stale" }],
  });
}
