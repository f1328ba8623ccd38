/**
 * What a family supplies; nothing else differs between them. A rule that would ask which family it runs for belongs
 * into a member of this interface.
 */
import type { AcceptedApproval, SourceBinding } from "../../crds/status/index.ts";
import type { ApplyRecord, Claim, Cycle } from "../../crds/status/lifecycle.ts";
import type { OperationSpec } from "../../workload/operation.ts";
import type { OperationResult } from "../../workload/result.ts";
import type { Context, Status } from "../context.ts";
import type { Move, RuleId } from "../move.ts";
import type { Cause, Leads } from "../present.ts";
import type { FamilyName } from "../view.ts";

export type ReadType = NonNullable<Cycle["next"]>;

/** What a claim is decided from; the rest of it follows. */
export type ClaimInputs = Omit<
  Claim,
  "id" | "inputFingerprint" | "jobName" | "startedAt" | "attempt" | "executionBindingID"
>;
export type Inputs = { readonly look: Move } | { readonly inputs: ClaimInputs };

/** How an Apply that is authorised may run: with the approval it spends, or by policy alone. */
export type Authorised = { readonly by: "policy" } | { readonly by: "approval" };

/** Why the plan that stands no longer holds, and which reading is to follow. */
export interface PlanDifference {
  readonly next: ReadType;
  readonly sentence: string;
  /** The cycle under way began after this change and has read it already. */
  readonly alreadyRead: boolean;
}

export interface Family {
  readonly name: FamilyName;
  readonly kind: "PtahSchema";
  /** Readings in the order of a cycle. */
  readonly reads: readonly ReadType[];
  /** The reading that follows a resolved source. */
  readonly afterSource: "Observe" | "History";
  /** The reading an unaccounted Apply's proof starts with. */
  readonly proofStart: "Observe" | "History";
  /** The record stops the pass until it is settled. */
  readonly proofStopsEverything: boolean;
  /** The reading of a record that needs the record's Lease. */
  readonly proofUnderLease: ReadType | undefined;
  readonly takesLease: (type: Claim["type"]) => boolean;
  /** Seconds a Lease taken by this operation lasts. @param deadlineSeconds spec.execution.activeDeadlineSeconds */
  readonly leaseSeconds: (type: Claim["type"], deadlineSeconds: number) => number;
  /** A Job is given its TTL while it runs, once its Lease was lost. */
  readonly ttlOnRunning: boolean;
  /** Where a claim goes whose plan or target moved. */
  readonly staleLeads: Leads;
  readonly record: (status: Status) => ApplyRecord | undefined;
  readonly withRecord: (record: ApplyRecord | undefined) => Partial<Status>;
  readonly source: (status: Status) => SourceBinding | undefined;
  /** What policy says of the plan that stands; undefined where it may not run by itself or by an approval. */
  readonly authorised: (c: Context) => Authorised | undefined;
  /** What the resource rests in, in its family's words; undefined where nothing new can be said of it. */
  readonly restsIn: (c: Context) => { readonly verdict: string; readonly cause?: Cause };
  readonly planDifference: (c: Context) => PlanDifference | undefined;
  /** The operation's own part of the Job; a sentence where it cannot be built. */
  readonly work: (c: Context, claim: Claim) => OperationSpec["work"] | { readonly unbuilt: string };
  /**
   * What follows from a reading's result, after its frame was accepted. `ttl` is the Job's TTL where it is still owed: it
   * comes after what the reading publishes and before the patch that ends the claim.
   */
  readonly judgeRead: (c: Context, rule: RuleId, claim: Claim, result: OperationResult, ttl: Move | undefined) => Move;
  /** Inputs of a cycle's reading; a look where something has to be read for them. */
  readonly readInputs: (c: Context, rule: RuleId, read: ReadType) => Inputs;
  /** Inputs of a record's reading. */
  readonly proofInputs: (c: Context, rule: RuleId, record: ApplyRecord, read: ReadType) => Inputs;
  /** Inputs of an Apply of the plan that stands. */
  readonly applyInputs: (c: Context, approval: AcceptedApproval | undefined) => ClaimInputs | undefined;
  /** What a record put back from metadata reads under: today's source, target and policy. */
  readonly todaysBinding: (c: Context, source: SourceBinding) => Partial<ApplyRecord>;
  /** Whether a dispatched Apply's result leaves its outcome unknown, in a sentence. */
  readonly judgeApply: (
    claim: Claim,
    result: OperationResult,
  ) => { readonly unknown: boolean; readonly sentence: string };
}
