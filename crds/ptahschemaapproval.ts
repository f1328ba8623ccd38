/** PtahSchemaApproval: one person's decision about one plan. */
import type * as v from "valibot";
import { type CustomKind, columns, conditionColumn } from "./kind.ts";
import { customObject } from "./object.ts";
import { PtahSchemaApprovalSpec } from "./spec.ts";
import { ApprovalStatus } from "./status/approval.ts";

export const PTAH_SCHEMA_APPROVAL: CustomKind = {
  kind: "PtahSchemaApproval",
  plural: "ptahschemaapprovals",
  shortName: "ptahapprove",
  description:
    "PtahSchemaApproval approves one PtahSchemaPlan for one dispatch. Write schemaRef, planRef and planFingerprint, or " +
    "use `kubectl ptah approve`; who approved and when is stamped by admission.",
  spec: PtahSchemaApprovalSpec,
  specImmutable: true,
  status: ApprovalStatus,
  columns: columns(
    { name: "Schema", type: "string", jsonPath: ".spec.schemaRef.name", description: "The PtahSchema it is for." },
    { name: "Plan", type: "string", jsonPath: ".spec.planRef.name", description: "The plan that is approved." },
    { name: "Approver", type: "string", jsonPath: ".spec.approver.username", description: "Who approved." },
    conditionColumn("Consumed", "Consumed", "Whether one dispatch has spent it."),
    conditionColumn("Stale", "Stale", "Whether its plan no longer stands."),
    // False of one that was spent too, which reads as a refusal; Consumed and Stale tell the two apart.
    { ...conditionColumn("Accepted", "Accepted", "Whether it approves the plan that stands."), wide: true },
  ),
};

export const PtahSchemaApproval = customObject(PTAH_SCHEMA_APPROVAL, PtahSchemaApprovalSpec, ApprovalStatus);
export type PtahSchemaApproval = v.InferOutput<typeof PtahSchemaApproval>;
