/**
 * What a family supplies; nothing else differs between them. A rule that would ask which family it runs for belongs
 * into a member of this interface.
 */
import type { ApprovalIdentity } from "../../crds/common.ts";
import type { SourceSpec } from "../../crds/source.ts";
import type {
  AcceptedApproval,
  ApplyRecord,
  Claim,
  Cycle,
  JournalEntry,
  Mirror,
  ResolvedRun,
  ResolvedSource,
  SourceBinding,
} from "../../crds/status/index.ts";
import type { Work } from "../../workload/operation.ts";
import type { OperationResult } from "../../workload/result.ts";
import type { Told } from "../conditions.ts";
import type { Context } from "../context.ts";
import type { EventIntent, Move, RuleId } from "../move.ts";
import type { AttemptFailure } from "../obligations/retry.ts";
import type { Cause, Leads } from "../present.ts";
import type { PlanFacts } from "../view.ts";
import type { Kind } from "./kinds.ts";
import type { FamilyName, Phase, PlanSpec, Spec, Status } from "./types.ts";

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

/** What this version, or this manager's configuration, does not run. */
export interface Refusal {
  readonly reason:
    | "UnsupportedEngine"
    | "UnsupportedSource"
    | "UnsupportedServerVersion"
    | "RealmConflict"
    | "RealmNotAuthorized";
  readonly sentence: string;
}

/** What a dispatched Apply's own account came to. */
export interface Judged {
  readonly unknown: boolean;
  readonly sentence: string;
}

/** How a dispatched Apply ended. */
export interface Outcome extends Judged {
  /** Create, Job or Pod identity is uncertain. */
  readonly uncertain: boolean;
  readonly jobTerminal?: boolean;
  /** When its Job ended. */
  readonly finishedAtMs?: number | undefined;
  /** Its account, where there is one. */
  readonly result?: OperationResult;
}

/** A person's word that a run is accounted for. */
export interface Word {
  readonly resolution: "Acknowledged" | "Settled";
  readonly by: ApprovalIdentity;
  readonly acknowledgment?: ResolvedRun["acknowledgment"];
}

/** Facts of a family that are the same for every resource of it. */
export interface FamilyConstants {
  readonly name: FamilyName;
  readonly kind: Kind;
  /** Kind of its plan objects, for messages. */
  readonly planKind: string;
  readonly finalizer: string;
  /** Readings in the order of a cycle. */
  readonly reads: readonly ReadType[];
  /** The reading that follows a resolved source. */
  readonly afterSource: "Observe" | "History";
  /** The reading an unaccounted Apply's proof starts with. */
  readonly proofStart: "Observe" | "History";
  /** The record stops the pass until it is settled; else only while its own reading is owed. */
  readonly proofStopsEverything: boolean;
  /** The reading of a record that needs the record's Lease. */
  readonly proofUnderLease: ReadType | undefined;
  /** A record's Lease is given back once nobody may write, and its reading takes none. */
  readonly releasesBeforeProof: boolean;
  readonly takesLease: (type: Claim["type"]) => boolean;
  /** Seconds a Lease taken by this operation lasts. @param deadlineSeconds spec.execution.activeDeadlineSeconds */
  readonly leaseSeconds: (type: Claim["type"], deadlineSeconds: number) => number;
  /** An Apply that lost its Lease is unknown at once, its Job given its TTL while it runs; else it is seen to its end first. */
  readonly lostEndsAtOnce: boolean;
  /** A plan's chunks are projected into ConfigMaps for its Job. */
  readonly projectsPlan: boolean;
  /** Where a claim goes whose plan or target moved, and the reading that follows. */
  readonly staleLeads: Leads;
  readonly staleNext: ReadType;
  /** Where an Apply goes whose approval was revoked, and the reading that follows. */
  readonly revoked: { readonly leads: Leads; readonly next: ReadType | undefined };
  /** Where suspension leads that drops a claim. */
  readonly suspendLeads: "Suspended" | "Pending";
  /** A claim whose Job cannot be built stays and tries again; else it is cleared, and the source resolved anew. */
  readonly keepsUnbuiltClaim: boolean;
  /** Outcome of a record where nobody established one. */
  readonly unknownOutcome: ApplyRecord["outcome"];
}

