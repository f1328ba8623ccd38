/**
 * The explored world as plain immutable data: what the API server stores, what runs beside it, what each manager
 * remembers, how many faults are left, and what only an observer outside knows (the ghost).
 */
import type { AcknowledgmentStatus, ApplyRecord, ApprovalStatus } from "../../crds/status/index.ts";
import type { FamilyName, PlanSpec, Status } from "../families/types.ts";
import type { Move } from "../move.ts";
import type { ChunkFacts, LeaseOwner, Memory } from "../view.ts";
import type { Frame } from "./frames.ts";
import { type Content, REALM, realmOf, type SpecInputs } from "./values.ts";

export interface World {
  readonly now: number;
  readonly resource: Resource | null;
  readonly source: { readonly content: Content; readonly version: number; readonly missing: boolean };
  /** Whether the objects of the admission envelope resolve, and which version of them. */
  readonly envelope: { readonly resolves: boolean; readonly version: number };
  /** Release of the manager (execution components) and stored-state version it knows. */
  readonly release: number;
  readonly knows: number;
  /** Which image of the manager runs; its components are the release's. */
  readonly rollout: number;
  /** Major version of the database servers. */
  readonly major: number;
  /** Which database the target's Secret names. */
  readonly secret: number;
  readonly databases: readonly Database[];
  readonly plans: readonly Plan[];
  readonly projections: readonly Projection[];
  readonly approvals: readonly Approval[];
  /** What people said of runs that nobody accounts for. */
  readonly words: readonly Acknowledgment[];
  readonly snapshots: readonly Snapshot[];
  readonly lease: Lease | null;
  readonly jobs: readonly Job[];
  readonly pods: readonly Pod[];
  readonly creating: readonly Creating[];
  /** Another resource on the same realm, as far as its Lease and its writing go. */
  readonly other: Contender;
  /** Other resources of one joint world (`joint.ts`), each with its own objects; what is shared is the same in all. */
  readonly peers: readonly World[];
  readonly managers: readonly Manager[];
  /** What is left of each budget, in the order of BUDGETS. */
  readonly left: readonly number[];
  readonly ghost: Ghost;
}

export interface Resource {
  readonly family: FamilyName;
  readonly uid: string;
  readonly version: number;
  readonly generation: number;
  readonly deleting: boolean;
  readonly finalizer: boolean;
  readonly inputs: SpecInputs;
  /** Annotation values as stored. */
  readonly mirror?: string | undefined;
  readonly settled?: string | undefined;
  readonly readRequest?: string | undefined;
  readonly status: Status;
}

export interface Database {
  /**
   * Of a schema: a content, `empty`, `foreign`, or `from~to` between two statements of a plan. Of a migration: its
   * revision table (`revisions.ts`).
   */
  readonly state: string;
}

export interface Plan {
  readonly name: string;
  readonly uid: string;
  readonly version: number;
  readonly owner: string;
  readonly spec: PlanSpec;
  readonly ready: boolean;
  readonly createdAt: number;
  readonly chunks: readonly ChunkFacts[];
}

export interface Projection {
  readonly name: string;
  readonly uid: string;
  readonly planUID: string;
  readonly digest: string;
}

export interface Approval {
  readonly name: string;
  readonly uid: string;
  readonly version: number;
  readonly resourceUID: string;
  readonly planName: string;
  readonly planUID: string;
  readonly planFingerprint: string;
  readonly approvedAt: number;
  readonly status: ApprovalStatus;
}

/** A person's word about one run. */
export interface Acknowledgment {
  readonly name: string;
  readonly uid: string;
  readonly version: number;
  readonly resourceUID: string;
  readonly operationID: string;
  readonly acknowledgedAt: number;
  readonly status: AcknowledgmentStatus;
}

export interface Snapshot {
  readonly name: string;
  readonly uid: string;
  readonly owner: string;
  readonly digest: string;
  readonly createdAt: number;
}

export interface Lease {
  readonly uid: string;
  readonly version: number;
  readonly holder: string;
  readonly epoch: string;
  readonly durationSeconds: number;
  readonly acquiredAt: number;
  readonly renewedAt: number;
  readonly transitions: number;
  readonly owner?: LeaseOwner | undefined;
}

