/** Loads the one plan a schema's status names, and believes it only when every size, digest and reference agrees. */
import { commandFor } from "../crds/commands.ts";
import type { PtahSchema } from "../crds/ptahschema.ts";
import type { PtahSchemaPlan, PtahSchemaPlanChunk } from "../crds/ptahschemaplan.ts";
import { PLAN_CONTRACT_FILES } from "../crds/spec.ts";
import { type Custom, custom, orAbsent, type Stored } from "../kube/index.ts";
import {
  type Chunk,
  contentDigest,
  decodePlan,
  join,
  loadParser,
  type PlanDocument,
  planSummary,
} from "../sql/index.ts";
import { type Failure, failed, nothingStored } from "./failure.ts";
import type { Resource } from "./families.ts";
import { limits } from "./limits.ts";
import { familyOf } from "./resource.ts";
import type { Session } from "./session.ts";
import { troubleAt } from "./trouble.ts";
import { settledDown, stuckMessage } from "./wait.ts";

export type PlanChoice = "current" | "applied";

export interface LoadedPlan {
  readonly choice: PlanChoice;
  readonly plan: Custom<PtahSchemaPlan>;
  /** The document's bytes, as published. */
  readonly bytes: Uint8Array;
  readonly document: PlanDocument;
  /** Privilege kinds that the plugin's own reading finds and the plan does not record. */
  readonly unrecordedPrivileges: readonly string[];
  /** The plugin's own reading calls it destructive though the plan does not. */
  readonly unrecordedDestructive: boolean;
}

/** A plan as a status names it. */
export interface Named {
  readonly name: string;
  readonly uid: string;
  readonly fingerprint: string;
}

/** Why there is no plan to show: whether one may be on its way, and what keeps it from coming. */
export function noPlan(resource: Resource): Failure {
  const { metadata, status } = resource;
  const kind = familyOf(resource) === "migration" ? "Migration" : "Schema";
  const none = `Ptah${kind} ${metadata.name} has no current plan (phase ${status?.phase ?? "none yet"})`;
  if (settledDown(resource)) {
    return nothingStored(
      status?.phase === "InSync"
        ? `${none}: nothing is left to change; --applied shows the plan that ran last, where one did`
        : `${none}: ${stuckMessage(resource)}`,
    );
  }
  // What is tried over and over is under way for ever: the reason and the next step say more.
  if (troubleAt(resource) !== undefined) return nothingStored(`${none}: ${stuckMessage(resource)}`);
  const wait = commandFor("wait", kind.toLowerCase(), metadata);
  return nothingStored(`${none}: a reading or a plan is under way; ${wait} returns when it is over`);
}

/** What `status` says is the plan asked for. @throws Failure (nothing stored) */
function namedPlan(schema: Custom<PtahSchema>, choice: PlanChoice): Named {
  const where = `PtahSchema ${schema.metadata.name}`;
  if (choice === "current") {
    const plan = schema.status?.plan;
    if (plan === undefined) throw noPlan(schema);
    return plan;
  }
  const applied = schema.status?.applied;
  if (applied === undefined) throw nothingStored(`${where} has no applied plan`);
  return { ...applied.planRef, fingerprint: applied.planFingerprint };
}

/**
 * The plan that stands, or the one the last proved Apply ran.
 * @throws Failure: nothing stored (3) when there is none, failed (1) when something does not agree
 */
export async function loadPlan(session: Session, schema: Custom<PtahSchema>, choice: PlanChoice): Promise<LoadedPlan> {
  const named = namedPlan(schema, choice);
  const at = { namespace: session.namespace, name: named.name };
  const plan = await orAbsent(session.client.get(custom.PtahSchemaPlan.typed, at, { timeoutMs: session.requestMs }));
  if (plan === undefined) throw nothingStored(`the ${choice} plan ${named.name} is no longer stored`);
  checkPlan(schema, plan, named);
  const chunks = await loadChunks(session, plan);
  const joined = join(chunks, plan.spec.contentDigest);
  if ("error" in joined) throw failed(`plan ${named.name}: ${joined.error.message}`);
  if (joined.bytes.byteLength !== plan.spec.size) throw failed(`plan ${named.name} has another size than it records`);
  const decoded = decodePlan(joined.bytes);
  if ("error" in decoded) throw failed(`plan ${named.name}: ${decoded.error.message}`);
  return { choice, plan, bytes: joined.bytes, document: decoded.plan, ...(await ownReading(plan, decoded.plan)) };
}

