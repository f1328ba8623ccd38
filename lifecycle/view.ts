/**
 * Everything one decision may see, as plain data. The shell fills it (manager) or the explorer does (model); `decide`
 * reads nothing else.
 *
 * Contract with whoever fills it (changes to this file are announced here: `JobFacts.oneShot` was added;
 * `recordJob` and `recordPods` were added, `job` and `pods` are the claim's only; `acknowledgments` was added, for the
 * family whose people settle by one; `spec`, `status` and a plan's `spec` are of the family that `family` names):
 * - Every piece says how it was read: `cached` (a watch's cache, possibly old) or `fresh` (an uncached read made for
 *   this very decision because a `look` asked for it). A piece that was not looked at is absent; "not found" is `null`
 *   inside a piece.
 * - A decision begins with the cached pieces the filler has at hand (at least `resource`); `decide` answers `look` when it
 *   needs more, the filler adds those pieces as `fresh` to the SAME view and calls `decide` again. After any effect the
 *   view is thrown away: what a look brought is valid for one effect.
 * - A read that fails (API error) ends the pass; it is retried with backoff, nothing is decided without it.
 * - Instants are milliseconds since the epoch in the view, RFC 3339 strings in status.
 */
import type { ApprovalIdentity } from "../crds/common.ts";
import type {
  AcknowledgmentStatus,
  AdmissionSnapshot,
  ApprovalStatus,
  ExecutionComponents,
  ManagerRecord,
  Mirror,
} from "../crds/status/index.ts";
import type { OperationResult } from "../workload/result.ts";
import type { FamilyName, PlanSpec, Spec, Status } from "./families/types.ts";

export type { FamilyName } from "./families/types.ts";

/** A piece of the view and how it was read. */
export interface Piece<T> {
  readonly how: "cached" | "fresh";
  readonly value: T;
}

export interface View {
  readonly family: FamilyName;
  readonly now: {
    /** Wall clock, for absolute deadlines and retry instants. */
    readonly wallMs: number;
    /** Monotonic clock of this process, for what it saw unchanged. */
    readonly monotonicMs: number;
  };
  readonly fresh: FreshValues;
  readonly configuration: Configuration;
  readonly resource: Piece<ResourceFacts>;
  readonly plan?: Piece<PlanFacts>;
  readonly plans?: Piece<readonly OwnedPlanFacts[]>;
  readonly approvals?: Piece<readonly ApprovalFacts[]>;
  /** Every acknowledgment whose reference names this resource; absent where the family has none. */
  readonly acknowledgments?: Piece<readonly AcknowledgmentFacts[]>;
  readonly source?: Piece<SourceFacts>;
  readonly snapshots?: Piece<readonly SnapshotFacts[]>;
  readonly census?: Piece<CensusFacts>;
  readonly lease?: Piece<LeaseFacts>;
  /** The attempt a foreign Lease stands for; only ever looked at, never cached. */
  readonly foreignHolder?: Piece<ForeignHolderFacts>;
  /** The Job of the claim. */
  readonly job?: Piece<NamedJobFacts>;
  /** Every Pod of that Job in the namespace, by owner. */
  readonly pods?: Piece<NamedPodFacts>;
  /** The Job of the record, and its Pods: beside a claim that proves it both pairs are there. */
  readonly recordJob?: Piece<NamedJobFacts>;
  readonly recordPods?: Piece<NamedPodFacts>;
  /** Jobs this resource owns that are terminal, from the cache; for their clean-up only. */
  readonly ownedJobs?: Piece<readonly JobFacts[]>;
  readonly envelope?: Piece<EnvelopeFacts>;
  readonly projections?: Piece<readonly ProjectionFacts[]>;
  readonly result?: ResultFacts;
  readonly memory: Memory;
}

/** Random values nobody has seen before; drawn anew for every decision. */
export interface FreshValues {
  /** 32 hex digits. */
  readonly nonce: string;
  /** `v1-` and 32 hex digits. */
  readonly epoch: string;
  /** 0 (inclusive) to 1 (exclusive), for jitter. */
  readonly fraction: number;
}

export interface Configuration {
  /** What this manager runs operations with; compared with status.executionBinding by one rule only. */
  readonly components: ExecutionComponents;
  readonly manager: ManagerRecord;
  /** Scratch server images by `<engine>-<major>`, for example `postgresql-17`. */
  readonly scratchImages: Readonly<Record<string, ScratchImage>>;
}

export interface ScratchImage {
  /** Digest-pinned. */
  readonly image: string;
  /** The uid the image's own passwd knows its server by. */
  readonly uid: number;
}

export interface CreateFailed {
  readonly jobName: string;
  readonly code: string;
  /** What the API server answered, bounded, on one line without a full stop (for messages only). */
  readonly sentence?: string;
}

