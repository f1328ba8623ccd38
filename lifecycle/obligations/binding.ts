/**
 * Rule 7: the execution binding. Only here are this manager's components compared with what is stored; everything else
 * compares epochs. A change retires the plan and what was read; the retired plan's approvals are marked stale after.
 */
import { type Context, need, patch } from "../context.ts";
import type { Move } from "../move.ts";
import { cycleAt } from "../positions.ts";
import { markStale } from "./marks.ts";
import { planRetired } from "./retirement.ts";

/** Whether the stored binding runs other components than this manager. */
export function componentsMoved(c: Context): boolean {
  const stored = c.status.executionBinding;
  const live = c.view.configuration.components;
  return (
    stored !== undefined &&
    (stored.controllerStateVersion !== live.controllerStateVersion ||
      stored.ptahVersion !== live.ptahVersion ||
      stored.executorImage !== live.executorImage ||
      stored.runnerProtocolVersion !== live.runnerProtocolVersion)
  );
}

/** Whether a claim of this epoch would run under another binding than today's; a change never waits for its Job. */
export function bindingMoved(c: Context, epoch: string): boolean {
  return c.status.executionBinding?.epoch !== epoch || componentsMoved(c);
}

export function keepBinding(c: Context): Move | undefined {
  if (c.resource.deleting && c.record === undefined) return undefined;
  const { executionBinding, pendingBindingRetirement } = c.status;
  if (pendingBindingRetirement !== undefined) return retire(c, pendingBindingRetirement.plan);
  const { components } = c.view.configuration;
  if (executionBinding === undefined) {
    return patch(c, "7/bind", {
      set: { executionBinding: { epoch: c.view.fresh.epoch, ...components } },
      cause: { at: "bound" },
    });
  }
  if (!componentsMoved(c)) return undefined;
  const { plan } = c.status;
  return patch(c, "7/change", {
    set: {
      executionBinding: { epoch: c.view.fresh.epoch, ...components },
      pendingBindingRetirement: {
        retiredEpoch: executionBinding.epoch,
        ...(plan === undefined ? {} : { plan: { name: plan.name, uid: plan.uid, fingerprint: plan.fingerprint } }),
      },
      plan: undefined,
      cycle: cycleAt(c, c.family.reads[0]),
    },
    cause: { at: "bindingChanged" },
    events: [
      {
        type: "Warning",
        reason: "ExecutionBindingChanged",
        note: "An execution component changed; the plan that stood is retired and the database is read again.",
      },
      ...planRetired(plan),
    ],
  });
}

/** Marks the retired plan's approvals stale, one at a time, then clears the retirement. */
function retire(c: Context, plan: { readonly uid: string } | undefined): Move {
  if (plan !== undefined) {
    const look = need(c, "7/retire", { piece: "approvals" });
    if (look !== undefined) return look;
    for (const approval of c.view.approvals?.value ?? []) {
      if (approval.planUID !== plan.uid) continue;
      const mark = markStale(c, "7/retire", approval, "ExecutionBindingChanged");
      if (mark !== undefined) return mark;
    }
  }
  return patch(c, "7/retired", { set: { pendingBindingRetirement: undefined } });
}