/** Ours is the plan the status names, of this very schema, whole and not on its way out. */
function checkPlan(schema: Custom<PtahSchema>, plan: Custom<PtahSchemaPlan>, named: Named): void {
  const { spec, metadata, status } = plan;
  const refuse = (what: string): never => {
    throw failed(`plan ${named.name} ${what}; nothing is printed`);
  };
  if (spec.contractVersion > PLAN_CONTRACT_FILES) refuse("follows a newer contract than this plugin knows");
  if (metadata.uid !== named.uid) refuse("is another object than the status names");
  if (spec.fingerprint !== named.fingerprint) refuse("has another fingerprint than the status names");
  if (spec.schemaRef.uid !== schema.metadata.uid) refuse("belongs to another PtahSchema");
  if (!ownedBy(plan, "PtahSchema", schema.metadata.uid)) refuse("is not owned by its PtahSchema");
  const ready = status?.conditions?.find((condition) => condition.type === "Ready");
  if (ready?.status !== "True") refuse("is not completely published");
  const indexes = [...spec.chunks].map((chunk) => chunk.index).sort((a, b) => a - b);
  if (indexes.some((index, position) => index !== position)) refuse("does not number its chunks from 0");
}

/** Whether one resource of the kind owns it, and nobody else. */
export function ownedBy(object: Stored, kind: string, uid: string): boolean {
  const owners = object.metadata.ownerReferences ?? [];
  return owners.length === 1 && owners[0]?.kind === kind && owners[0].uid === uid;
}

async function loadChunks(session: Session, plan: Custom<PtahSchemaPlan>): Promise<Chunk[]> {
  const references = [...plan.spec.chunks].sort((a, b) => a.index - b.index);
  const chunks: Chunk[] = [];
  for (let start = 0; start < references.length; start += limits.chunksAtOnce) {
    const slice = references.slice(start, start + limits.chunksAtOnce);
    chunks.push(...(await Promise.all(slice.map((reference) => loadChunk(session, plan, reference)))));
  }
  return chunks;
}

async function loadChunk(
  session: Session,
  plan: Custom<PtahSchemaPlan>,
  reference: PtahSchemaPlan["spec"]["chunks"][number],
): Promise<Chunk> {
  const at = { namespace: session.namespace, name: reference.name };
  const kind = custom.PtahSchemaPlanChunk.typed;
  const chunk = await orAbsent(session.client.get(kind, at, { timeoutMs: session.requestMs }));
  const place = `chunk ${reference.index} of plan ${plan.metadata.name}`;
  if (chunk === undefined) throw failed(`${place} is missing`);
  const published = plan.status?.publishedChunks?.find((entry) => entry.index === reference.index);
  if (published?.uid !== chunk.metadata.uid) throw failed(`${place} is another object than was published`);
  if (!ownedBy(chunk, "PtahSchemaPlan", plan.metadata.uid)) throw failed(`${place} is not owned by its plan`);
  const bytes = bytesOf(chunk);
  if (bytes.byteLength !== reference.size) throw failed(`${place} has another size than the plan records`);
  if (contentDigest(bytes) !== reference.digest) throw failed(`${place} has another digest than the plan records`);
  return { bytes, digest: reference.digest };
}

const bytesOf = (chunk: Custom<PtahSchemaPlanChunk>): Uint8Array =>
  new Uint8Array(Buffer.from(chunk.spec.data, "base64"));

/** The record may understate; reading the statements again here only ever adds to it. */
async function ownReading(
  plan: Custom<PtahSchemaPlan>,
  document: PlanDocument,
): Promise<Pick<LoadedPlan, "unrecordedPrivileges" | "unrecordedDestructive">> {
  const { spec, metadata } = plan;
  const outcome = planSummary(await loadParser(), document);
  if ("error" in outcome) throw failed(`plan ${metadata.name}: ${outcome.error.message}`);
  const own = outcome.summary;
  if (own.statementCount !== spec.statementCount) {
    throw failed(`plan ${metadata.name} has another number of statements than it records`);
  }
  const recorded = new Set<string>(spec.privilegeChanges ?? []);
  return {
    unrecordedPrivileges: own.privilegeChanges.filter((kind) => !recorded.has(kind)),
    unrecordedDestructive: own.destructive && !spec.destructive,
  };
}
