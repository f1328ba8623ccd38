/**
 * The vocabulary in which the API is written: valibot schemas that also carry what a CustomResourceDefinition says
 * beyond types (descriptions, CEL rules, list semantics). The generator reads both; nothing else describes the API.
 */
import * as v from "valibot";

/** One x-kubernetes-validations entry. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired";
  /** Evaluated on create too, with `oldSelf` an optional (Kubernetes 1.30). */
  readonly optionalOldSelf?: true;
}

/** What the structural schema says about a value beyond its valibot type. */
export interface KubeFacts {
  readonly rules?: readonly CelRule[];
  readonly listType?: "set" | "map" | "atomic";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly format?: "date-time" | "int32" | "int64" | "byte";
  readonly intOrString?: true;
  /** What the API server asks of a new value and the parser does not ask of a stored one, nor of an int-or-string. */
  readonly pattern?: RegExp;
  readonly maxProperties?: number;
  /** Default shown to the API server where valibot carries none (status objects). */
  readonly default?: unknown;
}

/** Marks a schema with Kubernetes facts; use inside `v.pipe`. */
export function kube<TInput>(facts: KubeFacts): v.MetadataAction<TInput, { readonly kube: KubeFacts }> {
  return v.metadata({ kube: facts });
}

/** A required field with the description `kubectl explain` shows. */
export function req<S extends v.GenericSchema>(description: string, schema: S): S {
  return v.pipe(schema, v.description(description)) as unknown as S;
}

/** An optional field without a default: absent stays absent. */
export function opt<S extends v.GenericSchema>(description: string, schema: S): v.OptionalSchema<S, undefined> {
  return v.optional(req(description, schema));
}

/** An optional field with the default the API server fills in (and the parser, for objects that never met one). */
export function def<S extends v.GenericSchema, const D extends v.InferInput<S>>(
  description: string,
  schema: S,
  value: D,
): v.OptionalSchema<S, D> {
  return v.optional(req(description, schema), value) as unknown as v.OptionalSchema<S, D>;
}

/** A list with set semantics and a bound. */
export function set<S extends v.GenericSchema<string, string>>(items: S, maxItems: number) {
  return v.pipe(v.array(items), v.maxLength(maxItems), kube<v.InferOutput<S>[]>({ listType: "set" }));
}

/** A list keyed by one field of its items, with a bound. */
export function keyed<S extends v.GenericSchema>(items: S, key: string, maxItems: number) {
  return v.pipe(
    v.array(items),
    v.maxLength(maxItems),
    kube<v.InferOutput<S>[]>({ listType: "map", listMapKeys: [key] }),
  );
}

/** A bounded list whose order is content. */
export function atomic<S extends v.GenericSchema>(items: S, maxItems: number) {
  return v.pipe(v.array(items), v.maxLength(maxItems), kube<v.InferOutput<S>[]>({ listType: "atomic" }));
}

/** A whole number between two bounds. */
export function int(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  return max === Number.MAX_SAFE_INTEGER
    ? v.pipe(v.number(), v.integer(), v.minValue(min))
    : v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
}

/** A string of bounded length, in code points as the API server counts them. */
export function text(minLength: number, maxLength: number) {
  return v.pipe(v.string(), v.minLength(minLength), v.maxLength(maxLength));
}

/** A string that a pattern describes; `maxLength` bounds it before the pattern is tried. */
export function pattern(regex: RegExp, maxLength: number, minLength = 1) {
  return v.pipe(v.string(), v.minLength(minLength), v.maxLength(maxLength), v.regex(regex));
}
