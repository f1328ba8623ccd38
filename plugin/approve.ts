/** `kubectl ptah approve`: shows what will run, asks, and approves exactly that plan or nothing. */
import { bareCommandFor } from "../crds/commands.ts";
import { orAbsent } from "../kube/index.ts";
import { APPROVED, type Approval, isSpent, isStale, type ShownPlan } from "./approvals.ts";
import { confirm, type DecisionFlags, refuseUnasked } from "./ask.ts";
import type { Unseen } from "./attention.ts";
import { createNamed } from "./create.ts";
import { EXIT, type ExitCode, failed } from "./failure.ts";
import type { Family, Resource, Target } from "./families.ts";
import { lastApply } from "./lastapply.ts";
import { limits } from "./limits.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { mindTrouble, readingComes, settledDown, stuckMessage, type Verdict, waitUntil } from "./wait.ts";

const WITHDRAWN = "the attempt that spent the approval was withdrawn before it ran anything; approve again";

/** @throws Failure; nothing was approved then, or its message says that the answer to the create was lost */
export async function approve<T extends Resource>(
  session: Session,
  target: Target<T>,
  flags: DecisionFlags,
): Promise<ExitCode> {
  const { family, name } = target;
  const resource = await readResource(session, target);
  const plan = await family.approvals.show(session, resource);
  refuseUnlessAwaited(resource);
  // A plan under an error reads as if it had been dealt with; whoever only wants to read it has `plan`.
  if (!flags.yes) refuseUnasked(session.io);
  session.io.stdout(plan.text);
  if (!flags.yes) await ask(session, name, plan);
  const again = await readResource(session, target);
  refuseIfReplaced(family, resource, again, plan);
  refuseUnlessAwaited(again);
  const approval = await createNamed(session, family.approvals.kind, {
    from: name,
    spec: family.approvals.spec(again, plan),
    isIt: (stored) => stored.spec.planRef.uid === plan.uid,
  });
  session.io.stdout(`approved: ${approval.metadata.name} for ${plan.name}\n`);
  if (!flags.wait) return EXIT.printed;
  let passingSinceMs: number | undefined;
  const judge = async (seen: T): Promise<Verdict> => {
    const stored = await reread(session, family, approval);
    const first = outcome(family, seen, stored, plan);
    if (first.state !== "stopped") return first;
    // The approval was read after the resource and may know more: a stop is believed only of a resource read after it.
    const now = await readResource(session, target);
    const verdict = outcome(family, now, stored, plan);
    if (verdict.state !== "stopped" || !readingComes(family, now)) return verdict;
    const nowMs = session.io.monotonicMs();
    passingSinceMs ??= nowMs;
    return nowMs - passingSinceMs >= limits.heldMs ? verdict : { state: "going" };
  };
  session.io.stdout(`${await waitUntil(session, target, flags.waitMs, mindTrouble(session, family, judge, again))}\n`);
  return EXIT.printed;
}

function refuseUnlessAwaited(resource: Resource): void {
  const required = conditionOf(resource, "ApprovalRequired");
  if (resource.status?.phase === "AwaitingApproval" && required?.status === "True") return;
  throw failed(`no plan waits for an approval, nothing was approved: ${stuckMessage(resource)}`);
}

function refuseIfReplaced<T extends Resource>(family: Family<T>, before: T, now: T, plan: ShownPlan): void {
  const standing = family.approvals.standing(now);
  const same =
    now.metadata.uid === before.metadata.uid && standing?.uid === plan.uid && standing.fingerprint === plan.fingerprint;
  if (!same)
    throw failed("the plan was replaced while it was read; nothing was approved. Read the new one and decide again.");
}

async function ask(session: Session, name: string, { losing, what }: ShownPlan): Promise<void> {
  const question = `Run ${what} on the database of ${session.namespace}/${name}?`;
  await confirm(session.io, losing ? `This plan may LOSE DATA. ${question}` : question, losing ? name : "yes");
}

function reread<T extends Resource>(
  session: Session,
  family: Family<T>,
  approval: Approval,
): Promise<Approval | undefined> {
  const at = { namespace: session.namespace, name: approval.metadata.name };
  return orAbsent(session.client.get(family.approvals.kind, at, { timeoutMs: session.requestMs }));
}

/** What became of the approved plan. */
function outcome<T extends Resource>(
  family: Family<T>,
  resource: T,
  approval: Approval | undefined,
  plan: ShownPlan,
): Verdict {
  if (approval === undefined) return { state: "stopped", message: "the approval was deleted" };
  const spent = isSpent(approval);
  const { status } = resource;
  const mine = family.approvals.standing(resource)?.uid === plan.uid;
  if (!spent && isStale(approval)) {
    return {
      state: "stopped",
      message: `the plan no longer stood when it was to run; nothing ran. ${stuckMessage(resource)}`,
    };
  }
  const underWay = status?.activeOperation !== undefined || family.record(resource) !== undefined;
  if (spent && !underWay && !mine && status?.phase === "InSync")
    return { state: "done", message: family.approvals.proved(resource, plan) };
  const ended = !mine && (settledDown(resource) || status?.phase === "Failed");
  const short = ended ? family.approvals.fellShort(resource, plan) : undefined;
  if (short !== undefined) return { state: "stopped", message: `${short}. ${stuckMessage(resource)}` };
  if (status?.phase === "Suspended") return { state: "stopped", message: stuckMessage(resource) };
  if (status?.phase === "Blocked" && (!spent || !mine)) return { state: "stopped", message: stuckMessage(resource) };
  if (spent && !underWay && status?.phase === "AwaitingApproval") {
    if (mine) return { state: "stopped", message: WITHDRAWN };
    return { state: "stopped", message: ranInVain(family, resource) };
  }
  return { state: "going", ...underApproval(resource, spent), ...unseenApproval(approval) };
}

/** Until its Job runs a resource says that its plan waits for an approval, to somebody who has just given it. */
function underApproval({ status }: Resource, spent: boolean): { line?: string } {
  if (status?.phase !== "AwaitingApproval") return {};
  return { line: spent ? "dispatched" : APPROVED };
}

/** The approved plan was dispatched, and another waits. */
function ranInVain(family: Family, resource: Resource): string {
  const last = lastApply(resource);
  if (last !== undefined)
    return `the plan ${last.refused ? "was refused and nothing of it ran" : "failed"}: ${stuckMessage(resource)}`;
  return `the plan ran and changes remain; a new plan waits: ${bareCommandFor(family.planCommand, resource.metadata)}`;
}

/** An approval without any condition has been looked at by nobody. */
function unseenApproval({ metadata, status }: Approval): { unseen?: Unseen } {
  const sinceMs = Date.parse(metadata.creationTimestamp ?? "");
  if ((status?.conditions ?? []).length > 0 || status?.consumedBy !== undefined || Number.isNaN(sinceMs)) return {};
  return { unseen: { what: `the approval ${metadata.name}`, sinceMs } };
}