/** What a Job was built to do, distilled from its OperationSpec. */
export interface Work {
  readonly family: FamilyName;
  readonly type: "Observe" | "Plan" | "History" | "Apply";
  /** Content digest read, or whose files are run; empty for a reading of the version alone and for a plan's statements. */
  readonly content: string;
  readonly exclude: boolean;
  /** Server major it counts on; 0 where none is known yet. */
  readonly major: number;
  /** What an Apply carries out (the plan document's digest, or the versions in order), its fingerprint and target. */
  readonly plan: string;
  readonly fingerprint: string;
  readonly target: string;
  readonly dispatchNotAfter: number;
  readonly executionNotAfter: number;
}

export interface Job {
  readonly name: string;
  readonly uid: string;
  readonly owner: string;
  readonly operationID: string;
  readonly epoch: string;
  readonly templateDigest: string;
  readonly work: Work;
  readonly deadlineAt: number;
  readonly terminal?: "Complete" | "Failed" | undefined;
  readonly finishedAt?: number | undefined;
  readonly ttlSeconds?: number | undefined;
  readonly podRefused?: boolean | undefined;
  /** How many Pods the Job controller ever made for it. */
  readonly made: number;
}

/** One step of the world, of a person or of a fault. `say` is prose for a trace. */
export interface Step {
  readonly say: string;
  readonly next: World;
  /** Set where no fairness promises it: a fault, or a person's free will. */
  readonly unfair?: boolean;
}

export interface Pod {
  readonly uid: string;
  readonly jobUID: string;
  readonly jobName: string;
  /** What its process does, fixed when it was created: it may outlive its Job. */
  readonly work: Work;
  readonly operationID: string;
  readonly version: number;
  readonly gated: boolean;
  /** The API object: there, on its way out, or gone while the process may live on. */
  readonly object: "there" | "deleting" | "gone";
  /** The process: not begun, past its checks and writing, between two statements, done writing, ended. */
  readonly process: "waiting" | "started" | "half" | "written" | "ended";
  /** What the API object shows of the process's end. */
  readonly terminated: boolean;
  /** The node does not report: nothing new shows. */
  readonly silent: boolean;
  /** How many versions of its run it has committed. */
  readonly ran?: number | undefined;
  readonly log: "none" | "frame" | "late" | "lost" | "unreadable" | "invalid" | "otherProtocol";
  readonly frame?: Frame | undefined;
}

/** A create that was sent and is not answered: decided, then admitted, then committed. */
export interface Creating {
  readonly kind: "job" | "pod";
  readonly admitted: boolean;
  readonly job: Job;
}

export interface Contender {
  readonly state: "none" | "idle" | "holding" | "writing" | "done" | "crashed";
  readonly conflicting: boolean;
  readonly epoch: number;
  readonly writesUntil: number;
}

/** What a manager read of one Pod's log. */
export interface LogRead {
  readonly podUID: string;
  readonly jobName: string;
  readonly state: Pod["log"] | "failed";
  readonly readAt: number;
  readonly frame?: Frame | undefined;
}

export interface Manager {
  readonly createFailed?: Memory["createFailed"] | undefined;
  readonly leaseUnchanged?: Memory["leaseUnchanged"] | undefined;
  readonly result?: LogRead | undefined;
  /** An old copy of the resource this manager still decides by. */
  readonly old?: Resource | undefined;
  /** A decided effect this manager was paused before. */
  readonly held?: Move | undefined;
}

/** What an observer outside knows; `decide` never sees it. */
export interface Ghost {
  /** Dispatched Applies that nothing has settled. */
  readonly unsettled: readonly string[];
  /** Highest plan serial ever dispatched, and the last statement executed of which serial. */
  readonly dispatchedSerial: number;
  readonly executed: readonly [serial: number, statement: number];
  /** Approvals that were spent on a dispatch. */
  readonly spent: readonly string[];
  /** Names of Jobs that were ever committed and whose claim or record still stands. */
  readonly created: readonly string[];
  /** Set by a step that broke a property no state shows; names property and sentence. */
  readonly broken?: { readonly property: number; readonly sentence: string } | undefined;
}

