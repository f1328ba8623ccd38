import { canonicalDigest, type Json } from "../crds/canonical.ts";
import type { AdmissionSnapshot } from "../crds/status/binding.ts";
import { plain } from "./difference.ts";
import type { Toleration } from "./kubernetes.ts";
import {
  IMAGE_PULL_SECRETS_MAX,
  LIMIT_DEFAULTS_MAX,
  LIMIT_RANGES_MAX,
  RESOURCE_KEYS_MAX,
  SCHEDULING_ITEMS_MAX,
} from "./limits.ts";
import type { ExecutionShape } from "./operation.ts";
import { canonicalQuantities, canonicalResources } from "./resources.ts";

/**
 * The admission snapshot (seed 002: "the admission snapshot binds the exact ServiceAccount, LimitRange defaults, RuntimeClass
 * scheduling and overhead, PriorityClass values and configured built-in admission behavior, by UID and resourceVersion").
 */
type Quantities = Readonly<Record<string, string | number>>;

interface Meta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface ServiceAccountObject {
  readonly metadata: Meta;
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
}

export interface LimitRangeObject {
  readonly metadata: Meta;
  readonly spec?: {
    readonly limits?: readonly {
      readonly type: string;
      readonly default?: Quantities;
      readonly defaultRequest?: Quantities;
      readonly max?: Quantities;
      readonly min?: Quantities;
    }[];
  };
}

export interface RuntimeClassObject {
  readonly metadata: Meta;
  readonly handler: string;
  readonly overhead?: { readonly podFixed?: Quantities };
  readonly scheduling?: {
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
  };
}

export interface PriorityClassObject {
  readonly metadata: Meta;
  readonly value: number;
  readonly globalDefault?: boolean;
  readonly preemptionPolicy?: string;
}

/** What the cluster's built-in admission does, as declared in the manager's configuration (it cannot be read from the API). */
export interface AdmissionFlags {
  readonly defaultTolerationsEnabled: boolean;
  readonly defaultNotReadyTolerationSeconds: number;
  readonly defaultUnreachableTolerationSeconds: number;
  readonly extendedResourceTolerationEnabled: boolean;
  readonly alwaysPullImagesEnabled: boolean;
}

export const DEFAULT_ADMISSION_FLAGS: AdmissionFlags = {
  defaultTolerationsEnabled: true,
  defaultNotReadyTolerationSeconds: 300,
  defaultUnreachableTolerationSeconds: 300,
  extendedResourceTolerationEnabled: false,
  alwaysPullImagesEnabled: false,
};

export interface EnvelopeObjects {
  /** The ServiceAccount the execution names (`default` where it names none); undefined when it does not exist. */
  readonly serviceAccount: ServiceAccountObject | undefined;
  readonly limitRanges: readonly LimitRangeObject[];
  /** The RuntimeClass the execution names; undefined when it names none or it does not exist. */
  readonly runtimeClass: RuntimeClassObject | undefined;
  /** Every PriorityClass of the cluster. */
  readonly priorityClasses: readonly PriorityClassObject[];
}

export type SnapshotBase = Omit<AdmissionSnapshot, "digest" | "templateDigest">;

export type EnvelopeRefusal =
  | "service_account_missing"
  | "runtime_class_missing"
  | "runtime_class_conflict"
  | "priority_class_missing"
  | "priority_class_ambiguous"
  | "limit_range_conflict"
  | "envelope_too_large";

export type ResolvedEnvelope =
  | { readonly ok: true; readonly snapshot: SnapshotBase }
  | { readonly ok: false; readonly code: EnvelopeRefusal; readonly sentence: string };

class Refusal extends Error {
  constructor(
    readonly code: EnvelopeRefusal,
    sentence: string,
  ) {
    super(sentence);
  }
}

/**
 * The snapshot's body from the objects read just now. Refused by name when an object is missing, when two defaults for one
 * unset field contradict each other (which one applies would be chance), or beyond the bounds.
 */
