/**
 * Digests, names and templates a decision needs. Injected, so that the explorer can play millions of decisions with cheap
 * ones; the product uses `realTools`.
 */
import { canonicalDigest, type Json, sha256Digest } from "../crds/canonical.ts";
import { coordinationDigest } from "../crds/fingerprints.ts";
import { type JobNaming, jobName, leaseHolder, snapshotName } from "../crds/names.ts";
import type { AdmissionSnapshot } from "../crds/status/index.ts";
import { chunk, decodePlan, type Parser, planSummary } from "../sql/index.ts";
import { templateDigest } from "../workload/digest.ts";
import { type SnapshotBase, sealSnapshot } from "../workload/envelope.ts";
import { buildTemplate } from "../workload/job.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import { type FamilyTools, realFamilyTools } from "./families/tools.ts";
import type { Spec } from "./families/types.ts";
import { remembered } from "./remembered.ts";

/** What a plan document says of itself, read with our own classifier. */
export interface PlanSummary {
  readonly dialect: string;
  readonly actualStateFingerprint: string;
  readonly desiredStateFingerprint: string;
  readonly destructive: boolean;
  readonly privilegeChanges: readonly string[];
  readonly statementCount: number;
}

export interface PlanChunk {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

export interface Tools extends FamilyTools {
  digest(value: Json): string;
  digestText(text: string): string;
  jobName(identity: JobNaming): string;
  leaseHolder(resourceUID: string, operationID: string): string;
  /** Undefined where the engine is unknown or the target names no realm. */
  coordinationDigest(namespace: string, spec: Spec): string | undefined;
  snapshotName(resourceUID: string, contentDigest: string): string;
  templateDigest(operation: OperationSpec<Work>): string;
  sealSnapshot(base: SnapshotBase, templateDigest: string): AdmissionSnapshot;
  /** Undefined for bytes that are no plan document of ours. */
  planSummary(document: string, contentDigest: string): PlanSummary | undefined;
  /** The document cut into chunks, in order. */
  planChunks(document: string, contentDigest: string): readonly PlanChunk[];
  /** False where nobody reads phase, conditions, journal and messages (the explorer): they are left as they are. */
  readonly narrate: boolean;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** An executor's fingerprint in the shape the API has for one. */
const asDigest = (fingerprint: string): string => (DIGEST.test(fingerprint) ? fingerprint : sha256Digest(fingerprint));

function summarise(parser: Parser, document: string): PlanSummary | undefined {
  const decoded = decodePlan(Buffer.from(document));
  if (!("plan" in decoded)) return undefined;
  const summed = planSummary(parser, decoded.plan);
  if (!("summary" in summed) || summed.summary.credentialStatements.length > 0) return undefined;
  return {
    dialect: decoded.plan.dialect,
    actualStateFingerprint: asDigest(decoded.plan.from_fingerprint),
    desiredStateFingerprint: asDigest(decoded.plan.to_fingerprint),
    destructive: summed.summary.destructive,
    privilegeChanges: summed.summary.privilegeChanges,
    statementCount: summed.summary.statementCount,
  };
}

/**
 * The product's tools.
 * @param parser the SQL grammar, loaded once by the caller (`sql/loadParser`)
 */
export function realTools(parser: Parser): Tools {
  const realm = remembered((_spec: Spec) => new Map<string, string | undefined>());
  let lastPlan: { readonly digest: string; readonly summary: PlanSummary | undefined } | undefined;
  return {
    ...realFamilyTools(),
    digest: canonicalDigest,
    digestText: sha256Digest,
    jobName,
    leaseHolder,
    coordinationDigest(namespace, spec) {
      const known = realm(spec);
      if (!known.has(namespace)) known.set(namespace, coordinationDigest(namespace, spec.target));
      return known.get(namespace);
    },
    snapshotName,
    templateDigest: (operation) => templateDigest(buildTemplate(operation)),
    sealSnapshot,
    planSummary(document, contentDigest) {
      if (lastPlan?.digest !== contentDigest) {
        const summary = sha256Digest(document) === contentDigest ? summarise(parser, document) : undefined;
        lastPlan = { digest: contentDigest, summary };
      }
      return lastPlan.summary;
    },
    planChunks(document) {
      const cut = chunk(Buffer.from(document));
      return "chunks" in cut ? cut.chunks : [];
    },
    narrate: true,
  };
}
