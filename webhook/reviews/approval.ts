import { parsePtahSchemaApproval } from "../../crds/fields.ts";
import { coordinationDigest, schemaPolicyFingerprint } from "../../crds/fingerprints.ts";
import type { PtahSchema } from "../../crds/ptahschema.ts";
import type { PtahSchemaApproval } from "../../crds/ptahschemaapproval.ts";
import type { PtahSchemaPlan } from "../../crds/ptahschemaplan.ts";
import type { Custom } from "../../kube/index.ts";
import { judgePlan } from "../../lifecycle/policy.ts";
import type { WebhookConfig } from "../config.ts";
import { limits } from "../limits.ts";
import type { Reads } from "../reads.ts";
import { ALLOWED, deny, firstOf, type ReviewRequest, type Verdict } from "../review.ts";
import { sourceMoved } from "../source.ts";
import { identityOf } from "./identity.ts";
import { same } from "./same.ts";
import { lastSpecWriter, WRITER_USERNAME } from "./spec-writer.ts";

/**
 * Judges an approval as it is written: it must be of the standing plan, and that plan must still fit everything it was
 * computed from. The manager repeats all of it before it dispatches.
 */
export async function reviewApproval(
  request: ReviewRequest,
  reads: Reads,
  config: WebhookConfig,
  now: Date,
): Promise<Verdict> {
  if (request.operation === "UPDATE") {
    return same(request.object["spec"], request.oldObject?.["spec"])
      ? ALLOWED
      : deny("an approval's spec cannot be changed; create another approval", 422);
  }
  const parsed = parsePtahSchemaApproval(request.object);
  if (!parsed.ok) return deny(parsed.message, 422);
  const { spec } = parsed.value;
  const unstamped = stampProblem(spec, request, now);
  if (unstamped !== undefined) return deny(unstamped);
  const [plan, schema] = await Promise.all([
    reads.plan(request.namespace, spec.planRef.name),
    reads.schema(request.namespace, spec.schemaRef.name),
  ]);
  if (plan === undefined)
    return deny(`plan "${spec.planRef.name}" does not exist; approve the plan that stands now`, 404);
  if (schema === undefined) return deny(`PtahSchema "${spec.schemaRef.name}" does not exist`, 404);
  const wrong =
    firstOf([
      () => versionProblem(plan, schema, config),
      () => planProblem(spec, plan),
      () => schemaProblem(spec, schema),
      () => standingProblem(spec, schema),
      () => bindingProblem(request.namespace, plan, schema),
      () => policyProblem(plan, schema),
      () => distinctProblem(request, schema, config),
    ]) ?? (await sourceMoved(reads, request.namespace, schema.spec.desired, plan.spec.source));
  return wrong === undefined ? ALLOWED : deny(wrong);
}

type Spec = PtahSchemaApproval["spec"];

/** The stamps must be this request's own: a client could have sent any if the mutating review had been left out. */
function stampProblem(spec: Spec, request: ReviewRequest, now: Date): string | undefined {
  if (request.user.username === "" || !same(spec.approver, identityOf(request.user))) {
    return "the approver was not stamped from this request; do not send spec.approver, and check that the mutating webhook is installed";
  }
  if (!(Math.abs(Date.parse(spec.approvedAt) - now.getTime()) <= limits.clockSkewMs)) {
    return "approvedAt is not the time of this request; check the clocks of the webhook's nodes";
  }
  return undefined;
}

function versionProblem(
  plan: Custom<PtahSchemaPlan>,
  schema: Custom<PtahSchema>,
  config: WebhookConfig,
): string | undefined {
  const found = Math.max(
    plan.spec.controllerStateVersion,
    schema.status?.executionBinding?.controllerStateVersion ?? 0,
  );
  if (found <= config.stateVersion) return undefined;
  return `the plan was written under contract version ${found}, and this operator knows ${config.stateVersion}; upgrade the operator`;
}