export function resolveEnvelope(
  execution: ExecutionShape,
  objects: EnvelopeObjects,
  flags: AdmissionFlags,
): ResolvedEnvelope {
  try {
    const runtimeClass = runtimeClassOf(execution, objects.runtimeClass);
    const limitRanges = limitRangesOf(execution, objects.limitRanges);
    return {
      ok: true,
      snapshot: {
        version: "v1",
        serviceAccount: serviceAccountOf(execution, objects.serviceAccount),
        ...(limitRanges.length === 0 ? {} : { limitRanges }),
        ...(runtimeClass === undefined ? {} : { runtimeClass }),
        priorityClass: priorityClassOf(execution, objects.priorityClasses),
        defaultTolerationsEnabled: flags.defaultTolerationsEnabled,
        defaultNotReadyTolerationSeconds: flags.defaultNotReadyTolerationSeconds,
        defaultUnreachableTolerationSeconds: flags.defaultUnreachableTolerationSeconds,
        extendedResourceTolerationEnabled: flags.extendedResourceTolerationEnabled,
        alwaysPullImagesEnabled: flags.alwaysPullImagesEnabled,
      },
    };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, code: error.code, sentence: error.message };
    throw error;
  }
}

/** The whole snapshot for one template; its digest covers it with the digest field blank. */
export function sealSnapshot(base: SnapshotBase, templateDigest: string): AdmissionSnapshot {
  const blank: AdmissionSnapshot = { ...base, templateDigest, digest: "" };
  return { ...blank, digest: snapshotDigest(blank) };
}

/** The digest a snapshot must carry. */
export function snapshotDigest(snapshot: AdmissionSnapshot): string {
  return canonicalDigest(plain({ ...snapshot, digest: "" } as unknown as Json));
}

const binding = ({ name, uid, resourceVersion }: Meta): AdmissionSnapshot["serviceAccount"]["object"] => ({
  name,
  uid,
  resourceVersion,
});

function bounded(what: string, count: number, max: number): void {
  if (count <= max) return;
  throw new Refusal("envelope_too_large", `${what} has ${count} entries; at most ${max} can be bound. Remove some.`);
}

function serviceAccountOf(
  execution: ExecutionShape,
  object: ServiceAccountObject | undefined,
): AdmissionSnapshot["serviceAccount"] {
  const name = execution.serviceAccountName ?? "default";
  if (object === undefined || object.metadata.name !== name) {
    throw new Refusal(
      "service_account_missing",
      `ServiceAccount "${name}" does not exist in this namespace. Create it, or name another in spec.execution.serviceAccountName.`,
    );
  }
  const secrets = (object.imagePullSecrets ?? []).flatMap((s) => (s.name === undefined ? [] : [{ name: s.name }]));
  bounded(`imagePullSecrets of ServiceAccount "${name}"`, secrets.length, IMAGE_PULL_SECRETS_MAX);
  return { object: binding(object.metadata), ...(secrets.length === 0 ? {} : { imagePullSecrets: secrets }) };
}

type LimitRangeSnapshot = NonNullable<AdmissionSnapshot["limitRanges"]>[number];

function limitRangesOf(execution: ExecutionShape, ranges: readonly LimitRangeObject[]): LimitRangeSnapshot[] {
  bounded("The namespace's list of LimitRanges", ranges.length, LIMIT_RANGES_MAX);
  const sorted = [...ranges].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const snapshots = sorted.map(limitRangeOf);
  const entries = snapshots.flatMap((s) => [
    ...Object.keys(s.defaultRequests ?? {}),
    ...Object.keys(s.defaultLimits ?? {}),
  ]);
  bounded("The defaults of the namespace's LimitRanges", entries.length, LIMIT_DEFAULTS_MAX);
  const own = canonicalResources(execution.resources);
  refuseConflicts(snapshots, "defaultLimits", "limit", own.limits ?? {});
  refuseConflicts(snapshots, "defaultRequests", "request", { ...own.limits, ...own.requests });
  return snapshots;
}

