import { coordinationDigest } from "../../crds/fingerprints.ts";
import type { WebhookConfig } from "../config.ts";
import type { Reads } from "../reads.ts";
import { ALLOWED, deny, firstOf, type ReviewRequest, type Verdict } from "../review.ts";
import { sourceMoved } from "../source.ts";
import type { ApprovalFamily, Approved, Plan } from "./approval-family.ts";
import { writtenByNewer } from "./contract.ts";
import type { Family, Subject } from "./family.ts";
import { keepsWord, stampProblem } from "./person-stamp.ts";
import { lastSpecWriter, WRITER_USERNAME } from "./spec-writer.ts";

/**
 * Judges an approval as it is written, of either family: it must be of the standing plan, and that plan must still fit
 * everything it was computed from. The manager repeats all of it before it dispatches.
 */
export async function reviewApproval<S extends Subject, P extends Plan>(
  request: ReviewRequest,
  reads: Reads,
  config: WebhookConfig,
  now: Date,
  of: ApprovalFamily<S, P>,
): Promise<Verdict> {
  const { kind, noun } = of.family;
  if (request.operation === "UPDATE") {
    const changed = keepsWord(request, of.word);
    return changed === undefined ? ALLOWED : deny(changed, 422);
  }
  const parsed = of.parse(request.object);
  if (!parsed.ok) return deny(parsed.message, 422);
  const approved = parsed.value;
  const unstamped = stampProblem(request, now, of.word);
  if (unstamped !== undefined) return deny(unstamped);
  const [plan, subject] = await Promise.all([
    of.plan(reads, request.namespace, approved.planRef.name),
    of.subject(reads, request.namespace, approved.subject.name),
  ]);
  if (plan === undefined) {
    return deny(`plan "${approved.planRef.name}" does not exist; approve the plan that stands now`, 404);
  }
  if (subject === undefined)
    return deny(`${kind} "${approved.subject.name}" does not exist; check its name and the namespace`, 404);
  const wrong =
    firstOf([
      () => writtenByNewer(plan, config.stateVersion) ?? writtenByNewer(subject, config.stateVersion),
      () => planProblem(approved, plan),
      () => ownerProblem(approved, of, plan, subject),
      () => standingProblem(approved, of, subject),
      () => bindingProblem(request.namespace, of, plan, subject),
      () => policyProblem(of, plan, subject),
      () => distinctProblem(request, of.family, subject, config),
    ]) ?? (await sourceMoved(reads, request.namespace, noun, of.source(subject), plan.spec.source));
  return wrong === undefined ? ALLOWED : deny(wrong);
}

function planProblem(approved: Approved, plan: Plan): string | undefined {
  const name = plan.metadata.name;
  if (plan.metadata.deletionTimestamp !== undefined)
    return `plan "${name}" is being deleted; approve the plan that stands now`;
  if (plan.metadata.uid !== approved.planRef.uid)
    return `plan "${name}" was replaced by another of the same name; read it again`;
  if (plan.spec.fingerprint !== approved.planFingerprint)
    return `plan "${name}" has another fingerprint; read it again`;
  const ready = plan.status?.conditions?.find((condition) => condition.type === "Ready");
  const generation = plan.metadata.generation ?? 0;
  if (ready?.status !== "True" || (plan.status?.observedGeneration ?? generation) !== generation) {
    return `plan "${name}" is not published completely yet; try again when its Ready condition is True`;
  }
  return undefined;
}

function ownerProblem<S extends Subject, P extends Plan>(
  { subject: named }: Approved,
  { subjectOf, family: { kind } }: ApprovalFamily<S, P>,
  plan: P,
  { metadata }: S,
): string | undefined {
  const owner = subjectOf(plan);
  if (owner.name !== named.name || owner.uid !== named.uid)
    return `plan "${plan.metadata.name}" belongs to another ${kind}; approve the plan that its status.plan names`;
  if (metadata.uid !== named.uid)
    return `${kind} "${metadata.name}" was replaced by another of the same name; read it again`;
  if (metadata.deletionTimestamp !== undefined)
    return `${kind} "${metadata.name}" is being deleted; nothing more is applied`;
  return undefined;
}

function standingProblem<S extends Subject, P extends Plan>(
  approved: Approved,
  of: ApprovalFamily<S, P>,
  subject: S,
): string | undefined {
  const { status } = subject;
  const { noun, wayOut } = of.family;
  const standing = status?.plan;
  if (of.record(subject) !== undefined) {
    return `an earlier Apply of this ${noun} is not settled; wait for its proof, or see ${wayOut(subject)}`;
  }
  if (status?.activeOperation?.type === "Apply") {
    return `an Apply of this ${noun} is already under way; wait for its end`;
  }
  if (standing === undefined) return `no plan of this ${noun} waits for a decision; wait for one`;
  if (standing.uid !== approved.planRef.uid || standing.fingerprint !== approved.planFingerprint) {
    return `this plan was superseded; plan "${standing.name}" stands now, read and approve that one`;
  }
  return standing.dispatched === true
    ? "this plan was dispatched once and never runs again; wait for the next plan"
    : undefined;
}

function bindingProblem<S extends Subject, P extends Plan>(
  namespace: string,
  of: ApprovalFamily<S, P>,
  plan: P,
  subject: S,
): string | undefined {
  const { noun } = of.family;
  const wait = "wait for the new plan";
  if (coordinationDigest(namespace, subject.spec.target) !== plan.spec.coordinationDigest) {
    return `the ${noun}'s database realm was changed since the plan was computed; ${wait}`;
  }
  const target = of.readTarget(subject);
  if (target !== undefined && target !== plan.spec.targetIdentityDigest) {
    return `the ${noun}'s connection leads to another database than the plan was computed against; ${wait}`;
  }
  if (subject.status?.executionBinding?.epoch !== plan.spec.executionBindingID) {
    return `the operator's executor was changed since the plan was computed; ${wait}`;
  }
  if (of.policyFingerprint(subject) !== plan.spec.policyFingerprint)
    return `the ${noun}'s policy was changed since the plan was computed; ${wait}`;
  return of.moved(subject, plan);
}

/** An approval that nothing could ever spend would only look like a decision. */
function policyProblem<S extends Subject, P extends Plan>(
  { undecidable, family: { noun } }: ApprovalFamily<S, P>,
  plan: P,
  subject: S,
): string | undefined {
  const why = undecidable(subject, plan);
  if (why === "Always") return "this plan needs no approval: it runs under spec.policy.apply: Always";
  if (why === "Never") return `spec.policy.apply is Never: no plan of this ${noun} is applied; change it first`;
  if (why === "Destructive") {
    return "this plan may lose data and spec.policy.allowDestructive is false; allow it first, or change what is declared";
  }
  return undefined;
}

function distinctProblem(
  request: ReviewRequest,
  { noun }: Family,
  subject: Subject,
  config: WebhookConfig,
): string | undefined {
  if (!config.requireDistinctApprover) return undefined;
  const writer = lastSpecWriter(subject.metadata.annotations);
  if (writer === undefined) {
    return `nobody is known to have written this ${noun}'s spec, so nobody distinct can approve; write its spec again (annotation ${WRITER_USERNAME} is missing)`;
  }
  const sameUid = writer.uid !== "" && writer.uid === request.user.uid;
  if (writer.username === request.user.username || sameUid) {
    return `who last changed the ${noun}'s spec may not approve its plan; ask somebody else`;
  }
  return undefined;
}
