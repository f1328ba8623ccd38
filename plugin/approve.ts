/** `kubectl ptah approve`: shows what will run, asks, and approves exactly that plan or nothing. */
import { API_VERSION } from "../crds/common.ts";
import { base32 } from "../crds/names.ts";
import type { PtahSchemaApproval } from "../crds/ptahschemaapproval.ts";
import { type Custom, custom, isKubeError, orAbsent } from "../kube/index.ts";
import { confirm } from "./ask.ts";
import type { Unseen } from "./attention.ts";
import { EXIT, type ExitCode, failed } from "./failure.ts";
import type { Schema, Target } from "./families.ts";
import { type LoadedPlan, loadPlan } from "./load.ts";
import { planText } from "./planview.ts";
import { conditionOf } from "./resource.ts";
import { readResource, type Session } from "./session.ts";
import { stuckMessage, type Verdict, waitUntil } from "./wait.ts";

export interface ApproveFlags {
  readonly yes: boolean;
  readonly wait: boolean;
  readonly waitMs: number;
}

type Approval = Custom<PtahSchemaApproval>;

const WITHDRAWN = "the attempt that spent the approval was withdrawn before it ran anything; approve again";
const NAME_PART_MAX = 40;
const SUFFIX_BYTES = 5;

/** @throws Failure; nothing was approved then, or its message says that the answer to the create was lost */
export async function approve(session: Session, target: Target<Schema>, flags: ApproveFlags): Promise<ExitCode> {
  const { name } = target;
  const schema = await readResource(session, target);
  const loaded = await loadPlan(session, schema, "current");
  refuseUnlessAwaited(schema);
  session.io.stdout(planText(loaded, session.namespace, undefined, session.colors));
  if (!flags.yes) await ask(session, name, loaded);
  const again = await readResource(session, target);
  refuseIfReplaced(schema, again, loaded);
  refuseUnlessAwaited(again);
  const approval = await create(session, approvalOf(session, again, loaded));
  session.io.stdout(`approved: ${approval.metadata.name} for ${loaded.plan.metadata.name}\n`);
  if (!flags.wait) return EXIT.printed;
  const judge = async (seen: Schema): Promise<Verdict> => {
    const stored = await reread(session, approval);
    const verdict = outcome(seen, stored, loaded);
    // The approval was read after the schema and may know more: a stop is believed only of a schema read after it.
    return verdict.state === "stopped" ? outcome(await readResource(session, target), stored, loaded) : verdict;
  };
  session.io.stdout(`${await waitUntil(session, target, flags.waitMs, judge)}\n`);
  return EXIT.printed;
}

function refuseUnlessAwaited(schema: Schema): void {
  const required = conditionOf(schema, "ApprovalRequired");
  if (schema.status?.phase === "AwaitingApproval" && required?.status === "True") return;
  throw failed(`no plan waits for an approval, nothing was approved: ${stuckMessage(schema)}`);
}

function refuseIfReplaced(before: Schema, now: Schema, loaded: LoadedPlan): void {
  const same =
    now.metadata.uid === before.metadata.uid &&
    now.status?.plan?.uid === loaded.plan.metadata.uid &&
    now.status.plan.fingerprint === loaded.plan.spec.fingerprint;
  if (!same)
    throw failed("the plan was replaced while it was read; nothing was approved. Read the new one and decide again.");
}

async function ask(session: Session, name: string, loaded: LoadedPlan): Promise<void> {
  const { spec } = loaded.plan;
  const losing = spec.destructive || loaded.unrecordedDestructive;
  const target = `${session.namespace}/${name}`;
  const count = spec.statementCount === 1 ? "this statement" : `these ${spec.statementCount} statements`;
  const question = losing
    ? `This plan may LOSE DATA. Run ${count} on the database of ${target}?`
    : `Run ${count} on the database of ${target}?`;
  await confirm(session.io, question, losing ? name : "yes");
}

