/** Rule 14: a plan that stands retires when what it binds has moved. Its approval does not carry over. */
import { type Context, need, patch } from "../context.ts";
import type { StandingPlan } from "../families/types.ts";
import type { EventIntent, Move } from "../move.ts";
import { cycleAt, earlier } from "../positions.ts";
import { sameSource } from "./cycle.ts";

/** The Event of a plan that stood and was retired. */
export function planRetired(plan: StandingPlan | undefined): readonly EventIntent[] {
  if (plan === undefined) return [];
  return [
    {
      type: "Warning",
      reason: "PlanStale",
      note: `Plan ${plan.name} does not hold any more and never runs; an approval of it does not carry over.`,
    },
  ];
}

/** Uncached reads where the cache speaks against the plan; only they retire it. */
function doubtful(c: Context, plan: StandingPlan): Move | undefined {
  const source = c.view.source?.value;
  const moved = source !== undefined && (source.state !== "resolved" || !sameSource(source, plan.source));
  const owned = c.view.plans?.value;
  const gone = owned !== undefined && !owned.some((other) => other.uid === plan.uid && !other.deleting);
  return (
    (moved ? need(c, "14", { piece: "source" }) : undefined) ??
    (gone ? need(c, "14", { piece: "plan", name: plan.name }) : undefined)
  );
}

export function retirePlan(c: Context): Move | undefined {
  const { plan, cycle } = c.status;
  if (plan === undefined) return undefined;
  const look = doubtful(c, plan);
  if (look !== undefined) return look;
  const difference = c.family.planDifference(c);
  if (difference === undefined) return undefined;
  const next =
    cycle?.next !== undefined && difference.alreadyRead ? cycle.next : earlier(c, difference.next, cycle?.next);
  const leads = next === "Resolve" ? "Pending" : next === "Verify" ? "Verifying" : c.family.staleLeads;
  return patch(c, "14", {
    set: { plan: undefined, cycle: cycleAt(c, next) },
    cause: { at: "planStale", leads, sentence: difference.sentence },
    events: planRetired(plan),
  });
}
