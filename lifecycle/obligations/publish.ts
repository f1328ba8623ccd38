/**
 * Publish: the plan object, its chunks, then Ready, one effect each, all under the number the reading's claim reserved; so a
 * stop resumes the same object. A standing plan that is computed again with the same bytes and bindings keeps its own.
 */
import { chunkName } from "../../crds/names.ts";
import { PLAN_CONTRACT_FILES, type PtahSchemaPlanSpec } from "../../crds/spec.ts";
import { type Context, need } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import type { PlanChunk } from "../tools.ts";
import type { PlanFacts, PlanObjectFacts } from "../view.ts";

/** Everything of a plan but its number, fingerprint and chunks. */
export type PlanDraft = Omit<
  PtahSchemaPlanSpec,
  "serial" | "fingerprint" | "chunks" | "contractVersion" | "schemaRef" | "size"
>;

export type Publication =
  | { readonly move: Move }
  | { readonly refused: string }
  /** The standing plan was computed again, and is not stored whole any more. */
  | { readonly gone: true }
  | { readonly name: string; readonly object: PlanObjectFacts; readonly kept: boolean };

export function publish(c: Context, rule: RuleId, draft: PlanDraft, serial: number, document: string): Publication {
  const standing = c.status.plan;
  if (standing !== undefined && standing.dispatched !== true) {
    const same = specOf(c, draft, standing.serial, []);
    if (same.fingerprint === standing.fingerprint) return keep(c, rule, standing.name, standing.uid);
  }
  const chunks = c.tools.planChunks(document, draft.contentDigest);
  const named = specOf(c, draft, serial, []);
  const name = c.tools.planName(named.fingerprint);
  const spec = { ...named, size: Buffer.byteLength(document), chunks: chunkReferences(name, chunks) };
  return resume(c, rule, name, spec, chunks);
}

/** The standing plan, once its object was read back whole. */
function keep(c: Context, rule: RuleId, name: string, uid: string): Publication {
  const look = need(c, `${rule}/publish`, { piece: "plan", name });
  if (look !== undefined) return { move: look };
  const facts = c.view.plan?.value;
  const object = facts?.object;
  if (facts === undefined || object === null || object === undefined || object.uid !== uid || !wholePlan(c, facts)) {
    return { gone: true };
  }
  return { name, object, kept: true };
}

/** Whether a plan object is ours, Ready, and every chunk holds what it was published with. */
export function wholePlan(_c: Context, facts: PlanFacts): boolean {
  const { object } = facts;
  if (object === null || object.deleting || !object.ownedByUs || !object.ready) return false;
  return object.spec.chunks.every((wanted) => {
    const chunk = facts.chunks.find((f) => f.index === wanted.index);
    return (
      chunk !== undefined &&
      !chunk.deleting &&
      chunk.ownerUID === object.uid &&
      chunk.digest === wanted.digest &&
      chunk.sizeBytes === wanted.size
    );
  });
}

function specOf(
  c: Context,
  draft: PlanDraft,
  serial: number,
  chunks: PtahSchemaPlanSpec["chunks"],
): PtahSchemaPlanSpec {
  const bound = { ...draft, serial, contractVersion: PLAN_CONTRACT_FILES };
  const fingerprint = c.tools.planFingerprint({ ...bound, schemaUid: c.resource.uid });
  return { ...bound, fingerprint, schemaRef: { name: c.resource.name, uid: c.resource.uid }, size: 1, chunks };
}

function chunkReferences(planName: string, chunks: readonly PlanChunk[]): PtahSchemaPlanSpec["chunks"] {
  return chunks.map(({ bytes, digest }, index) => ({
    name: chunkName(planName, index),
    index,
    digest,
    size: bytes.byteLength,
  }));
}

function resume(
  c: Context,
  rule: RuleId,
  name: string,
  spec: PtahSchemaPlanSpec,
  chunks: readonly PlanChunk[],
): Publication {
  const look = need(c, `${rule}/publish`, { piece: "plan", name });
  if (look !== undefined) return { move: look };
  const facts = c.view.plan?.value;
  const object = facts?.object ?? null;
  if (facts === undefined || object === null)
    return { move: { kind: "createPlan", rule: `${rule}/publish`, name, spec } };
  if (object.deleting || !object.ownedByUs || object.spec.fingerprint !== spec.fingerprint) {
    return { refused: `PtahSchemaPlan ${name} is not the plan that is to be published. Delete it; it is made anew.` };
  }
  const missing = chunks.findIndex((_chunk, index) => !facts.chunks.some((f) => f.index === index));
  if (missing >= 0) {
    return {
      move: {
        kind: "createChunk",
        rule: `${rule}/publish`,
        planName: name,
        planUID: object.uid,
        index: missing,
        name: chunkName(name, missing),
        bytes: chunks[missing]?.bytes ?? new Uint8Array(),
      },
    };
  }
  return object.ready ? published(c, name, facts, object) : ready(c, rule, name, facts, object);
}

function published(c: Context, name: string, facts: PlanFacts, object: PlanObjectFacts): Publication {
  if (wholePlan(c, facts)) return { name, object, kept: false };
  return {
    refused: `A chunk of PtahSchemaPlan ${name} does not hold what was published. Delete the plan; it is made anew.`,
  };
}

function ready(c: Context, rule: RuleId, name: string, facts: PlanFacts, object: PlanObjectFacts): Publication {
  if (!wholePlan(c, { ...facts, object: { ...object, ready: true } })) return published(c, name, facts, object);
  return {
    move: {
      kind: "markPlanReady",
      rule: `${rule}/publish`,
      name,
      uid: object.uid,
      resourceVersion: object.resourceVersion,
      chunks: facts.chunks.map(({ name: chunk, uid, index }) => ({ name: chunk, uid, index })),
    },
  };
}