/** Container defaults of one LimitRange, after the API's own defaulting: limit from max, request from limit, then from min. */
function limitRangeOf(range: LimitRangeObject): LimitRangeSnapshot {
  const limits: Record<string, string> = {};
  const requests: Record<string, string> = {};
  for (const item of range.spec?.limits ?? []) {
    if (item.type !== "Container") continue;
    const itemLimits = { ...canonicalQuantities(item.max), ...canonicalQuantities(item.default) };
    Object.assign(limits, itemLimits);
    Object.assign(requests, {
      ...canonicalQuantities(item.min),
      ...itemLimits,
      ...canonicalQuantities(item.defaultRequest),
    });
  }
  return {
    object: binding(range.metadata),
    ...(Object.keys(requests).length === 0 ? {} : { defaultRequests: requests }),
    ...(Object.keys(limits).length === 0 ? {} : { defaultLimits: limits }),
  };
}

function refuseConflicts(
  ranges: readonly LimitRangeSnapshot[],
  field: "defaultLimits" | "defaultRequests",
  word: string,
  set: Readonly<Record<string, string>>,
): void {
  const seen = new Map<string, { value: string; by: string }>();
  for (const range of ranges) {
    for (const [key, value] of Object.entries(range[field] ?? {})) {
      const before = seen.get(key);
      if (before !== undefined && before.value !== value && set[key] === undefined) {
        throw new Refusal(
          "limit_range_conflict",
          `LimitRanges "${before.by}" and "${range.object.name}" give different default ${word}s for ${key}. ` +
            `Set that ${word} in spec.execution.resources, or remove one of the defaults.`,
        );
      }
      seen.set(key, { value, by: range.object.name });
    }
  }
}

function runtimeClassOf(
  execution: ExecutionShape,
  object: RuntimeClassObject | undefined,
): AdmissionSnapshot["runtimeClass"] {
  const name = execution.runtimeClassName;
  if (name === undefined || name === "") return undefined;
  if (object === undefined || object.metadata.name !== name) {
    throw new Refusal(
      "runtime_class_missing",
      `RuntimeClass "${name}" does not exist. Create it, or name another in spec.execution.runtimeClassName.`,
    );
  }
  const overhead = canonicalQuantities(object.overhead?.podFixed);
  const nodeSelector = { ...object.scheduling?.nodeSelector };
  const tolerations = (object.scheduling?.tolerations ?? []).map((t) => ({ ...t }));
  bounded(`The overhead of RuntimeClass "${name}"`, Object.keys(overhead).length, RESOURCE_KEYS_MAX);
  bounded(`The node selector of RuntimeClass "${name}"`, Object.keys(nodeSelector).length, SCHEDULING_ITEMS_MAX);
  bounded(`The tolerations of RuntimeClass "${name}"`, tolerations.length, SCHEDULING_ITEMS_MAX);
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = execution.nodeSelector?.[key];
    if (own !== undefined && own !== value) {
      throw new Refusal(
        "runtime_class_conflict",
        `RuntimeClass "${name}" and spec.execution.nodeSelector want different values of the node label ${key}. Change one of them.`,
      );
    }
  }
  return {
    object: binding(object.metadata),
    handler: object.handler,
    ...(object.overhead === undefined ? {} : { overheadDefined: true }),
    ...(Object.keys(overhead).length === 0 ? {} : { overhead }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}

function priorityClassOf(
  execution: ExecutionShape,
  classes: readonly PriorityClassObject[],
): AdmissionSnapshot["priorityClass"] {
  const name = execution.priorityClassName;
  if (name !== undefined && name !== "") {
    const named = classes.find((c) => c.metadata.name === name);
    if (named === undefined) {
      throw new Refusal(
        "priority_class_missing",
        `PriorityClass "${name}" does not exist. Create it, or name another in spec.execution.priorityClassName.`,
      );
    }
    return prioritySnapshot(named);
  }
  const defaults = classes.filter((c) => c.globalDefault === true);
  if (defaults.length > 1) {
    throw new Refusal(
      "priority_class_ambiguous",
      "Several PriorityClasses are the global default. Name one in spec.execution.priorityClassName, or keep one default.",
    );
  }
  return defaults[0] === undefined
    ? { value: 0, preemptionPolicy: "PreemptLowerPriority" }
    : prioritySnapshot(defaults[0]);
}

const prioritySnapshot = (object: PriorityClassObject): AdmissionSnapshot["priorityClass"] => ({
  object: binding(object.metadata),
  name: object.metadata.name,
  value: object.value,
  preemptionPolicy: object.preemptionPolicy === "Never" ? "Never" : "PreemptLowerPriority",
});
