/**
 * What a decision may ask for: one durable effect, a look, a wait, or rest. Closed; the shell performs each in one place.
 *
 * Contract with whoever performs it (changes to this file are announced here: the looks `recordJob` and `recordPods`
 *   were added; the look `acknowledgments` and the effect `markAcknowledgment` were added; `createPlan` holds the plan of
 *   the resource's own family, and a plan without chunks is marked ready right after it was read back):
 * - Every write to the resource carries its UID and `resourceVersion`; a conflict means nothing happened: read uncached,
 *   decide again. An answer that may hide a commit (time-out, connection lost) is read back, never repeated blind.
 * - Effects on other objects carry their own precondition (UID and resourceVersion, or create-only). EFFECTS.md says for
 *   each why it is safe when the decision was made with an old view.
 * - After an effect: write Events and metrics of the move (best effort), throw the view away, decide again.
 */
import type { AcknowledgmentStatus, ApprovalStatus } from "../crds/status/index.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { PlanSpec, Status } from "./families/types.ts";
import type { LeaseOwner } from "./view.ts";

/** Id of the row of the rule table that decided; the step of a claim's life after a slash (`6/dispatch`). */
export type RuleId = string;

export interface EventIntent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** What happened and what to do next; never SQL, rows or secrets. */
  readonly note: string;
  /** The approval it is about; absent for the resource itself. */
  readonly approval?: { readonly name: string; readonly uid: string };
}

/** A counter moves on a transition, never per pass. Names are those of the metrics page without their prefix. */
export type MetricTransition =
  | { readonly metric: "drift_observations_total"; readonly outcome: "drift" | "converged" }
  | { readonly metric: "plans_total"; readonly destructive: boolean }
  | { readonly metric: "approvals_total"; readonly outcome: "required" | "accepted" | "stale" }
  | { readonly metric: "applies_total"; readonly outcome: "started" | "completed" | "uncertain" | "stale" }
  | {
      readonly metric: "operation_duration_seconds";
      readonly operation: string;
      readonly outcome: "succeeded" | "failed" | "unknown" | "discarded";
      readonly seconds: number;
    }
  | { readonly metric: "failures_total"; readonly stage: string; readonly category: FailureCategory };

export type FailureCategory =
  | "infrastructure"
  | "configuration"
  | "operation"
  | "policy-change"
  | "stale-input"
  | "uncertain-outcome";

interface Base {
  readonly rule: RuleId;
  readonly events?: readonly EventIntent[];
  readonly metrics?: readonly MetricTransition[];
}

