import * as v from "valibot";
import { KubeError } from "./errors.ts";
import {
  type ConfigMap,
  type Job,
  type Lease,
  type LimitRange,
  type Pod,
  type PriorityClass,
  type RuntimeClass,
  type ServiceAccount,
  type Stored,
  StoredShape,
  shapes,
} from "./objects.ts";

/** One kind as the API serves it, and how an object of it becomes typed data. */
export interface Kind<T extends Stored> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Turns what arrived into typed data; throws `Malformed` where it is not of this kind's shape. */
  parse(raw: unknown): T;
}

/** Where an object lives. */
export interface At {
  readonly namespace?: string;
  readonly name: string;
}

type Shape<T> = v.GenericSchema<unknown, unknown> & { readonly __kind?: T };

/** A kind whose objects are checked by a valibot schema; values of `T` may be wider than the schema checks. */
export function kindOf<T extends Stored>(facts: Omit<Kind<T>, "parse">, shape: Shape<T>): Kind<T> {
  return { ...facts, parse: (raw) => parsed<T>(facts.kind, shape, raw) };
}

function parsed<T extends Stored>(kind: string, shape: Shape<T>, raw: unknown): T {
  const result = v.safeParse(shape, raw);
  if (result.success) return raw as T;
  const issue = result.issues[0];
  const where = issue === undefined ? "it" : (v.getDotPath(issue) ?? "it");
  throw new KubeError(
    { code: "Malformed", committed: "no" },
    `a ${kind} of the API server is not as expected at ${where}`,
  );
}

const core = <T extends Stored>(kind: string, plural: string, shape: Shape<T>): Kind<T> =>
  kindOf<T>({ group: "", version: "v1", plural, kind, namespaced: true }, shape);

/** The built-in kinds this product touches. A Secret is not among them: nothing here can read one. */
export const kinds = {
  ConfigMap: core<ConfigMap>("ConfigMap", "configmaps", shapes.ConfigMap),
  Pod: core<Pod>("Pod", "pods", shapes.Pod),
  ServiceAccount: core<ServiceAccount>("ServiceAccount", "serviceaccounts", shapes.ServiceAccount),
  LimitRange: core<LimitRange>("LimitRange", "limitranges", shapes.LimitRange),
  Event: kindOf<Stored>(
    { group: "events.k8s.io", version: "v1", plural: "events", kind: "Event", namespaced: true },
    StoredShape,
  ),
  /** Events as the Job controller writes them. */
  CoreEvent: core<Stored>("Event", "events", StoredShape),
  Namespace: kindOf<Stored>(
    { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
    StoredShape,
  ),
  Job: kindOf<Job>({ group: "batch", version: "v1", plural: "jobs", kind: "Job", namespaced: true }, shapes.Job),
  Lease: kindOf<Lease>(
    { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease", namespaced: true },
    shapes.Lease,
  ),
  RuntimeClass: kindOf<RuntimeClass>(
    { group: "node.k8s.io", version: "v1", plural: "runtimeclasses", kind: "RuntimeClass", namespaced: false },
    shapes.RuntimeClass,
  ),
  PriorityClass: kindOf<PriorityClass>(
    { group: "scheduling.k8s.io", version: "v1", plural: "priorityclasses", kind: "PriorityClass", namespaced: false },
    shapes.PriorityClass,
  ),
} as const;

/** `apiVersion` of a kind. */
export function apiVersionOf(kind: Omit<Kind<Stored>, "parse">): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** Path of a kind's collection, of one object, or of a subresource of it. */
export function pathOf(kind: Omit<Kind<Stored>, "parse">, at: Partial<At>, subresource?: string): string {
  const parts = [kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`];
  if (kind.namespaced && at.namespace !== undefined) parts.push("namespaces", encodeURIComponent(at.namespace));
  parts.push(kind.plural);
  if (at.name !== undefined) parts.push(encodeURIComponent(at.name));
  if (subresource !== undefined) parts.push(subresource);
  return parts.join("/");
}
