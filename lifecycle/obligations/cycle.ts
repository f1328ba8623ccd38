/** Rule 15: when the next reading is due, and the patch that begins a cycle of readings from a resolved source. */

import { durationMs } from "../../crds/duration.ts";
import type { ResolvedSource } from "../../crds/status/index.ts";
import { type Context, need, patch, wait } from "../context.ts";
import type { ReadType } from "../families/family.ts";
import type { Move, RuleId } from "../move.ts";
import { cycleAt, retryAt, unansweredRequest } from "../positions.ts";
import { ahead, instantOf, msOf } from "../time.ts";
import type { SourceFacts } from "../view.ts";
import { requestAnswered } from "./readRequest.ts";
import { failureEntry, failureMetric } from "./retry.ts";

export type Due =
  | { readonly kind: "none"; readonly againMs?: number }
  | { readonly kind: "waiting"; readonly untilMs: number }
  /** The source is resolved and a cycle begins. */
  | { readonly kind: "begin" }
  | { readonly kind: "read"; readonly read: ReadType };

type Resolved = Extract<SourceFacts, { readonly state: "resolved" }>;

/** Whether the source, or the policy it was admitted under, is another than the one last resolved. */
export function sourceMoved(c: Context, facts: SourceFacts): boolean {
  const source = c.family.source(c.status);
  return source === undefined || facts.state !== "resolved" || !sameSource(facts, source);
}

export function sameSource(
  facts: Resolved,
  source: {
    identity: string;
    contentDigest: string;
    policyUID?: string | undefined;
    policyDigest?: string | undefined;
  },
): boolean {
  return (
    facts.identity === source.identity &&
    facts.contentDigest === source.contentDigest &&
    facts.policyUID === source.policyUID &&
    facts.policyDigest === source.policyDigest
  );
}

/**
 * What the source holds, uncached where the cache says that it moved.
 * @returns a look, or whether it moved since it was last resolved
 */
export function sourceNews(c: Context, rule: RuleId): { readonly look: Move } | { readonly moved: boolean } {
  const piece = c.view.source;
  const moved = piece === undefined || sourceMoved(c, piece.value);
  const look = moved ? need(c, rule, { piece: "source" }) : undefined;
  return look === undefined ? { moved } : { look };
}

/** The one answer to "is a reading due": rules 15 to 17 share it. */
export function due(c: Context, moved: boolean): Due {
  const { cycle, retryNotBefore } = c.status;
  const wanted = wantedRead(c, moved);
  if (wanted === undefined) return { kind: "none", againMs: intervalEndMs(c) };
  if (ahead(retryNotBefore, c.nowMs)) return { kind: "waiting", untilMs: msOf(retryNotBefore ?? "") };
  return wanted === "begin" || cycle === undefined ? { kind: "begin" } : { kind: "read", read: wanted };
}

function wantedRead(c: Context, moved: boolean): "begin" | ReadType | undefined {
  const { cycle } = c.status;
  if (cycle === undefined || cycle.generation !== c.resource.generation || moved) return "begin";
  if (cycle.next !== undefined) return cycle.next === "Resolve" ? "begin" : cycle.next;
  return intervalEndMs(c) <= c.nowMs ? "begin" : undefined;
}

function intervalEndMs(c: Context): number {
  const { cycle, nextReconciliationTime } = c.status;
  if (nextReconciliationTime !== undefined) return msOf(nextReconciliationTime);
  return msOf(cycle?.endedAt ?? cycle?.startedAt ?? instantOf(c.nowMs)) + durationMs(c.spec.interval);
}

/**
 * Begins a cycle: the snapshot is created, read back, and then one patch stores the resolution. What cannot be asked for
 * makes no claim: Failed, and tried again.
 */
