import { SCRATCH_URL } from "./containers.ts";
import { csvRecord } from "./csv.ts";
import { ENV, PATHS } from "./environment.ts";
import type { EnvVar } from "./kubernetes.ts";
import {
  type ApplyWork,
  isMigration,
  type MigrationApplyWork,
  type OperationSpec,
  type PlanWork,
  type Work,
} from "./operation.ts";
import { encodeSequence } from "./sequence.ts";

const secret = (name: string, from: { name: string; key: string }): EnvVar => ({
  name,
  valueFrom: { secretKeyRef: { name: from.name, key: from.key } },
});

/** The environment of the container that runs the runner (reference, runner contract 1.2). */
export function environmentOf(spec: OperationSpec<Work>): EnvVar[] {
  const { target, work } = spec;
  const values: Record<string, string> = {
    [ENV.connectTimeout]: spec.connectTimeout,
    [ENV.coordinationDigest]: target.coordinationDigest,
    [ENV.expectedEngine]: target.engine,
    [isMigration(work) ? ENV.migrationLockTimeout : ENV.lockTimeout]: spec.lockTimeout,
    [ENV.operationID]: spec.operationID,
    [ENV.protocolVersion]: String(spec.binding.runnerProtocolVersion),
    [ENV.terminationGraceSeconds]: String(spec.terminationGracePeriodSeconds),
    HOME: PATHS.work,
    TMPDIR: PATHS.work,
    ...(target.caFrom === undefined ? {} : { [ENV.databaseCAFile]: PATHS.targetCAFile }),
    ...workEnvironment(work),
  };
  const plain: EnvVar[] = Object.entries(values).map(([name, value]) => ({ name, value }));
  const desired = work.type === "Observe" || work.type === "Plan" ? work.desired : undefined;
  const dev = desired?.scratch.kind === "URL" ? desired.scratch : undefined;
  return [
    ...plain,
    secret(ENV.databaseURL, target.urlFrom),
    ...(dev === undefined ? [] : [secret(ENV.devURL, dev.urlFrom)]),
  ];
}

function workEnvironment(work: Work): Record<string, string> {
  switch (work.type) {
    case "Observe":
      return {
        [ENV.severity]: work.severity,
        ...(work.desired === undefined ? { [ENV.versionOnly]: "true" } : desiredEnvironment(work.desired)),
        ...(work.exclude.length === 0 ? {} : { [ENV.exclude]: csvRecord(work.exclude) }),
      };
    case "Plan":
      return {
        ...desiredEnvironment(work.desired),
        [ENV.transactionMode]: work.transactionMode,
        ...(work.exclude.length === 0 ? {} : { [ENV.exclude]: csvRecord(work.exclude) }),
        ...(work.protectedTables.length === 0 ? {} : { [ENV.protectedTables]: csvRecord(work.protectedTables) }),
      };
    case "History":
      return { [ENV.migrationsDirectory]: PATHS.migrations };
    case "Apply":
      return {
        [ENV.dispatchNotAfter]: work.dispatchNotAfter,
        [ENV.executionNotAfter]: work.executionNotAfter,
        [ENV.expectedCoordinationDigest]: work.expectedCoordinationDigest,
        [ENV.expectedTargetIdentityDigest]: work.expectedTargetIdentityDigest,
        ...(work.family === "migration" ? migrationApplyEnvironment(work) : applyEnvironment(work)),
      };
  }
}

function desiredEnvironment(desired: PlanWork["desired"]): Record<string, string> {
  const server = desired.scratch.kind === "Server";
  return {
    [ENV.schemaFile]: PATHS.source,
    [ENV.expectedServerMajor]: String(desired.serverMajor),
    ...(server ? { [ENV.devURL]: SCRATCH_URL, [ENV.scratchDirectory]: PATHS.scratch } : {}),
  };
}

function applyEnvironment(work: ApplyWork): Record<string, string> {
  return {
    [ENV.expectedPlanContentDigest]: work.plan.contentDigest,
    [ENV.planDirectory]: PATHS.plan,
    [ENV.transactionMode]: work.transactionMode,
  };
}

function migrationApplyEnvironment({ plan, transactionMode }: MigrationApplyWork): Record<string, string> {
  return {
    [ENV.migrationsDirectory]: PATHS.migrations,
    [ENV.expectedSequence]: encodeSequence(plan.migrations),
    [ENV.expectedSequenceDigest]: plan.sequenceDigest,
    [ENV.expectedHistoryFingerprint]: plan.historyFingerprint,
    ...(transactionMode === undefined ? {} : { [ENV.migrationTransactionMode]: transactionMode }),
  };
}
