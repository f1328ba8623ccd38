/**
 * Publish: the plan object, its chunks, then Ready, one effect each, all under the number the reading's claim reserved; so a
 * stop resumes the same object. A standing plan that is computed again with the same bytes and bindings keeps its own.
 */
import { chunkName } from "../../crds/names.ts";
import { type Context, need } from "../context.ts";
import type { PlanSpec } from "../families/types.ts";
import type { Move, RuleId } from "../move.ts";
import type { PlanChunk } from "../tools.ts";
import type { PlanFacts, PlanObjectFacts } from "../view.ts";

/** A plan before it has its number. */
export interface PlanDraft {
  readonly fingerprintAt: (serial: number) => string;
  readonly nameOf: (fingerprint: string) => string;
  readonly build: (serial: number, fingerprint: string, name: string) => BuiltPlan;
}

export interface BuiltPlan {
  readonly spec: PlanSpec;
  /** The bytes it runs, in order; none where the object itself says all of it. */
  readonly chunks: readonly PlanChunk[];
}

export type Publication =
  | { readonly move: Move }
  | { readonly refused: string }
  /** The standing plan was computed again, and is not stored whole any more. */
  | { readonly gone: true }
  | { readonly name: string; readonly object: PlanObjectFacts; readonly kept: boolean };

export function publish(c: Context, rule: RuleId, draft: PlanDraft, serial: number): Publication {
  const standing = c.status.plan;
  if (standing !== undefined && standing.dispatched !== true) {
    if (draft.fingerprintAt(standing.serial) === standing.fingerprint)
      return keep(c, rule, standing.name, standing.uid);
  }
  const fingerprint = draft.fingerprintAt(serial);
  const name = draft.nameOf(fingerprint);
  return resume(c, rule, name, draft.build(serial, fingerprint, name));
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

/** Whether a plan object is ours, Ready, and holds what it was published with, its chunks included. */
export function wholePlan(c: Context, facts: PlanFacts): boolean {
  const { object } = facts;
  if (object === null || object.deleting || !object.ownedByUs || !object.ready) return false;
  if (!c.family.intact(c, facts)) return false;
  return c.family.chunksOf(object.spec).every((wanted) => {
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

function resume(c: Context, rule: RuleId, name: string, { spec, chunks }: BuiltPlan): Publication {
  const look = need(c, `${rule}/publish`, { piece: "plan", name });
  if (look !== undefined) return { move: look };
  const facts = c.view.plan?.value;
  const object = facts?.object ?? null;
  if (facts === undefined || object === null)
    return { move: { kind: "createPlan", rule: `${rule}/publish`, name, spec } };
  if (object.deleting || !object.ownedByUs || object.spec.fingerprint !== spec.fingerprint) {
    return {
      refused: `${c.family.planKind} ${name} is not the plan that is to be published. Delete it; it is made anew.`,
    };
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
    refused: `${c.family.planKind} ${name} does not hold what was published. Delete it; it is made anew.`,
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