/** Precondition of a write to the resource. */
interface OnResource extends Base {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** One piece to read uncached. */
export type LookItem =
  | {
      readonly piece:
        | "resource"
        | "plans"
        | "approvals"
        | "acknowledgments"
        | "source"
        | "snapshots"
        | "census"
        | "envelope";
    }
  | { readonly piece: "plan"; readonly name: string }
  | { readonly piece: "projections"; readonly planName: string }
  | { readonly piece: "job" | "recordJob"; readonly name: string }
  /** By owner: the Job's name, and its UID once known. */
  | { readonly piece: "pods" | "recordPods"; readonly jobName: string; readonly jobUID?: string }
  | { readonly piece: "lease"; readonly digest: string }
  | { readonly piece: "foreignHolder"; readonly holder: string; readonly owner: LeaseOwner };

/** Read these uncached, add them to the view, decide again. Never an effect. */
export interface Look extends Base {
  readonly kind: "look";
  readonly what: readonly LookItem[];
}

/** Replaces the resource's status. Safe with an old view: a conflict on the resourceVersion does nothing. */
export interface PatchStatus extends OnResource {
  readonly kind: "patchStatus";
  readonly status: Status;
}

/** Adds or removes our finalizer, or sets (string) or removes (null) annotations of ours. Same precondition. */
export interface PatchMetadata extends OnResource {
  readonly kind: "patchMetadata";
  readonly finalizer?: "add" | "remove";
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/**
 * Double move: the finalizer where it is absent, then the status with the claim on the resourceVersion that patch
 * returned. A stop between leaves a bare finalizer, which rule 10 removes.
 */
export interface ClaimMove extends OnResource {
  readonly kind: "claim";
  readonly finalizer: boolean;
  readonly status: Status;
}

/**
 * Double move: the status with `dispatchStarted`, then the one create of the Job. Only after the status was accepted may
 * the create be sent, and only once. Any answer to the create but success is kept as `memory.createFailed`; a stop between
 * is the outcome-unknown window. A retry of the create is never sent.
 */
export interface Dispatch extends OnResource {
  readonly kind: "dispatch";
  readonly status: Status;
  readonly job: OperationSpec<Work>;
}

/** Content of a Lease as it is to be. An empty holder releases it; a Lease is never deleted. */
export interface LeaseContent {
  readonly holder: string;
  readonly epoch: string;
  readonly durationSeconds: number;
  readonly acquiredAtMs: number;
  readonly renewedAtMs: number;
  readonly transitions: number;
  readonly owner?: LeaseOwner;
}

/**
 * Creates the Lease (`over` absent; AlreadyExists does nothing) or replaces it on exactly the UID and resourceVersion that
 * were read. Acquire, renew and release are this one effect. Safe with an old view: another writer in between makes it a
 * conflict, and an epoch is never used twice, so it can only touch the holding that was read.
 */
export interface WriteLease extends Base {
  readonly kind: "writeLease";
  readonly purpose: "acquire" | "renew" | "release";
  readonly digest: string;
  readonly content: LeaseContent;
  readonly over?: { readonly uid: string; readonly resourceVersion: string };
}

/**
 * Creates the immutable snapshot of the source, from exactly the ConfigMap version that was read. Create-only and named by
 * its content: an existing one is the same or is refused when read back.
 */
export interface CreateSnapshot extends Base {
  readonly kind: "createSnapshot";
  readonly name: string;
  readonly contentDigest: string;
  readonly source: { readonly identity: string; readonly resourceVersion: string };
}

/** Creates the plan object. Create-only under a name that its fingerprint and serial determine. */
export interface CreatePlan extends Base {
  readonly kind: "createPlan";
  readonly name: string;
  readonly spec: PlanSpec;
}

/** Creates one chunk, owned by the plan's UID. Create-only; its digest stands in the plan. */
export interface CreateChunk extends Base {
  readonly kind: "createChunk";
  readonly planName: string;
  readonly planUID: string;
  readonly index: number;
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Writes the plan's Ready condition and its chunks' UIDs, on the UID and resourceVersion read. True of any reader's view: the chunks were read back. */
export interface MarkPlanReady extends Base {
  readonly kind: "markPlanReady";
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly chunks: readonly { readonly name: string; readonly uid: string; readonly index: number }[];
}

/** Creates the immutable ConfigMap with one chunk's bytes, owned by the plan. Create-only; the bytes are the chunk's. */
export interface CreateProjection extends Base {
  readonly kind: "createProjection";
  readonly planName: string;
  readonly planUID: string;
  readonly index: number;
  readonly name: string;
  readonly digest: string;
}

/** Writes what an approval has become (Accepted, Stale). On its resourceVersion; never clears `consumedBy`. */
export interface MarkApproval extends Base {
  readonly kind: "markApproval";
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: ApprovalStatus;
}

/** Writes what an acknowledgment has become (Consumed, Stale). On its resourceVersion; it settles nothing by itself. */
export interface MarkAcknowledgment extends Base {
  readonly kind: "markAcknowledgment";
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: AcknowledgmentStatus;
}

/** Spends an approval on one dispatch. On its resourceVersion and only where `consumedBy` is empty, so of two old views one wins. */
export interface ConsumeApproval extends Base {
  readonly kind: "consumeApproval";
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: ApprovalStatus;
}

/**
 * Removes our scheduling gate from exactly this Pod, on its UID and resourceVersion, while `notAfterMs` has not passed
 * (checked again at the moment of sending). The Pod is the one the claim recorded; another Pod of the Job stays gated.
 */
export interface OpenGate extends Base {
  readonly kind: "openGate";
  readonly podName: string;
  readonly podUID: string;
  readonly resourceVersion: string;
  readonly notAfterMs: number;
}

/** Sets the Job's TTL, on its UID. It only ever collects a Job that is terminal, or one that lost its Lease. */
export interface ScheduleTtl extends Base {
  readonly kind: "scheduleTtl";
  readonly jobName: string;
  readonly jobUID: string;
  readonly ttlSeconds: number;
}

/** Deletes a superseded plan or an unused snapshot, on UID and resourceVersion, after the resource was read uncached. */
export interface DeleteObject extends Base {
  readonly kind: "deletePlan" | "deleteSnapshot";
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Something is under way. Decide again at `untilMs` at the latest, or when a watch says something changed. `read`: have
 * this Pod's result read beside the pass (at most `boundMs`), unless that is going on already, and decide again with it.
 */
export interface Wait extends Base {
  readonly kind: "wait";
  readonly until: string;
  readonly untilMs: number;
  readonly read?: {
    readonly podName: string;
    readonly podUID: string;
    readonly operation: string;
    readonly operationID: string;
    readonly boundMs: number;
    /** A reading older than this is read again. */
    readonly notBeforeMs: number;
  };
}

/** Nothing to do. Decide again at `untilMs` where given, or when a watch says something changed. */
export interface Rest extends Base {
  readonly kind: "rest";
  /** The phase that says what the resource rests in; a model checks it, nobody decides by it. */
  readonly verdict: string;
  readonly untilMs?: number;
}

export type Move =
  | Look
  | PatchStatus
  | PatchMetadata
  | ClaimMove
  | Dispatch
  | WriteLease
  | CreateSnapshot
  | CreatePlan
  | CreateChunk
  | MarkPlanReady
  | CreateProjection
  | MarkApproval
  | MarkAcknowledgment
  | ConsumeApproval
  | OpenGate
  | ScheduleTtl
  | DeleteObject
  | Wait
  | Rest;

export type MoveKind = Move["kind"];