interface NewApproval {
  readonly apiVersion: string;
  readonly kind: "PtahSchemaApproval";
  readonly metadata: { readonly name: string; readonly namespace: string };
  /** A person supplies three identifiers; who and when is stamped by admission. */
  readonly spec: Pick<PtahSchemaApproval["spec"], "schemaRef" | "planRef" | "planFingerprint">;
}

function approvalOf(session: Session, schema: Schema, loaded: LoadedPlan): NewApproval {
  const { plan } = loaded;
  const random = Uint8Array.from({ length: SUFFIX_BYTES }, () => Math.floor(session.io.random() * 256));
  const part = schema.metadata.name.slice(0, NAME_PART_MAX).replace(/[-.]+$/, "");
  return {
    apiVersion: API_VERSION,
    kind: "PtahSchemaApproval",
    metadata: { name: `${part}-${base32(random)}`, namespace: session.namespace },
    spec: {
      schemaRef: { name: schema.metadata.name, uid: schema.metadata.uid },
      planRef: { name: plan.metadata.name, uid: plan.metadata.uid },
      planFingerprint: plan.spec.fingerprint,
    },
  };
}

/** A create whose answer was lost is read back by its name, never repeated. */
async function create(session: Session, body: NewApproval): Promise<Approval> {
  const kind = custom.PtahSchemaApproval.typed;
  const options = { timeoutMs: session.requestMs };
  try {
    return await session.client.create(kind, session.namespace, body, options);
  } catch (error) {
    if (!isKubeError(error) || error.committed === "no") throw error;
    const stored = await orAbsent(session.client.get(kind, body.metadata, options)).catch(() => undefined);
    if (stored?.spec.planRef.uid === body.spec.planRef.uid) return stored;
    throw failed(
      `the answer was lost; look whether it was stored: kubectl get ptahschemaapproval ${body.metadata.name} -n ${session.namespace}`,
      error,
    );
  }
}

function reread(session: Session, approval: Approval): Promise<Approval | undefined> {
  const at = { namespace: session.namespace, name: approval.metadata.name };
  const options = { timeoutMs: session.requestMs };
  return orAbsent(session.client.get(custom.PtahSchemaApproval.typed, at, options));
}

const isTrue = (approval: Approval, type: string): boolean =>
  approval.status?.conditions?.some((condition) => condition.type === type && condition.status === "True") === true;

/** What became of the approved plan. */
function outcome(schema: Schema, approval: Approval | undefined, loaded: LoadedPlan): Verdict {
  if (approval === undefined) return { state: "stopped", message: "the approval was deleted" };
  const spent = approval.status?.consumedBy !== undefined || isTrue(approval, "Consumed");
  const { status, metadata } = schema;
  const mine = status?.plan?.uid === loaded.plan.metadata.uid;
  if (!spent && isTrue(approval, "Stale")) {
    return {
      state: "stopped",
      message: `the plan no longer stood when it was to run; nothing ran. ${stuckMessage(schema)}`,
    };
  }
  const underWay = status?.activeOperation !== undefined || status?.pendingObservation !== undefined;
  if (spent && !underWay && !mine && status?.phase === "InSync")
    return { state: "done", message: proved(schema, loaded) };
  if (status?.phase === "Suspended") return { state: "stopped", message: stuckMessage(schema) };
  if (status?.phase === "Blocked" && (!spent || !mine)) return { state: "stopped", message: stuckMessage(schema) };
  if (spent && !underWay && status?.phase === "AwaitingApproval") {
    if (mine) return { state: "stopped", message: WITHDRAWN };
    return {
      state: "stopped",
      message: `the plan ran and changes remain; a new plan waits: kubectl ptah plan ${metadata.name}`,
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

function proved(schema: Schema, loaded: LoadedPlan): string {
  return schema.status?.applied?.planRef.uid === loaded.plan.metadata.uid
    ? `${schema.metadata.name} is in sync: the plan was applied, and a fresh read proved it`
    : `${schema.metadata.name} is in sync; what the plan's run did was not established, a fresh read found nothing left`;
}
