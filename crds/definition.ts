/** The CustomResourceDefinition of a kind. */
import { canonicalDigest, type Json } from "./canonical.ts";
import { GROUP, VERSION } from "./common.ts";
import type { CustomKind } from "./kind.ts";
import { annotation } from "./names.ts";
import { type Structural, structural } from "./structural.ts";

/** Raised whenever a stored field's meaning changes; a CRD of a higher number is never replaced by a lower one. */
export const CRD_SCHEMA_VERSION = 1;

/** Largest CRD as YAML, well under what client-side apply can hold in an annotation. */
export const CRD_BYTES_MAX = 256 * 1024;

const IMMUTABLE = { rule: "self == oldSelf", message: "spec is immutable; create another object instead" } as const;

/** The whole object's schema: metadata is Kubernetes' own. */
export function rootSchema(kind: CustomKind): Structural {
  const spec = structural(kind.spec);
  if (kind.specImmutable) {
    spec["x-kubernetes-validations"] = [{ ...IMMUTABLE }, ...(spec["x-kubernetes-validations"] ?? [])];
  }
  const properties: Record<string, Structural> = {
    apiVersion: { type: "string", description: `${GROUP}/${VERSION}` },
    kind: { type: "string", description: kind.kind },
    metadata: { type: "object" },
    spec: { description: `What is asked of the ${kind.kind}.`, ...spec },
  };
  if (kind.status !== undefined) {
    const preset = kind.statusDefault === undefined ? {} : { default: kind.statusDefault };
    properties.status = {
      description: `What the operator says about the ${kind.kind}.`,
      ...structural(kind.status),
      ...preset,
    };
  }
  return {
    description: kind.description,
    type: "object",
    required: ["spec"],
    properties,
    ...(kind.rules === undefined ? {} : { "x-kubernetes-validations": kind.rules.map((rule) => ({ ...rule })) }),
  };
}

/** The CustomResourceDefinition, as plain data ready for YAML. */
export function customResourceDefinition(kind: CustomKind): Json {
  const schema = rootSchema(kind) as unknown as Json;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${kind.plural}.${GROUP}`,
      annotations: {
        [annotation.crdSchemaVersion]: String(CRD_SCHEMA_VERSION),
        [annotation.crdSchemaDigest]: canonicalDigest(schema),
      },
    },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: [kind.shortName],
        ...(kind.unlisted ? {} : { categories: ["ptah"] }),
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          ...(kind.status === undefined ? {} : { subresources: { status: {} } }),
          additionalPrinterColumns: kind.columns.map((column) => ({
            name: column.name,
            type: column.type,
            jsonPath: column.jsonPath,
            description: column.description,
            ...(column.wide ? { priority: 1 } : {}),
          })),
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}
