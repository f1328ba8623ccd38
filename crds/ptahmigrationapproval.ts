/** PtahMigrationApproval: one person's decision about one migration plan. */
import type * as v from "valibot";
import { type CustomKind, columns, conditionColumn } from "./kind.ts";
import { PtahMigrationApprovalSpec } from "./migrationspec.ts";
import { customObject } from "./object.ts";
import { ApprovalStatus } from "./status/approval.ts";

export const PTAH_MIGRATION_APPROVAL: CustomKind = {
  kind: "PtahMigrationApproval",
  plural: "ptahmigrationapprovals",
  shortName: "ptahmapprove",
  description:
    "PtahMigrationApproval approves one PtahMigrationPlan for one dispatch. Write migrationRef, planRef and " +
    "planFingerprint, or use `kubectl ptah approve`; who approved and when is stamped by admission.",
  spec: PtahMigrationApprovalSpec,
  specImmutable: true,
  status: ApprovalStatus,
  columns: columns(
    {
      name: "Migration",
      type: "string",
      jsonPath: ".spec.migrationRef.name",
      description: "The PtahMigration it is for.",
    },
    { name: "Plan", type: "string", jsonPath: ".spec.planRef.name", description: "The plan that is approved." },
    { name: "Approver", type: "string", jsonPath: ".spec.approver.username", description: "Who approved." },
    conditionColumn("Consumed", "Consumed", "Whether one dispatch has spent it."),
    conditionColumn("Stale", "Stale", "Whether its plan no longer stands."),
    // False of one that was spent too, which reads as a refusal; Consumed and Stale tell the two apart.
    { ...conditionColumn("Accepted", "Accepted", "Whether it approves the plan that stands."), wide: true },
  ),
};

export const PtahMigrationApproval = customObject(PTAH_MIGRATION_APPROVAL, PtahMigrationApprovalSpec, ApprovalStatus);
export type PtahMigrationApproval = v.InferOutput<typeof PtahMigrationApproval>;