/** What only this process knows. */
export interface Memory {
  /** The create of this Job was answered with an error in this process; cleared when the claim changes. */
  readonly createFailed?: CreateFailed;
  /** Since when this process has seen this exact foreign Lease record (holder, epoch, renewal) unchanged. */
  readonly leaseUnchanged?: { readonly record: string; readonly sinceMonotonicMs: number };
}

export interface ResourceFacts {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  /** Whether our finalizer is on it. */
  readonly finalizer: boolean;
  readonly marks: Marks;
  readonly spec: Spec;
  readonly status: Status;
}

/** The annotations the lifecycle reads, parsed at the door. */
export interface Marks {
  readonly mirror?: MirrorMark;
  readonly settledApply?: { readonly operationID: string; readonly by: ApprovalIdentity | undefined };
  readonly readRequestedAt?: string;
}

export type MirrorMark =
  | { readonly state: "read"; readonly mirror: Mirror }
  /** Written by a newer contract: refused, never interpreted. */
  | { readonly state: "newer"; readonly version: number }
  | { readonly state: "unreadable" };

/** One plan object by name, with its chunks. `object` is null when there is none of that name. */
export interface PlanFacts {
  readonly name: string;
  readonly object: PlanObjectFacts | null;
  readonly chunks: readonly ChunkFacts[];
}

export interface PlanObjectFacts {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  /** The one controller owner is this resource. */
  readonly ownedByUs: boolean;
  readonly spec: PlanSpec;
  readonly ready: boolean;
  readonly createdAt: string;
}

export interface ChunkFacts {
  readonly index: number;
  readonly name: string;
  readonly uid: string;
  /** Digest of the bytes it holds, computed from them. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** UID of the plan object that owns it. */
  readonly ownerUID: string;
  readonly deleting: boolean;
}

/** A plan object this resource owns. */
export interface OwnedPlanFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly serial: number;
  readonly fingerprint: string;
  readonly contentDigest: string;
  readonly executionBindingID: string;
  readonly controllerStateVersion: number;
  readonly deleting: boolean;
}

/** An approval whose reference names this resource. */
export interface ApprovalFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  /** Name and UID of the resource it names. */
  readonly resourceName: string;
  readonly resourceUID: string;
  readonly planName: string;
  readonly planUID: string;
  readonly planFingerprint: string;
  readonly approver: ApprovalIdentity;
  readonly approvedAt: string;
  /** True where admission's three stamps are all there. */
  readonly stamped: boolean;
  readonly status: ApprovalStatus;
}

/** A person's word about one run of this resource. */
export interface AcknowledgmentFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  /** Name and UID of the resource it names. */
  readonly resourceName: string;
  readonly resourceUID: string;
  /** The run it is about. */
  readonly operationID: string;
  readonly by: ApprovalIdentity;
  readonly acknowledgedAt: string;
  /** True where admission's three stamps are all there. */
  readonly stamped: boolean;
  readonly status: AcknowledgmentStatus;
}

/** What the source holds now, judged against its source policy. */
export type SourceFacts =
  | {
      readonly state: "resolved";
      readonly kind: "ConfigMap";
      readonly requestedReference: string;
      /** UID of the ConfigMap. */
      readonly identity: string;
      readonly resourceVersion: string;
      readonly contentDigest: string;
      readonly fileCount: number;
      readonly sizeBytes: number;
      readonly policyUID?: string;
      readonly policyDigest?: string;
    }
  | {
      readonly state: "refused";
      readonly reason: "SourceNotFound" | "SourceRefused" | "SourcePolicyNotFound" | "SourcePolicyRefused";
      /** What is wrong and what to do next. */
      readonly sentence: string;
    };

/** A source snapshot this resource owns. */
export interface SnapshotFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly contentDigest: string;
  readonly createdAtMs: number;
  readonly deleting: boolean;
  /** Immutable, ours, and its manifest and files give the digest. */
  readonly intact: boolean;
}

/** Who else claims this resource's realm, and what the PtahRealm says where one is named. */
export interface CensusFacts {
  readonly coordinationDigest: string;
  /** Every other resource of both families with this coordination digest that is not excluded by suspension or deletion. */
  readonly others: readonly ClaimantFacts[];
  /** Present where spec.target.realmRef names one. */
  readonly realm?:
    | { readonly state: "missing" }
    | {
        readonly state: "found";
        readonly engine: string;
        readonly namespaceListed: boolean;
        readonly sharing: "Exclusive" | "Shared";
      };
}

export interface ClaimantFacts {
  readonly family: FamilyName;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly sharedRealm: boolean;
  readonly suspended: boolean;
  readonly deleting: boolean;
  readonly engineSupported: boolean;
  /** Has a claim, or a record. */
  readonly owes: boolean;
}

