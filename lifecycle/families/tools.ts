/** Digests and names that only one of the families has; the rest of the tools is `../tools.ts`. */
import {
  historyFingerprint,
  type MigrationPlanFingerprintInput,
  migrationPlanFingerprint,
  migrationPolicyFingerprint,
  type PlanFingerprintInput,
  type ReportedHistory,
  schemaPlanFingerprint,
  schemaPolicyFingerprint,
  sequenceDigest,
} from "../../crds/fingerprints.ts";
import type { PtahMigrationSpec } from "../../crds/migrationspec.ts";
import { migrationPlanName, schemaPlanName } from "../../crds/names.ts";
import type { PtahSchemaSpec } from "../../crds/spec.ts";
import type { SequenceStep } from "../../crds/status/index.ts";
import { remembered } from "../remembered.ts";

export interface FamilyTools {
  // A schema's.
  policyFingerprint(spec: PtahSchemaSpec): string;
  planFingerprint(input: PlanFingerprintInput): string;
  planName(fingerprint: string): string;
  // A migration's.
  runPolicyFingerprint(spec: PtahMigrationSpec): string;
  sequencePlanFingerprint(input: MigrationPlanFingerprintInput): string;
  sequencePlanName(fingerprint: string): string;
  sequenceDigest(steps: readonly SequenceStep[]): string;
  historyFingerprint(history: ReportedHistory): string;
}

export function realFamilyTools(): FamilyTools {
  return {
    policyFingerprint: remembered((spec: PtahSchemaSpec) =>
      schemaPolicyFingerprint(spec.target.engine, spec.policy, spec.execution.connectTimeout),
    ),
    planFingerprint: schemaPlanFingerprint,
    planName: schemaPlanName,
    runPolicyFingerprint: remembered((spec: PtahMigrationSpec) => migrationPolicyFingerprint(spec.policy)),
    sequencePlanFingerprint: migrationPlanFingerprint,
    sequencePlanName: migrationPlanName,
    sequenceDigest,
    historyFingerprint,
  };
}