export const BUDGETS = [
  "approve", // a person approves the standing plan
  "approveStale", // a person approves a plan that stands no longer
  "edit", // the source's content changes to the other one
  "policy", // the spec's policy changes
  "suspend", // suspended
  "delete",
  "settle", // a person settles the record
  "acknowledge", // a person acknowledges the run that stands unresolved
  "acknowledgeEarly", // a person acknowledges a run while it is under way
  "acknowledgeOther", // a person acknowledges another run
  "restore", // the status is lost, annotations stay
  "recreate", // restored as a new object with a new UID, annotations kept
  "garble", // a restore leaves a mirror nobody can read
  "unhold", // somebody removes the finalizer
  "request", // a read request, the second one no instant
  "foreign", // somebody else changes the database
  "runFails", // a run ends otherwise than applied: failed, partial or unknown, with or without its row
  "retarget", // the Secret names another database
  "refuseSource", // the source goes missing, and comes back
  "upgrade", // another release of the components
  "rollout", // another image of the manager with the same components
  "serverUpgrade", // the database server is upgraded, to a major with or without a scratch image
  "newer", // a newer contract writes, and is rolled back
  "envelope", // the envelope does not resolve, or resolves differently
  "engine", // the spec names an engine nobody supports
  "conflict", // another claimant that does not share the realm
  "crash", // the manager stops; between the two effects of a double move too
  "error", // an API error, before or after the commit
  "late", // a create is committed later than its answer
  "slow", // the clock steps though somebody could act
  "kill", // a Pod's process dies
  "evict", // a Pod is deleted, force-deleted or its node goes silent
  "duplicate", // a second Pod of one Job
  "podRefused", // admission refuses the Job's Pod
  "jobDeleted", // somebody deletes the Job
  "squat", // somebody creates a Job under the claim's name
  "leaseDeleted", // somebody deletes the Lease
  "drift", // the Job is replaced by another of its name
  "readFailed", // a reading fails
  "planRefused", // a Plan is refused: a protected table, or what no plan can be made of
  "log", // a log is late, lost, unreadable, invalid or of another protocol
  "contend", // the contender takes the Lease
  "stale", // a manager decides by an old resource
  "hold", // a manager is paused between decision and effect
] as const;
export type Budget = (typeof BUDGETS)[number];
export type Budgets = Partial<Record<Budget, number>>;

const INDEX = new Map<string, number>(BUDGETS.map((name, index) => [name, index]));

export const leftOf = (world: World, budget: Budget): number => world.left[INDEX.get(budget) ?? 0] ?? 0;

/** The world with one less of a budget. */
export function spend(world: World, budget: Budget): World {
  const at = INDEX.get(budget) ?? 0;
  return { ...world, left: world.left.map((n, i) => (i === at ? n - 1 : n)) };
}

export const budgetsOf = (budgets: Budgets): number[] => BUDGETS.map((name) => budgets[name] ?? 0);

/** Replaces the item of a list for which `match` holds. */
export function put<T>(list: readonly T[], match: (item: T) => boolean, change: (item: T) => T): readonly T[] {
  return list.map((item) => (match(item) ? change(item) : item));
}

/** The smallest name of a pool that nothing in use has. */
export function unused(prefix: string, used: (name: string) => boolean): string {
  for (let k = 1; ; k += 1) {
    const name = `${prefix}-${k}`;
    if (!used(name)) return name;
  }
}

/** Whether an Apply's process may write in this world, now or later: what "may still write" is to be true of. */
export function writerLives(pod: Pod): boolean {
  return pod.process === "started" || pod.process === "half" || (pod.process === "waiting" && !pod.gated);
}

/** The record of an Apply that nobody accounts for, wherever its family keeps it. */
export const recordOf = (status: Status | undefined): ApplyRecord | undefined =>
  status?.pendingObservation ?? status?.unresolvedRun;

const realms = new Map<string, string>();

/** The realm that a world's resource declares. */
export function realmIn(world: World): string {
  const key = world.resource?.inputs.realm;
  if (key === undefined) return REALM;
  const known = realms.get(key);
  if (known !== undefined) return known;
  const realm = realmOf(key);
  realms.set(key, realm);
  return realm;
}

/** Other resources on the same realm. */
export const neighbours = (world: World): readonly World[] =>
  world.peers.length === 0 ? world.peers : world.peers.filter((peer) => realmIn(peer) === realmIn(world));