/** Where a family keeps in status and spec what both have. */
export interface FamilyFields {
  readonly record: (status: Status) => ApplyRecord | undefined;
  readonly withRecord: (record: ApplyRecord | undefined) => Partial<Status>;
  readonly source: (status: Status) => ResolvedSource | undefined;
  readonly withSource: (source: ResolvedSource) => Partial<Status>;
  /** Identity of the database that was last read. */
  readonly readTarget: (status: Status) => string | undefined;
  /** Whether status says of this Apply that it ended and left no record. */
  readonly accountedFor: (status: Status, operationID: string) => boolean;
  /** UIDs of plans that what is kept of the past names. */
  readonly keptPlans: (status: Status) => readonly (string | undefined)[];
  readonly declared: (spec: Spec) => { readonly source: SourceSpec; readonly field: string };
}

/** What a family tells people. */
export interface FamilyNarration {
  /** Undefined where the phase stays what it is. @param owes an Apply is not accounted for */
  readonly phase: (cause: Cause, owes: boolean) => Phase | undefined;
  readonly conditions: (cause: Cause, owes: boolean) => Told;
  /** How a person ends the wait for a proof: a command, for messages. */
  readonly wayOut: (c: Context) => string;
  /** The journal's entry of an Apply whose record a restore brought back. */
  readonly lostEntry: (c: Context, mirror: Mirror) => JournalEntry;
  /** The journal's and Events' word on a person's settling. */
  readonly settledEntry: (c: Context, record: ApplyRecord, word: Word) => JournalEntry;
  readonly settledEvent: (word: Word) => EventIntent;
  readonly restoredEvent: () => EventIntent;
}

export interface Family extends FamilyConstants, FamilyFields, FamilyNarration {
  /** What policy says of the plan that stands; undefined where it may not run by itself or by an approval. */
  readonly authorised: (c: Context) => Authorised | undefined;
  /** What the resource rests in, in its family's words; undefined where nothing new can be said of it. */
  readonly restsIn: (c: Context) => { readonly verdict: string; readonly cause?: Cause };
  readonly planDifference: (c: Context) => PlanDifference | undefined;
  /** Chunks that hold a plan's bytes, as its object lists them. */
  readonly chunksOf: (spec: PlanSpec) => readonly { readonly index: number; readonly digest: string; size: number }[];
  /** Whether a plan object holds what its digest says, chunks aside. */
  readonly intact: (c: Context, facts: PlanFacts) => boolean;
  /** What keeps this manager from reading a server of the version last read. @param record whose reading it is */
  readonly serverRefusal: (c: Context, record: ApplyRecord | undefined) => Refusal | undefined;
  /** When the server was last read, and the fields that forget its version. */
  readonly server: (c: Context) => { readonly readAt: string | undefined; readonly forgotten: Partial<Status> };
  /** The operation's own part of the Job; a sentence where it cannot be built. */
  readonly work: (c: Context, claim: Claim) => Work | { readonly unbuilt: string };
  /**
   * What follows from a reading's result, after its frame was accepted. `ttl` is the Job's TTL where it is still owed: it
   * comes after what the reading publishes and before the patch that ends the claim.
   */
  readonly judgeRead: (c: Context, rule: RuleId, claim: Claim, result: OperationResult, ttl: Move | undefined) => Move;
  /** Inputs of a cycle's reading; a look where something has to be read for them. */
  readonly readInputs: (c: Context, rule: RuleId, read: ReadType) => Inputs;
  /** Inputs of a record's reading. */
  readonly proofInputs: (c: Context, rule: RuleId, record: ApplyRecord, read: ReadType) => Inputs;
  /** What a failed attempt of a record's reading leads to, where it is not the next attempt. */
  readonly proofFailed: (c: Context, rule: RuleId, claim: Claim, failure: AttemptFailure) => Move | undefined;
  /** What a record whose own reading is over, or cannot be made, still does before other rules. */
  readonly afterProof: (c: Context, record: ApplyRecord) => Move | undefined;
  /** Inputs of an Apply of the plan that stands. */
  readonly applyInputs: (c: Context, approval: AcceptedApproval | undefined) => ClaimInputs | undefined;
  /** What a record put back from metadata reads under: today's source, target and policy. */
  readonly todaysBinding: (c: Context, source: SourceBinding) => Partial<ApplyRecord>;
  /** Whether a dispatched Apply's result leaves its outcome unknown, in a sentence. */
  readonly judgeApply: (claim: Claim, result: OperationResult) => Judged;
  /** The one patch that ends a dispatched Apply: claim cleared, record or result written. */
  readonly conclude: (c: Context, rule: RuleId, claim: Claim, outcome: Outcome) => Move;
  /** The word of a person that names the standing record, as far as the view shows one. */
  readonly word: (c: Context, record: ApplyRecord) => Word | { readonly look: Move } | undefined;
  /** What of people's words waits for our mark. */
  readonly markWords: (c: Context) => Move | undefined;
}