export function begin(c: Context, rule: RuleId): Move {
  const snapshot = snapshotted(c, rule);
  if ("move" in snapshot) return snapshot.move;
  if ("refused" in snapshot) return sourceRefused(c, rule, snapshot.refused.reason, snapshot.refused.sentence);
  const read = c.family.afterSource;
  const request = unansweredRequest(c);
  const before = c.family.source(c.status);
  const changed =
    before !== undefined &&
    (before.contentDigest !== snapshot.source.contentDigest || c.status.cycle?.generation !== c.resource.generation);
  return patch(c, `${rule}/begin`, {
    set: {
      ...c.family.withSource(snapshot.source),
      cycle: { startedAt: instantOf(c.nowMs), generation: c.resource.generation, next: read },
      retryNotBefore: undefined,
      nextReconciliationTime: undefined,
      ...(request === undefined ? {} : { lastReadRequest: request.stored }),
    },
    cause: {
      at: "begun",
      read,
      changed,
      sentence: `${snapshot.source.requestedReference} is copied into ${snapshot.source.snapshot ?? ""}.`,
    },
    ...(request === undefined ? {} : { events: [requestAnswered(c, request.value)] }),
  });
}

export type Snapshotted =
  | { readonly move: Move }
  | { readonly refused: { readonly reason: string; readonly sentence: string } }
  | { readonly source: ResolvedSource };

/** The source as it is now, with its snapshot created and read back. */
export function snapshotted(c: Context, rule: RuleId): Snapshotted {
  const look = need(c, rule, { piece: "source" }, { piece: "snapshots" });
  if (look !== undefined) return { move: look };
  const facts = c.view.source?.value;
  if (facts === undefined || facts.state === "refused") {
    return { refused: facts ?? { reason: "SourceNotFound", sentence: "The source could not be read." } };
  }
  const name = c.tools.snapshotName(c.resource.uid, facts.contentDigest);
  const snapshot = c.view.snapshots?.value.find((s) => s.name === name);
  if (snapshot === undefined) {
    const { identity, resourceVersion, contentDigest } = facts;
    return {
      move: {
        kind: "createSnapshot",
        rule: `${rule}/snapshot`,
        name,
        contentDigest,
        source: { identity, resourceVersion },
      },
    };
  }
  if (!snapshot.intact || snapshot.deleting || snapshot.contentDigest !== facts.contentDigest) {
    return {
      refused: {
        reason: "SourceRefused",
        sentence: `ConfigMap ${name} is not the snapshot of the source it should be. Delete it; it is made anew.`,
      },
    };
  }
  return { source: resolvedSource(c, facts, name) };
}

function resolvedSource(c: Context, facts: Resolved, snapshot: string): ResolvedSource {
  return {
    kind: facts.kind,
    identity: facts.identity,
    contentDigest: facts.contentDigest,
    snapshot,
    ...(facts.policyUID === undefined ? {} : { policyUID: facts.policyUID }),
    ...(facts.policyDigest === undefined ? {} : { policyDigest: facts.policyDigest }),
    requestedReference: facts.requestedReference,
    digest: facts.contentDigest,
    fileCount: facts.fileCount,
    sizeBytes: facts.sizeBytes,
    resolvedAt: instantOf(c.nowMs),
  };
}

/** Failed without a claim: the source is asked for again after the retry delay. */
function sourceRefused(c: Context, rule: RuleId, reason: string, sentence: string): Move {
  return patch(c, `${rule}/refused`, {
    set: { cycle: cycleAt(c, "Resolve"), retryNotBefore: retryAt(c), nextReconciliationTime: retryAt(c) },
    cause: { at: "sourceRefused", reason, sentence },
    journal: [failureEntry(c, "Resolve", reason)],
    events: [{ type: "Warning", reason: "OperationFailed", note: sentence }],
    metrics: [failureMetric("resolve", "configuration")],
  });
}

/** A wait for the retry delay of something that failed. */
export function waitForRetry(rule: RuleId, untilMs: number): Move {
  return wait(`${rule}/retry`, "the retry delay", untilMs);
}
