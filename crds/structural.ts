/** From a valibot schema to the structural OpenAPI schema of a CustomResourceDefinition. */
import type * as v from "valibot";
import type { Json } from "./canonical.ts";
import type { KubeFacts } from "./meta.ts";

/** An OpenAPI v3 schema as Kubernetes takes it. */
export interface Structural {
  description?: string;
  type?: string;
  format?: string;
  default?: Json;
  enum?: Json[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: Structural;
  properties?: Record<string, Structural>;
  required?: string[];
  additionalProperties?: Structural;
  anyOf?: Json[];
  "x-kubernetes-int-or-string"?: true;
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-validations"?: Record<string, Json>[];
}

/** A schema or an action as it stands in a pipe: what the walker reads of valibot's objects. */
interface Node {
  readonly kind: "schema" | "validation" | "transformation" | "metadata";
  readonly type: string;
  readonly pipe?: readonly Node[];
  readonly wrapped?: Node;
  readonly default?: unknown;
  readonly entries?: Readonly<Record<string, Node>>;
  readonly item?: Node;
  readonly value?: Node;
  readonly options?: readonly unknown[];
  readonly literal?: unknown;
  readonly requirement?: unknown;
  readonly description?: string;
  readonly metadata?: { readonly kube?: KubeFacts };
}

/**
 * The structural schema of a valibot schema.
 * @throws Error when the schema uses something a structural schema cannot say; that is a mistake in `crds/`
 */
export function structural(schema: v.GenericSchema): Structural {
  return walk(schema as unknown as Node);
}

function walk(node: Node): Structural {
  const out: Structural = base(root(node));
  for (const action of actions(node)) applyAction(out, action);
  return ordered(out);
}

/** The schema at the bottom of nested pipes. */
function root(node: Node): Node {
  const first = node.pipe?.[0];
  return first === undefined ? node : root(first);
}

function actions(node: Node): readonly Node[] {
  const [first, ...rest] = node.pipe ?? [];
  return first === undefined ? [] : [...actions(first), ...rest];
}

function base(node: Node): Structural {
  switch (node.type) {
    case "optional":
      return optional(node);
    case "object":
      return object(node);
    case "string":
    case "boolean":
      return { type: node.type };
    case "number":
      return { type: "number" };
    case "picklist":
      return { type: "string", enum: [...(node.options ?? [])] as Json[] };
    case "literal":
      return { type: "string", enum: [node.literal as Json] };
    case "array":
      return { type: "array", items: walk(child(node.item)) };
    case "record":
      return { type: "object", additionalProperties: walk(child(node.value)) };
    case "union":
      return {};
    default:
      throw new Error(`a structural schema has no form for valibot's ${node.type}`);
  }
}

function child(node: Node | undefined): Node {
  if (node === undefined) throw new Error("a list or map schema without a value schema");
  return node;
}

function optional(node: Node): Structural {
  const inner = walk(child(node.wrapped));
  return node.default === undefined ? inner : { ...inner, default: node.default as Json };
}

function object(node: Node): Structural {
  const properties: Record<string, Structural> = {};
  const required: string[] = [];
  for (const [key, entry] of Object.entries(node.entries ?? {})) {
    properties[key] = walk(entry);
    if (root(entry).type !== "optional") required.push(key);
  }
  return { type: "object", properties, ...(required.length > 0 ? { required: required.sort() } : {}) };
}

function applyAction(out: Structural, action: Node): void {
  const bound = action.requirement;
  switch (action.type) {
    case "description":
      out.description = action.description;
      return;
    case "metadata":
      applyFacts(out, action.metadata?.kube ?? {});
      return;
    case "integer":
      out.type = "integer";
      out.format ??= "int64";
      return;
    case "regex":
      out.pattern = re2(bound as RegExp);
      return;
    case "min_length":
      out[out.type === "array" ? "minItems" : "minLength"] = Number(bound);
      return;
    case "max_length":
      out[out.type === "array" ? "maxItems" : "maxLength"] = Number(bound);
      return;
    case "min_value":
      out.minimum = Number(bound);
      return;
    case "max_value":
      out.maximum = Number(bound);
      return;
    case "check":
      return;
    default:
      throw new Error(`a structural schema has no form for valibot's ${action.type}`);
  }
}

/** The pattern as Go's regexp package reads it. */
function re2(regex: RegExp): string {
  return regex.source.replace(/\\u([0-9A-Fa-f]{4})/g, "\\x{$1}");
}

function applyFacts(out: Structural, facts: KubeFacts): void {
  if (facts.listType !== undefined) out["x-kubernetes-list-type"] = facts.listType;
  if (facts.listMapKeys !== undefined) out["x-kubernetes-list-map-keys"] = [...facts.listMapKeys];
  if (facts.mapType !== undefined) out["x-kubernetes-map-type"] = facts.mapType;
  if (facts.format !== undefined) out.format = facts.format;
  if (facts.maxProperties !== undefined) out.maxProperties = facts.maxProperties;
  if (facts.pattern !== undefined) out.pattern = re2(facts.pattern);
  if (facts.intOrString) {
    out["x-kubernetes-int-or-string"] = true;
    out.anyOf = [{ type: "integer" }, { type: "string" }];
  }
  for (const rule of facts.rules ?? []) {
    out["x-kubernetes-validations"] = [...(out["x-kubernetes-validations"] ?? []), { ...rule }];
  }
}

/** Description and type first, so that a person reads the YAML from the top. */
function ordered(schema: Structural): Structural {
  const { description, type, format, default: preset, ...rest } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(preset === undefined ? {} : { default: preset }),
    ...rest,
  };
}
