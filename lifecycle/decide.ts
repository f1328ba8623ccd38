/**
 * The decision: the first rule that applies decides (the rule table, `README.md`). Pure and total over the view: no clock, no
 * randomness, no input or output, and it never throws on a view that is what its types say.
 */
import { type Context, contextOf, idle, rest } from "./context.ts";
import { FAMILIES } from "./families/index.ts";
import type { Move, RuleId } from "./move.ts";
import { keepBinding } from "./obligations/binding.ts";
import { supported } from "./obligations/census.ts";
import { newerContract } from "./obligations/contract.ts";
import { advance } from "./obligations/dispatch.ts";
import { mark } from "./obligations/marks.ts";
import { keepFinalizer, restoreFromMirror } from "./obligations/mirror.ts";
import { prove } from "./obligations/prove.ts";
import { nextPruneMs } from "./obligations/prune.ts";
import { answerReadRequest } from "./obligations/readRequest.ts";
import { keepLease } from "./obligations/realm.ts";
import { release } from "./obligations/release.ts";
import { apply, atRest, bareFinalizer, deletion, readings, suspension } from "./obligations/rest.ts";
import { retirePlan } from "./obligations/retirement.ts";
import { revalidateApply, revalidateProof, revalidateRead } from "./obligations/revalidate.ts";
import { settleByPerson } from "./obligations/settle.ts";
import { superviseApply, superviseRead } from "./obligations/supervise.ts";
import type { Tools } from "./tools.ts";
import type { View } from "./view.ts";

export interface Rule {
  readonly id: RuleId;
  /** What the durable state says; cheap, and enough to skip the rule. */
  readonly when: (c: Context) => boolean;
  /** The move, or undefined where the rule has nothing to do after all. */
  readonly decide: (c: Context) => Move | undefined;
}

const always = (): boolean => true;
const dispatchedApply = (c: Context): boolean => c.claim?.type === "Apply" && c.claim.dispatchStarted === true;

/** The table, in order. */
export const RULES: readonly Rule[] = [
  { id: "1", when: always, decide: newerContract },
  { id: "2", when: (c) => c.resource.marks.mirror !== undefined, decide: restoreFromMirror },
  { id: "2b", when: (c) => c.claim !== undefined || c.record !== undefined, decide: keepFinalizer },
  { id: "3", when: (c) => c.status.pendingLockRelease !== undefined, decide: release },
  { id: "3b", when: (c) => c.claim !== undefined || c.record !== undefined, decide: keepLease },
  { id: "4", when: dispatchedApply, decide: (c) => (c.claim === undefined ? undefined : superviseApply(c, c.claim)) },
  { id: "5", when: (c) => c.record !== undefined, decide: settleByPerson },
  { id: "6", when: (c) => c.claim !== undefined, decide: claimed },
  { id: "7", when: always, decide: keepBinding },
  { id: "8", when: (c) => c.record !== undefined, decide: proveAndMark },
  { id: "9", when: (c) => c.resource.deleting, decide: deletion },
  { id: "10", when: (c) => c.resource.finalizer, decide: bareFinalizer },
  { id: "11", when: always, decide: mark },
  { id: "12", when: (c) => c.spec.suspend, decide: suspension },
  { id: "13", when: always, decide: supported },
  { id: "14", when: (c) => c.status.plan !== undefined, decide: retirePlan },
  { id: "15", when: always, decide: readings },
  { id: "16", when: (c) => c.resource.marks.readRequestedAt !== undefined, decide: answerReadRequest },
  { id: "17", when: (c) => c.status.plan !== undefined, decide: apply },
  { id: "18", when: always, decide: atRest },
];

/** An idle move that also ends when rule 11 has something to do again. */
function untilNextMark(c: Context, move: Move): Move {
  if (move.kind !== "wait" && move.kind !== "rest") return move;
  const nextMs = nextPruneMs(c);
  return Number.isFinite(nextMs) && nextMs < (move.untilMs ?? Number.POSITIVE_INFINITY)
    ? { ...move, untilMs: nextMs }
    : move;
}

/** Rule 8: what waits for our mark does not wait for the proof. */
function proveAndMark(c: Context): Move | undefined {
  const move = prove(c);
  return move !== undefined && idle(move) ? (mark(c) ?? untilNextMark(c, move)) : move;
}

/** Rule 6: a claim that is no dispatched Apply is revalidated, then withdrawn, discarded, or advanced. */
function claimed(c: Context): Move | undefined {
  const { claim } = c;
  if (claim === undefined) return undefined;
  if (claim.type === "Apply") return revalidateApply(c, claim) ?? advance(c, claim);
  const ended = claim.proves === undefined ? revalidateRead(c, claim) : revalidateProof(c, claim);
  if (ended !== undefined) return ended;
  return claim.dispatchStarted === true ? superviseRead(c, claim) : advance(c, claim);
}

/**
 * What to do next about one resource.
 * @param view everything that may be seen; see view.ts for how it is filled
 * @param tools digests and templates; `realTools` in the product
 */
export function decide(view: View, tools: Tools): Move {
  return decideWith(RULES, view, tools);
}

/** The decision by another table; how a model shows that a broken rule is caught. */
export function decideWith(rules: readonly Rule[], view: View, tools: Tools): Move {
  const c = contextOf(view, tools, FAMILIES[view.family]);
  let marked = false;
  for (const rule of rules) {
    if (!rule.when(c)) continue;
    const move = rule.decide(c);
    if (move !== undefined) return marked ? untilNextMark(c, move) : move;
    marked ||= rule.id === "11";
  }
  return rest("18", "Pending");
}
