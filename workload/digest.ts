import { canonicalDigest, type Json } from "../crds/canonical.ts";
import { annotation } from "../crds/names.ts";
import { plain } from "./difference.ts";
import type { PodTemplate } from "./kubernetes.ts";

/** The label by which the Job controller says which Job a Pod is of. */
export const JOB_NAME_LABEL = "batch.kubernetes.io/job-name";

/** Labels the Job controller gives the template and its Pods. */
export const JOB_CONTROLLER_LABELS: readonly string[] = [
  "batch.kubernetes.io/controller-uid",
  JOB_NAME_LABEL,
  "controller-uid",
  "job-name",
];

/**
 * Digest of a Pod template: the same for the one we built and the one the API server stored. Without the Job controller's
 * own labels, and without the annotation that carries the snapshot's digest, because that snapshot holds this digest.
 */
export function templateDigest(template: PodTemplate): string {
  const labels = { ...template.metadata?.labels };
  for (const key of JOB_CONTROLLER_LABELS) delete labels[key];
  const annotations = { ...template.metadata?.annotations };
  delete annotations[annotation.admissionSnapshotDigest];
  return canonicalDigest({ metadata: { annotations, labels }, spec: plain(template.spec as unknown as Json) });
}
