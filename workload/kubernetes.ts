import type { Json } from "../crds/canonical.ts";

/**
 * The parts of Kubernetes objects this room builds and compares, as plain data. Own types, because the pure rooms do not
 * depend on a client library; names and shapes are those of the Kubernetes API (batch/v1, core/v1).
 */
export type JsonObject = { readonly [key: string]: Json | undefined };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional?: boolean };
  };
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

export interface ResourceRequirements {
  readonly requests?: Readonly<Record<string, string | number>>;
  readonly limits?: Readonly<Record<string, string | number>>;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly resources?: ResourceRequirements;
  readonly restartPolicy?: string;
  readonly securityContext?: JsonObject;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly volumeMounts?: readonly VolumeMount[];
}

export interface PodSpec {
  readonly restartPolicy?: string;
  readonly serviceAccountName?: string;
  readonly serviceAccount?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly activeDeadlineSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
  readonly dnsPolicy?: string;
  readonly schedulerName?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly securityContext?: JsonObject;
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly nodeName?: string;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: JsonObject;
  readonly runtimeClassName?: string;
  readonly overhead?: Readonly<Record<string, string>>;
  readonly priorityClassName?: string;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly JsonObject[];
}

export interface PodTemplate {
  readonly metadata?: ObjectMeta;
  readonly spec: PodSpec;
}

export interface Job {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly parallelism?: number;
    readonly completions?: number;
    readonly completionMode?: string;
    readonly suspend?: boolean;
    readonly manualSelector?: boolean;
    readonly backoffLimit?: number;
    readonly podReplacementPolicy?: string;
    readonly activeDeadlineSeconds?: number;
    readonly ttlSecondsAfterFinished?: number;
    readonly selector?: JsonObject;
    readonly template: PodTemplate;
  };
}

export interface Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
}
