import * as v from "valibot";
import type * as workload from "../workload/kubernetes.ts";

/**
 * The parts of the built-in kinds that this product reads. They are narrow on purpose: what is not named here passes
 * through untouched and decides nothing. What a Job and a Pod consist of is `workload/`'s own model of them.
 */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly workload.OwnerReference[];
}

/** What every stored object has. */
export interface Stored {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Job extends Stored {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: workload.Job["spec"];
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly active?: number;
    readonly succeeded?: number;
    readonly failed?: number;
  };
}

export interface ContainerState {
  readonly running?: { readonly startedAt?: string };
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason?: string;
    readonly message?: string;
    readonly startedAt?: string;
    readonly finishedAt?: string;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
  readonly restartCount?: number;
  readonly imageID?: string;
}

export interface Pod extends Stored {
  readonly spec: workload.PodSpec;
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly Condition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface Lease extends Stored {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

export interface ConfigMap extends Stored {
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface ServiceAccount extends Stored {
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly automountServiceAccountToken?: boolean;
}

export interface LimitRange extends Stored {
  readonly spec?: { readonly limits?: readonly Readonly<Record<string, unknown>>[] };
}

export interface RuntimeClass extends Stored {
  readonly handler: string;
  readonly overhead?: { readonly podFixed?: Readonly<Record<string, string>> };
  readonly scheduling?: {
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Readonly<Record<string, unknown>>[];
  };
}

export interface PriorityClass extends Stored {
  readonly value: number;
  readonly globalDefault?: boolean;
  readonly preemptionPolicy?: string;
}

const strings = v.optional(v.record(v.string(), v.string()));

const Meta = v.looseObject({
  name: v.string(),
  namespace: v.optional(v.string()),
  uid: v.string(),
  resourceVersion: v.string(),
  generation: v.optional(v.number()),
  creationTimestamp: v.optional(v.string()),
  deletionTimestamp: v.optional(v.string()),
  labels: strings,
  annotations: strings,
  finalizers: v.optional(v.array(v.string())),
  ownerReferences: v.optional(
    v.array(v.looseObject({ apiVersion: v.string(), kind: v.string(), name: v.string(), uid: v.string() })),
  ),
});

const object = v.record(v.string(), v.unknown());
const stored = { apiVersion: v.optional(v.string()), kind: v.optional(v.string()), metadata: Meta };
const condition = v.looseObject({ type: v.string(), status: v.string() });
const status = v.optional(v.looseObject({ conditions: v.optional(v.array(condition)) }));
const state = v.optional(
  v.looseObject({
    terminated: v.optional(v.looseObject({ exitCode: v.number(), message: v.optional(v.string()) })),
  }),
);
const containers = v.optional(v.array(v.looseObject({ name: v.string(), state, lastState: state })));

/** The shape every object has; what is beside metadata passes through. */
export const StoredShape = v.looseObject(stored);

/** The shapes checked at the door, by kind. */
export const shapes = {
  Job: v.looseObject({
    ...stored,
    spec: v.looseObject({ template: v.looseObject({ spec: object }) }),
    status,
  }),
  Pod: v.looseObject({
    ...stored,
    spec: v.looseObject({ schedulingGates: v.optional(v.array(v.looseObject({ name: v.string() }))) }),
    status: v.optional(
      v.looseObject({
        phase: v.optional(v.string()),
        conditions: v.optional(v.array(condition)),
        initContainerStatuses: containers,
        containerStatuses: containers,
      }),
    ),
  }),
  Lease: v.looseObject({
    ...stored,
    spec: v.optional(
      v.looseObject({
        holderIdentity: v.nullish(v.string()),
        leaseDurationSeconds: v.nullish(v.number()),
        acquireTime: v.nullish(v.string()),
        renewTime: v.nullish(v.string()),
        leaseTransitions: v.nullish(v.number()),
      }),
    ),
  }),
  ConfigMap: v.looseObject({ ...stored, immutable: v.optional(v.boolean()), data: strings, binaryData: strings }),
  ServiceAccount: v.looseObject({
    ...stored,
    imagePullSecrets: v.optional(v.array(v.looseObject({ name: v.optional(v.string()) }))),
  }),
  LimitRange: v.looseObject({ ...stored, spec: v.optional(v.looseObject({ limits: v.optional(v.array(object)) })) }),
  RuntimeClass: v.looseObject({ ...stored, handler: v.string() }),
  PriorityClass: v.looseObject({ ...stored, value: v.number() }),
} as const;