function planProblem(spec: Spec, plan: Custom<PtahSchemaPlan>): string | undefined {
  const name = plan.metadata.name;
  if (plan.metadata.deletionTimestamp !== undefined)
    return `plan "${name}" is being deleted; approve the plan that stands now`;
  if (plan.metadata.uid !== spec.planRef.uid)
    return `plan "${name}" was replaced by another of the same name; read it again`;
  if (plan.spec.fingerprint !== spec.planFingerprint) return `plan "${name}" has another fingerprint; read it again`;
  const { name: schemaName, uid } = plan.spec.schemaRef;
  if (schemaName !== spec.schemaRef.name || uid !== spec.schemaRef.uid)
    return `plan "${name}" belongs to another PtahSchema`;
  const ready = plan.status?.conditions?.find((condition) => condition.type === "Ready");
  const generation = plan.metadata.generation ?? 0;
  if (ready?.status !== "True" || (plan.status?.observedGeneration ?? generation) !== generation) {
    return `plan "${name}" is not published completely yet; try again when its Ready condition is True`;
  }
  return undefined;
}

function schemaProblem(spec: Spec, schema: Custom<PtahSchema>): string | undefined {
  const name = schema.metadata.name;
  if (schema.metadata.uid !== spec.schemaRef.uid)
    return `PtahSchema "${name}" was replaced by another of the same name`;
  if (schema.metadata.deletionTimestamp !== undefined)
    return `PtahSchema "${name}" is being deleted; nothing more is applied`;
  return undefined;
}

function standingProblem(spec: Spec, schema: Custom<PtahSchema>): string | undefined {
  const { status } = schema;
  const standing = status?.plan;
  if (status?.pendingObservation !== undefined) {
    return "an earlier Apply of this schema is not settled; wait for its proof, or see kubectl ptah settle";
  }
  if (status?.activeOperation?.type === "Apply" || standing?.dispatched === true) {
    return "an Apply of this schema is already under way; wait for its end";
  }
  if (standing === undefined) return "no plan of this schema waits for a decision";
  if (standing.uid !== spec.planRef.uid || standing.fingerprint !== spec.planFingerprint) {
    return `this plan was superseded; plan "${standing.name}" stands now, read and approve that one`;
  }
  return undefined;
}

function bindingProblem(
  namespace: string,
  plan: Custom<PtahSchemaPlan>,
  schema: Custom<PtahSchema>,
): string | undefined {
  const { spec, status } = schema;
  const wait = "wait for the new plan";
  if (coordinationDigest(namespace, spec.target) !== plan.spec.coordinationDigest) {
    return `the schema's database realm was changed since the plan was computed; ${wait}`;
  }
  if (status?.target?.identityDigest !== undefined && status.target.identityDigest !== plan.spec.targetIdentityDigest) {
    return `the schema's connection leads to another database than the plan was computed against; ${wait}`;
  }
  if (status?.executionBinding?.epoch !== plan.spec.executionBindingID) {
    return `the operator's executor was changed since the plan was computed; ${wait}`;
  }
  const fingerprint = schemaPolicyFingerprint(spec.target.engine, spec.policy, spec.execution.connectTimeout);
  if (fingerprint !== plan.spec.policyFingerprint)
    return `the schema's policy was changed since the plan was computed; ${wait}`;
  return undefined;
}

/** An approval that nothing could ever spend would only look like a decision. */
function policyProblem(plan: Custom<PtahSchemaPlan>, schema: Custom<PtahSchema>): string | undefined {
  const verdict = judgePlan(schema.spec.policy, plan.spec, schema.status?.unproven);
  if (verdict.kind === "ReadyToApply") return "this plan needs no approval: it runs under spec.policy.apply: Always";
  if (verdict.reason === "ApplyDisabled")
    return "spec.policy.apply is Never: no plan of this schema is applied; change it first";
  if (verdict.reason === "DestructiveChangesDisabled") {
    return "this plan may lose data and spec.policy.allowDestructive is false; allow it first, or change what is declared";
  }
  return undefined;
}

function distinctProblem(
  request: ReviewRequest,
  schema: Custom<PtahSchema>,
  config: WebhookConfig,
): string | undefined {
  if (!config.requireDistinctApprover) return undefined;
  const writer = lastSpecWriter(schema.metadata.annotations);
  if (writer === undefined) {
    return `nobody is known to have written this schema's spec, so nobody distinct can approve; write its spec again (annotation ${WRITER_USERNAME} is missing)`;
  }
  const sameUid = writer.uid !== "" && writer.uid === request.user.uid;
  if (writer.username === request.user.username || sameUid) {
    return "who last changed the schema's spec may not approve its plan; ask somebody else";
  }
  return undefined;
}
