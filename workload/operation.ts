import type { SequenceStep } from "../crds/status/plan.ts";
import type { JsonObject, ResourceRequirements, Toleration } from "./kubernetes.ts";
import type { WireOperation } from "./result.ts";

/**
 * Everything one operation's Job is made from, as plain data. The lifecycle fills it from the claim (never from today's
 * spec alone) and `buildJob` turns it into the Job; two equal specs always give byte-equal templates.
 */

/** Operations of both families on a ConfigMap source, named as in a claim; other sources add members. */
export type OperationType = "Observe" | "Plan" | "History" | "Apply";

export interface ResourceRef {
  readonly apiVersion: string;
  readonly kind: "PtahSchema" | "PtahMigration";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface KeySelector {
  readonly name: string;
  readonly key: string;
}

/** `spec.execution`, as far as the Pod's shape depends on it. */
export interface ExecutionShape {
  readonly resources?: ResourceRequirements;
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: JsonObject;
  readonly runtimeClassName?: string;
  readonly priorityClassName?: string;
  readonly podMetadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** The immutable snapshot ConfigMap of a resolved source. */
export interface SourceSnapshot {
  readonly configMapName: string;
  /** SHA-256 over the manifest, `sha256:<hex>`. */
  readonly contentDigest: string;
}

/** Where the desired schema is elaborated: a database a person named, or a throwaway server beside the planner. */
export type Scratch =
  | { readonly kind: "URL"; readonly urlFrom: KeySelector }
  | {
      readonly kind: "Server";
      /** Image of the target's engine and major, digest-pinned. */
      readonly image: string;
      readonly major: number;
      /** The uid the image's own passwd knows its server by; initdb refuses an unknown one. */
      readonly uid: number;
    };

/** What a reading needs; without it an Observe reports only the server's version. */
export interface ObserveWork {
  readonly type: "Observe";
  readonly desired?: { readonly source: SourceSnapshot; readonly scratch: Scratch; readonly serverMajor: number };
  readonly severity: "all" | "destructive";
  readonly exclude: readonly string[];
}

export interface PlanWork {
  readonly type: "Plan";
  readonly desired: { readonly source: SourceSnapshot; readonly scratch: Scratch; readonly serverMajor: number };
  readonly exclude: readonly string[];
  readonly protectedTables: readonly string[];
  readonly transactionMode: "all" | "file" | "none";
}

/** What every Apply's child is fenced by before it starts. */
interface ApplyFence {
  readonly expectedCoordinationDigest: string;
  readonly expectedTargetIdentityDigest: string;
  /** RFC 3339 instants. */
  readonly dispatchNotAfter: string;
  readonly executionNotAfter: string;
}

export interface ApplyWork extends ApplyFence {
  readonly type: "Apply";
  /** Absent or `schema`: what tells the two families' Apply apart. */
  readonly family?: "schema";
  readonly plan: {
    readonly name: string;
    readonly fingerprint: string;
    readonly contentDigest: string;
    /** Names of the projection ConfigMaps in chunk order, each with the one key `chunk`. */
    readonly chunkConfigMaps: readonly string[];
  };
  readonly transactionMode: "all" | "file" | "none";
}

/** Reads the revision table against the migration directory; changes nothing. */
export interface HistoryWork {
  readonly type: "History";
  readonly source: SourceSnapshot;
}

/** Runs exactly the approved sequence: the child selects its own work, so the selection is bound too. */
export interface MigrationApplyWork extends ApplyFence {
  readonly type: "Apply";
  readonly family: "migration";
  readonly source: SourceSnapshot;
  readonly plan: {
    readonly name: string;
    readonly fingerprint: string;
    readonly sequenceDigest: string;
    readonly historyFingerprint: string;
    /** In the order they run; what `sequenceDigest` covers. */
    readonly migrations: readonly SequenceStep[];
  };
  /** `spec.policy.transactionMode`; absent leaves each file its own. */
  readonly transactionMode?: "file" | "none";
}

export type SchemaWork = ObserveWork | PlanWork | ApplyWork;
export type MigrationWork = HistoryWork | MigrationApplyWork;
export type Work = SchemaWork | MigrationWork;

export interface OperationSpec<W extends Work = SchemaWork> {
  readonly resource: ResourceRef;
  readonly operationID: string;
  readonly attempt: number;
  readonly inputFingerprint: string;
  readonly jobName: string;
  readonly binding: {
    /** `v1-<32 hex>`: the execution binding's epoch. */
    readonly epoch: string;
    readonly controllerStateVersion: number;
    readonly ptahVersion: string;
    readonly executorImage: string;
    readonly runnerProtocolVersion: number;
  };
  /** Who dispatched it; audit only. */
  readonly manager: {
    readonly controllerImage: string;
    readonly controllerRevision: string;
    readonly runnerImage: string;
  };
  readonly execution: ExecutionShape;
  /**
   * Job and Pod deadline: the spec's value; an Apply's is the one its Lease was taken for. The builder adds the minute that
   * a migration Apply's Job has beyond its child's deadline.
   */
  readonly activeDeadlineSeconds: number;
  readonly terminationGracePeriodSeconds: number;
  readonly target: {
    readonly engine: "PostgreSQL" | "MySQL";
    readonly urlFrom: KeySelector;
    readonly caFrom?: KeySelector;
    readonly coordinationDigest: string;
  };
  /** Go duration strings, as in the resource. */
  readonly connectTimeout: string;
  /** Wait for the lock of the run: a schema's statement locks, a migration's own lock. */
  readonly lockTimeout: string;
  /** Absent only while the snapshot itself is being resolved from the template. */
  readonly admissionSnapshotDigest?: string;
  readonly work: W;
}

/** The runner's name for an operation: what `--operation` gets and the frame states. */
export function wireOperation(work: Work): WireOperation {
  switch (work.type) {
    case "Observe":
      return "observe";
    case "Plan":
      return "plan";
    case "History":
      return "migration-history";
    case "Apply":
      return work.family === "migration" ? "migration-apply" : "apply";
  }
}

/** Whether work belongs to the migration family. */
export const isMigration = (work: Work): work is MigrationWork => work.type === "History" || isMigrationApply(work);

/** Whether work runs an approved sequence of migrations. */
export const isMigrationApply = (work: Work): work is MigrationApplyWork =>
  work.type === "Apply" && work.family === "migration";
