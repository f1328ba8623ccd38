/** What one custom resource definition is made of. */
import type * as v from "valibot";
import type { Json } from "./canonical.ts";
import type { CelRule } from "./meta.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
}

export interface CustomKind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: v.GenericSchema;
  /** The whole spec may never change once stored. */
  readonly specImmutable: boolean;
  readonly status?: v.GenericSchema;
  /** Status of an object nobody has looked at yet; keeps kstatus from calling it current. */
  readonly statusDefault?: Json;
  /** Rules at the root, where metadata.name may be read. */
  readonly rules?: readonly CelRule[];
  readonly columns: readonly PrinterColumn[];
  /** Left out of `kubectl get ptah`: a part of another object that nobody reads for itself. */
  readonly unlisted?: true;
}

const AGE: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};

/** The columns of a kind, Age last as everywhere in Kubernetes. */
export function columns(...own: readonly PrinterColumn[]): readonly PrinterColumn[] {
  return [...own, AGE];
}

/** The status of one condition as a column. */
export function conditionColumn(name: string, type: string, description: string): PrinterColumn {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].status`, description };
}

/** Ready and why: what a list shows of a resource whose phase alone says little. */
export function readyColumns(description: string): readonly PrinterColumn[] {
  return [
    conditionColumn("Ready", "Ready", description),
    {
      name: "Reason",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: "Why it is ready or not; kubectl ptah explain tells more of it.",
    },
  ];
}

/** A created object's name has at most 63 characters; one stored before the rule keeps its name. */
export const NAME_FITS_A_LABEL: CelRule = {
  rule: "oldSelf.hasValue() || self.metadata.name.size() <= 63",
  message: "metadata.name must have at most 63 characters, because it is also a label value",
  optionalOldSelf: true,
};
