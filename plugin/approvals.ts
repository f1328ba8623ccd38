/** What an approval is of each kind: which plan is shown, what is stored, and what counts as proved. */
import type { PtahSchemaApproval } from "../crds/ptahschemaapproval.ts";
import { custom, isKubeError, type Kind, type Stored } from "../kube/index.ts";
import type { Family, Migration, Resource, Schema } from "./families.ts";
import { limits } from "./limits.ts";
import { loadPlan } from "./load.ts";
import { warnOfSource } from "./migrationfiles.ts";
import { loadMigrationPlan, migrationPlanText } from "./migrationplan.ts";
import { planText } from "./planview.ts";
import { stoppedAt } from "./runview.ts";
import type { Session } from "./session.ts";

const wholeVersions = (count: number): string => `${count === 0 ? "no" : count} whole version${count > 1 ? "s" : ""}`;

/** An approval as it is stored, of any kind. */
export interface Approval extends Stored {
  readonly spec: { readonly planRef: { readonly uid: string } };
  readonly status?: PtahSchemaApproval["status"];
}

/** A plan as the person who decides has seen it. */
export interface ShownPlan {
  readonly name: string;
  readonly uid: string;
  readonly fingerprint: string;
  /** What the question says would run, for example `these 3 statements`. */
  readonly what: string;
  /** It may lose data: the question asks for the resource's name. */
  readonly losing: boolean;
  readonly text: string;
}

export interface Approvals<T extends Resource> {
  readonly kind: Kind<Approval>;
  /** The plan that stands, believed only when everything about it agrees. @throws Failure */
  show(session: Session, resource: T): Promise<ShownPlan>;
  /** The identity of the plan that stands, as the status has it. */
  standing(resource: T): { readonly uid: string; readonly fingerprint: string } | undefined;
  /** What a person writes; who and when is stamped by admission. */
  spec(resource: T, plan: ShownPlan): object;
  /** The last sentence, where the resource is in sync after the approved plan was dispatched. */
  proved(resource: T, plan: ShownPlan): string;
  /** How the run of that plan ended, where it is known that it did not apply all of it. */
  fellShort(resource: T, plan: ShownPlan): string | undefined;
}

/** What is said of a plan that somebody has approved while its resource still says that it waits. */
export const APPROVED = "approved; it is about to be dispatched";

const isTrue = (approval: Approval, type: string): boolean =>
  approval.status?.conditions?.some((condition) => condition.type === type && condition.status === "True") === true;

/** Its one dispatch was made. */
export const isSpent = (approval: Approval): boolean =>
  approval.status?.consumedBy !== undefined || isTrue(approval, "Consumed");

/** The plan it names does not stand any more. */
export const isStale = (approval: Approval): boolean => isTrue(approval, "Stale");

/**
 * An approval of the plan that stands which the manager has not spent yet: until it has, the resource says that its plan waits
 * for one. Who may not list approvals, or meets one that this version cannot read, is told what the resource says.
 */
export async function approvalUnderWay<T extends Resource>(
  session: Session,
  family: Family<T>,
  resource: T,
): Promise<Approval | undefined> {
  const standing = family.approvals.standing(resource);
  if (resource.status?.phase !== "AwaitingApproval" || standing === undefined) return undefined;
  const selection = { namespace: resource.metadata.namespace };
  const options = { timeoutMs: session.requestMs, itemsMax: limits.listMax };
  try {
    const { items } = await session.client.list(family.approvals.kind, selection, options);
    return items.find(
      (one) =>
        one.spec.planRef.uid === standing.uid && !one.metadata.deletionTimestamp && !isSpent(one) && !isStale(one),
    );
  } catch (error) {
    if (isKubeError(error, "Forbidden", "TooLarge", "Malformed")) return undefined;
    throw error;
  }
}

export const SCHEMA_APPROVALS: Approvals<Schema> = {
  kind: custom.PtahSchemaApproval.typed,
  async show(session, schema) {
    const loaded = await loadPlan(session, schema, "current");
    const { metadata, spec } = loaded.plan;
    return {
      name: metadata.name,
      uid: metadata.uid,
      fingerprint: spec.fingerprint,
      what: spec.statementCount === 1 ? "this statement" : `these ${spec.statementCount} statements`,
      losing: spec.destructive || loaded.unrecordedDestructive,
      text: planText(loaded, schema, session.namespace, session.colors),
    };
  },
  standing: (schema) => schema.status?.plan,
  spec: (schema, plan) => ({
    schemaRef: { name: schema.metadata.name, uid: schema.metadata.uid },
    planRef: { name: plan.name, uid: plan.uid },
    planFingerprint: plan.fingerprint,
  }),
  proved: (schema, plan) =>
    schema.status?.applied?.planRef.uid === plan.uid
      ? `${schema.metadata.name} is in sync: the plan was applied, and a fresh read proved it`
      : `${schema.metadata.name} is in sync; what the plan's run did was not established, a fresh read found nothing left`,
  // A schema's run says nothing of itself that would be believed.
  fellShort: () => undefined,
};

export const MIGRATION_APPROVALS: Approvals<Migration> = {
  kind: custom.PtahMigrationApproval.typed,
  async show(session, migration) {
    const plan = await loadMigrationPlan(session, migration);
    await warnOfSource(session, migration);
    const { metadata, spec } = plan;
    return {
      name: metadata.name,
      uid: metadata.uid,
      fingerprint: spec.fingerprint,
      what: spec.stepCount === 1 ? "this migration" : `these ${spec.stepCount} migrations`,
      losing: false,
      text: migrationPlanText(migration, plan, "current"),
    };
  },
  standing: (migration) => migration.status?.plan,
  spec: (migration, plan) => ({
    migrationRef: { name: migration.metadata.name, uid: migration.metadata.uid },
    planRef: { name: plan.name, uid: plan.uid },
    planFingerprint: plan.fingerprint,
  }),
  proved({ metadata, status }, plan) {
    const run = status?.lastRun;
    const mine = run?.plan?.uid === plan.uid && run.verification?.outcome === "InSync";
    if (mine && run.outcome === "Applied")
      return `${metadata.name} is in sync: the plan was run, and a fresh read of the history proved it`;
    return `${metadata.name} is in sync: a fresh read of the history found nothing pending; the plan's own run ended ${run?.plan?.uid === plan.uid ? run.outcome : "unrecorded"}`;
  },
  fellShort({ status }, plan) {
    const run = status?.lastRun;
    if (run?.plan?.uid !== plan.uid || run.outcome === "Applied" || run.outcome === "UpToDate") return undefined;
    const where = run.failure === undefined ? "" : ` at ${stoppedAt(run.failure)}`;
    return `the run of this plan ended ${run.outcome}${where}, ${wholeVersions(run.appliedVersions?.length ?? 0)} applied`;
  },
};