/** The realm's Lease. `lease` is null when there is none. */
export interface LeaseFacts {
  readonly digest: string;
  readonly lease: {
    readonly uid: string;
    readonly resourceVersion: string;
    /** Empty when nobody holds it. */
    readonly holder: string;
    readonly epoch: string;
    readonly durationSeconds: number;
    readonly acquiredAtMs: number;
    readonly renewedAtMs: number;
    readonly transitions: number;
    readonly owner?: LeaseOwner;
  } | null;
}

/** The attempt a Lease stands for, as its annotations name it. */
export interface LeaseOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly jobName: string;
  /** Absent for a read, which never may write. */
  readonly executionNotAfter?: string;
}

/** What uncached reads say about a foreign Lease's attempt. */
export interface ForeignHolderFacts {
  /** Holder identity the facts are about. */
  readonly holder: string;
  /**
   * The claim or record of that attempt; null where the resource is gone or holds neither. Every Pod of the Job listed
   * by owner is merged into its evidence.
   */
  readonly attempt: Attempt | null;
  readonly job: JobFacts | null;
  readonly pods: readonly PodFacts[];
}

/**
 * One attempt as claim, record and mirror say it alike; `mayStillWrite` reads nothing else. The same evidence whatever
 * the family.
 */
export interface Attempt {
  readonly jobName: string;
  readonly jobUID?: string | undefined;
  /** The Job was seen terminal or gone, durably. */
  readonly jobTerminal?: boolean | undefined;
  readonly pods: readonly { readonly uid: string; readonly terminated?: boolean | undefined }[];
  readonly podCount: number;
  readonly executionNotAfter?: string | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  /** Create, Job or Pod identity is uncertain. */
  readonly uncertain: boolean;
  /** The record's observeAfter; absent on a claim. */
  readonly observeAfter?: string | undefined;
}

export interface NamedJobFacts {
  readonly name: string;
  readonly job: JobFacts | null;
}

export interface JobFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  /** UID of the one controller owner, empty when there is none or several. */
  readonly ownerUID: string;
  readonly operationID: string;
  readonly executionBindingID: string;
  /** Digest of its Pod template as `templateDigest` computes it. */
  readonly templateDigest: string;
  /** One Pod, once, and no second try (`parallelism` 1, `backoffLimit` 0 and what belongs to it). */
  readonly oneShot: boolean;
  readonly terminal?: "Complete" | "Failed";
  /** When the terminal condition was set. */
  readonly finishedAtMs?: number;
  /** Its Pod was ended because the Job's deadline had passed (for messages only). */
  readonly cutByDeadline?: boolean;
  readonly ttlSeconds?: number;
  /** The API server refused its Pod (FailedCreate), and no Pod exists. */
  readonly podRefused?: boolean;
}

export interface NamedPodFacts {
  readonly jobName: string;
  readonly pods: readonly PodFacts[];
}

export interface PodFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** UID of the Job that owns it. */
  readonly jobUID: string;
  readonly deleting: boolean;
  /** Still behind our scheduling gate. */
  readonly gated: boolean;
  /** Its operation container was terminated; a Pod that ended without ever starting it counts too. */
  readonly terminated: boolean;
  /** The final Pod is the template within the admission snapshot. */
  readonly accepted: boolean;
  /** Why the operation container cannot start, in few words, where the Pod says so (for messages only). */
  readonly waiting?: string;
  /** The cluster's word for why the Pod or its operation container was ended, OOMKilled or Evicted (for messages only). */
  readonly endedBy?: string;
}

/**
 * What the envelope's objects give, before the template's digest is known; `unresolved` where one is missing or beyond
 * bounds.
 */
export type EnvelopeFacts =
  | { readonly state: "resolved"; readonly snapshot: Omit<AdmissionSnapshot, "digest" | "templateDigest"> }
  | { readonly state: "unresolved"; readonly sentence: string };

/** An immutable ConfigMap with one chunk's bytes, owned by the plan. */
export interface ProjectionFacts {
  readonly name: string;
  readonly uid: string;
  readonly planUID: string;
  /** Digest of its bytes, computed from them. */
  readonly digest: string;
  readonly immutable: boolean;
  readonly deleting: boolean;
}

/** What is known of the result of one Pod; reading it happens beside the pass (see `wait`). */
export type ResultFacts = { readonly podUID: string } & (
  | { readonly state: "reading" }
  /** A valid frame bound to the operation. */
  | { readonly state: "frame"; readonly result: OperationResult }
  /** The log was read whole and holds no such frame (yet). */
  | { readonly state: "none"; readonly readAtMs: number }
  /** A refusal of a runner of another protocol. */
  | { readonly state: "otherProtocol" }
  /** A frame is there that can never become valid. */
  | { readonly state: "invalid" }
  /** The log could not be read: decides nothing. */
  | { readonly state: "failed"; readonly timedOut: boolean; readonly readAtMs: number }
);
