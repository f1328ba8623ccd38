/** `kubectl ptah approve`: shows what will run, asks, and approves exactly that plan or nothing. */
import { base32 } from "../crds/names.ts";
import { apiVersionOf, isKubeError, orAbsent } from "../kube/index.ts";
import type { Approval, ShownPlan } from "./approvals.ts";
import { confirm } from "./ask.ts";
import type { Unseen } from "./attention.ts";
import { EXIT, type ExitCode, failed } from "./failure.ts";
import type { Family, Resource, Target } from "./families.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { stuckMessage, type Verdict, waitUntil } from "./wait.ts";

export interface ApproveFlags {
  readonly yes: boolean;
  readonly wait: boolean;
  readonly waitMs: number;
}

const WITHDRAWN = "the attempt that spent the approval was withdrawn before it ran anything; approve again";
const NAME_PART_MAX = 40;
const SUFFIX_BYTES = 5;

/** @throws Failure; nothing was approved then, or its message says that the answer to the create was lost */
export async function approve<T extends Resource>(
  session: Session,
  target: Target<T>,
  flags: ApproveFlags,
): Promise<ExitCode> {
  const { family, name } = target;
  const resource = await readResource(session, target);
  const plan = await family.approvals.show(session, resource);
  refuseUnlessAwaited(resource);
  session.io.stdout(plan.text);
  if (!flags.yes) await ask(session, name, plan);
  const again = await readResource(session, target);
  refuseIfReplaced(family, resource, again, plan);
  refuseUnlessAwaited(again);
  const approval = await create(session, family, again, plan);
  session.io.stdout(`approved: ${approval.metadata.name} for ${plan.name}\n`);
  if (!flags.wait) return EXIT.printed;
  const judge = async (seen: T): Promise<Verdict> => {
    const stored = await reread(session, family, approval);
    const verdict = outcome(family, seen, stored, plan);
    // The approval was read after the resource and may know more: a stop is believed only of a resource read after it.
    return verdict.state === "stopped" ? outcome(family, await readResource(session, target), stored, plan) : verdict;
  };
  session.io.stdout(`${await waitUntil(session, target, flags.waitMs, judge)}\n`);
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

interface NewApproval {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

function newApproval<T extends Resource>(
  session: Session,
  family: Family<T>,
  resource: T,
  plan: ShownPlan,
): NewApproval {
  const random = Uint8Array.from({ length: SUFFIX_BYTES }, () => Math.floor(session.io.random() * 256));
  const part = resource.metadata.name.slice(0, NAME_PART_MAX).replace(/[-.]+$/, "");
  const { kind } = family.approvals;
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name: `${part}-${base32(random)}`, namespace: session.namespace },
    spec: family.approvals.spec(resource, plan),
  };
}

/** A create whose answer was lost is read back by its name, never repeated. */
async function create<T extends Resource>(
  session: Session,
  family: Family<T>,
  resource: T,
  plan: ShownPlan,
): Promise<Approval> {
  const { kind } = family.approvals;
  const body = newApproval(session, family, resource, plan);
  const options = { timeoutMs: session.requestMs };
  try {
    return await session.client.create(kind, session.namespace, body, options);
  } catch (error) {
    if (!isKubeError(error) || error.committed === "no") throw error;
    const stored = await orAbsent(session.client.get(kind, body.metadata, options)).catch(() => undefined);
    if (stored?.spec.planRef.uid === plan.uid) return stored;
    throw failed(
      `the answer was lost; look whether it was stored: kubectl get ${kind.kind.toLowerCase()} ${body.metadata.name} -n ${session.namespace}`,
      error,
    );
  }
}

function reread<T extends Resource>(
  session: Session,
  family: Family<T>,
  approval: Approval,
): Promise<Approval | undefined> {
  const at = { namespace: session.namespace, name: approval.metadata.name };
  return orAbsent(session.client.get(family.approvals.kind, at, { timeoutMs: session.requestMs }));
}

const isTrue = (approval: Approval, type: string): boolean =>
  approval.status?.conditions?.some((condition) => condition.type === type && condition.status === "True") === true;

/** What became of the approved plan. */
function outcome<T extends Resource>(
  family: Family<T>,
  resource: T,
  approval: Approval | undefined,
  plan: ShownPlan,
): Verdict {
  if (approval === undefined) return { state: "stopped", message: "the approval was deleted" };
  const spent = approval.status?.consumedBy !== undefined || isTrue(approval, "Consumed");
  const { status, metadata } = resource;
  const mine = family.approvals.standing(resource)?.uid === plan.uid;
  if (!spent && isTrue(approval, "Stale")) {
    return {
      state: "stopped",
      message: `the plan no longer stood when it was to run; nothing ran. ${stuckMessage(resource)}`,
    };
  }
  const underWay = status?.activeOperation !== undefined || family.record(resource) !== undefined;
  if (spent && !underWay && !mine && status?.phase === "InSync")
    return { state: "done", message: family.approvals.proved(resource, plan) };
  if (status?.phase === "Suspended") return { state: "stopped", message: stuckMessage(resource) };
  if (status?.phase === "Blocked" && (!spent || !mine)) return { state: "stopped", message: stuckMessage(resource) };
  if (spent && !underWay && status?.phase === "AwaitingApproval") {
    if (mine) return { state: "stopped", message: WITHDRAWN };
    return {
      state: "stopped",
      message: `the plan ran and changes remain; a new plan waits: kubectl ptah ${family.planCommand} ${metadata.name}`,
    };
  }
  return { state: "going", ...unseenApproval(approval) };
}

/** An approval without any condition has been looked at by nobody. */
function unseenApproval({ metadata, status }: Approval): { unseen?: Unseen } {
  const sinceMs = Date.parse(metadata.creationTimestamp ?? "");
  if ((status?.conditions ?? []).length > 0 || status?.consumedBy !== undefined || Number.isNaN(sinceMs)) return {};
  return { unseen: { what: `the approval ${metadata.name}`, sinceMs } };
}
