/** PtahSchemaPlan and PtahSchemaPlanChunk: the change as it would run, immutable, for people to read and approve. */
import type * as v from "valibot";
import { type CustomKind, columns } from "./kind.ts";
import { customObject, statelessObject } from "./object.ts";
import { PtahSchemaPlanChunkSpec, PtahSchemaPlanSpec } from "./spec.ts";
import { SchemaPlanStatus } from "./status/plan.ts";

export const PTAH_SCHEMA_PLAN: CustomKind = {
  kind: "PtahSchemaPlan",
  plural: "ptahschemaplans",
  shortName: "ptahplan",
  description:
    "PtahSchemaPlan is one computed change of one database, with everything it was computed from. Published by the " +
    "operator only; `kubectl ptah plan` prints its statements.",
  spec: PtahSchemaPlanSpec,
  specImmutable: true,
  status: SchemaPlanStatus,
  columns: columns(
    { name: "Schema", type: "string", jsonPath: ".spec.schemaRef.name", description: "The PtahSchema it is for." },
    { name: "Statements", type: "integer", jsonPath: ".spec.statementCount", description: "Number of statements." },
    { name: "Destructive", type: "boolean", jsonPath: ".spec.destructive", description: "Whether it may lose data." },
    {
      name: "Privileges",
      type: "string",
      jsonPath: ".spec.privilegeChanges",
      description: "Kinds of privilege changes.",
    },
    {
      name: "Fingerprint",
      type: "string",
      jsonPath: ".spec.fingerprint",
      description: "What an approval names.",
      wide: true,
    },
  ),
};

export const PtahSchemaPlan = customObject(PTAH_SCHEMA_PLAN, PtahSchemaPlanSpec, SchemaPlanStatus);
export type PtahSchemaPlan = v.InferOutput<typeof PtahSchemaPlan>;

export const PTAH_SCHEMA_PLAN_CHUNK: CustomKind = {
  kind: "PtahSchemaPlanChunk",
  plural: "ptahschemaplanchunks",
  shortName: "ptahchunk",
  description: "PtahSchemaPlanChunk holds a part of a plan document's bytes. Its plan names its position and digest.",
  spec: PtahSchemaPlanChunkSpec,
  specImmutable: true,
  columns: columns({
    name: "Plan",
    type: "string",
    jsonPath: '.metadata.ownerReferences[?(@.kind=="PtahSchemaPlan")].name',
    description: "The plan it belongs to.",
  }),
  unlisted: true,
};

export const PtahSchemaPlanChunk = statelessObject(PTAH_SCHEMA_PLAN_CHUNK, PtahSchemaPlanChunkSpec);
export type PtahSchemaPlanChunk = v.InferOutput<typeof PtahSchemaPlanChunk>;
