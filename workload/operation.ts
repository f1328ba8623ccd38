import type { JsonObject, ResourceRequirements, Toleration } from "./kubernetes.ts";

/**
 * Everything one operation's Job is made from, as plain data. The lifecycle fills it from the claim (never from today's
 * spec alone) and `buildJob` turns it into the Job; two equal specs always give byte-equal templates.
 */

/** Operations of the schema family on a ConfigMap source; other families and sources add members. */
export type OperationType = "Observe" | "Plan" | "Apply";

export interface ResourceRef {
  readonly apiVersion: string;
  readonly kind: "PtahSchema";
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

export interface ApplyWork {
  readonly type: "Apply";
  readonly plan: {
    readonly name: string;
    readonly fingerprint: string;
    readonly contentDigest: string;
    /** Names of the projection ConfigMaps in chunk order, each with the one key `chunk`. */
    readonly chunkConfigMaps: readonly string[];
  };
  readonly transactionMode: "all" | "file" | "none";
  readonly expectedCoordinationDigest: string;
  readonly expectedTargetIdentityDigest: string;
  /** RFC 3339 instants. */
  readonly dispatchNotAfter: string;
  readonly executionNotAfter: string;
}

export interface OperationSpec {
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
  /** Job and Pod deadline: the spec's value; an Apply's is the one its Lease was taken for. */
  readonly activeDeadlineSeconds: number;
  readonly terminationGracePeriodSeconds: number;
  readonly target: {
    readonly engine: "PostgreSQL";
    readonly urlFrom: KeySelector;
    readonly caFrom?: KeySelector;
    readonly coordinationDigest: string;
  };
  /** Go duration strings, as in the resource. */
  readonly connectTimeout: string;
  readonly lockTimeout: string;
  /** Absent only while the snapshot itself is being resolved from the template. */
  readonly admissionSnapshotDigest?: string;
  readonly work: ObserveWork | PlanWork | ApplyWork;
}
