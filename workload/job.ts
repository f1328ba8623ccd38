import { annotation, component, label, MANAGED_BY, operationIdLabel, RECORDED_GATE } from "../crds/names.ts";
import {
  copySource,
  installRunner,
  NONROOT_ID,
  operationContainer,
  SCRATCH_URL,
  scratchServer,
  usesOwnExecutorImage,
  VOLUME,
} from "./containers.ts";
import { csvRecord } from "./csv.ts";
import { ENV, PATHS } from "./environment.ts";
import type { EnvVar, Job, JsonObject, PodSpec, PodTemplate, VolumeMount } from "./kubernetes.ts";
import { ACTIVE_DEADLINE_SECONDS_MAX, MIGRATION_APPLY_GRACE_SECONDS } from "./limits.ts";
import type {
  ApplyWork,
  MigrationApplyWork,
  OperationSpec,
  PlanWork,
  Scratch,
  SourceSnapshot,
  Work,
} from "./operation.ts";
import { encodeSequence } from "./sequence.ts";

/** File mode 0440 as the API writes it. */
const READ_ONLY_MODE = 288;

/**
 * The Job of one operation (reference, runner contract 1.6). Every field the API server would default is written out, so
 * that the Job read back can be compared with what was built; nothing in it depends on a clock or on chance.
 */
export function buildJob(spec: OperationSpec<Work>): Job {
  const template = buildTemplate(spec);
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: spec.jobName,
      namespace: spec.resource.namespace,
      labels: template.metadata?.labels,
      annotations: template.metadata?.annotations,
      ownerReferences: [
        {
          apiVersion: spec.resource.apiVersion,
          kind: spec.resource.kind,
          name: spec.resource.name,
          uid: spec.resource.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      parallelism: 1,
      completions: 1,
      completionMode: "NonIndexed",
      suspend: false,
      manualSelector: false,
      backoffLimit: 0,
      podReplacementPolicy: "Failed",
      activeDeadlineSeconds: deadline(spec),
      template,
    },
  };
}

/** The Pod template of one operation; its digest is what the admission snapshot binds. */
export function buildTemplate(spec: OperationSpec<Work>): PodTemplate {
  return { metadata: { labels: labelsOf(spec), annotations: annotationsOf(spec) }, spec: podSpec(spec) };
}

const isMigration = (work: Work): boolean => work.type === "History" || isMigrationApply(work);
const isMigrationApply = (work: Work): work is MigrationApplyWork =>
  work.type === "Apply" && work.family === "migration";

/** A migration Apply has time beyond its child's own deadline, to tell how the run ended. */
function deadline({ work, activeDeadlineSeconds }: OperationSpec<Work>): number {
  const grace = isMigrationApply(work) ? MIGRATION_APPLY_GRACE_SECONDS : 0;
  return Math.min(activeDeadlineSeconds + grace, ACTIVE_DEADLINE_SECONDS_MAX);
}

function labelsOf(spec: OperationSpec<Work>): Record<string, string> {
  return {
    ...spec.execution.podMetadata?.labels,
    [label.component]: isMigration(spec.work) ? component.migration : component.schema,
    [label.managedBy]: MANAGED_BY,
    [label.operation]: spec.work.type.toLowerCase(),
    [label.operationId]: operationIdLabel(spec.operationID),
    [isMigration(spec.work) ? label.migration : label.schema]: spec.resource.name,
  };
}

function annotationsOf(spec: OperationSpec<Work>): Record<string, string> {
  const { work, binding, manager } = spec;
  return {
    ...spec.execution.podMetadata?.annotations,
    ...(spec.admissionSnapshotDigest === undefined
      ? {}
      : { [annotation.admissionSnapshotDigest]: spec.admissionSnapshotDigest }),
    ...(work.type === "Apply" ? applyAnnotations(work) : {}),
    [annotation.controllerImage]: manager.controllerImage,
    [annotation.controllerRevision]: manager.controllerRevision,
    [annotation.controllerStateVersion]: String(binding.controllerStateVersion),
    [annotation.executionBindingId]: binding.epoch,
    [annotation.inputFingerprint]: spec.inputFingerprint,
    [annotation.operationId]: spec.operationID,
    [annotation.ptahVersion]: binding.ptahVersion,
  };
}

const applyAnnotations = (work: ApplyWork | MigrationApplyWork): Record<string, string> => ({
  ...(work.family === "migration"
    ? { [annotation.sequenceDigest]: work.plan.sequenceDigest }
    : { [annotation.planContentDigest]: work.plan.contentDigest }),
  [annotation.planFingerprint]: work.plan.fingerprint,
  [annotation.safeToEvict]: "false",
});

function podSpec(spec: OperationSpec<Work>): PodSpec {
  const { execution } = spec;
  const parts = partsOf(spec);
  const initContainers = [
    ...(parts.scratch === undefined ? [] : [scratchServer(spec, parts.scratch)]),
    ...(usesOwnExecutorImage(spec) ? [installRunner(spec)] : []),
    ...(parts.source === undefined ? [] : [copySource(spec, parts.source, sourceDirectory(spec.work))]),
  ];
  return {
    restartPolicy: "Never",
    serviceAccountName: serviceAccountOf(spec),
    serviceAccount: serviceAccountOf(spec),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    activeDeadlineSeconds: deadline(spec),
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
    ...(spec.work.type === "Apply" ? { schedulingGates: [{ name: RECORDED_GATE }] } : {}),
    securityContext: {
      fsGroup: NONROOT_ID,
      fsGroupChangePolicy: "OnRootMismatch",
      runAsGroup: NONROOT_ID,
      runAsNonRoot: true,
      runAsUser: NONROOT_ID,
      seccompProfile: { type: "RuntimeDefault" },
    },
    ...nonEmpty("imagePullSecrets", execution.imagePullSecrets),
    ...(isEmpty(execution.nodeSelector) ? {} : { nodeSelector: execution.nodeSelector }),
    ...nonEmpty("tolerations", execution.tolerations),
    ...(execution.affinity === undefined ? {} : { affinity: execution.affinity }),
    ...(execution.runtimeClassName === undefined ? {} : { runtimeClassName: execution.runtimeClassName }),
    ...(execution.priorityClassName === undefined ? {} : { priorityClassName: execution.priorityClassName }),
    ...nonEmpty("initContainers", initContainers),
    containers: [operationContainer(spec, environmentOf(spec), mountsOf(spec, parts))],
    volumes: volumesOf(spec, parts),
  };
}

/** The ServiceAccount a template names; its snapshot is taken of the same one. */
export function serviceAccountOf(spec: OperationSpec<Work>): string {
  return spec.execution.serviceAccountName ?? "default";
}

/** Where the operation finds its source's files. */
const sourceDirectory = (work: Work): string => (isMigration(work) ? PATHS.migrations : PATHS.source);

const isEmpty = (map: Readonly<Record<string, string>> | undefined): boolean =>
  map === undefined || Object.keys(map).length === 0;

function nonEmpty<K extends string, T>(key: K, items: readonly T[] | undefined): { [P in K]?: readonly T[] } {
  return (items === undefined || items.length === 0 ? {} : { [key]: items }) as { [P in K]?: readonly T[] };
}

/** What of an operation's work takes volumes and init containers. */
interface Parts {
  readonly source?: SourceSnapshot;
  readonly scratch?: Extract<Scratch, { kind: "Server" }>;
  readonly chunks: readonly string[];
}

function partsOf(spec: OperationSpec<Work>): Parts {
  const { work } = spec;
  if (work.type === "History" || isMigrationApply(work)) return { source: work.source, chunks: [] };
  if (work.type === "Apply") return { chunks: work.plan.chunkConfigMaps };
  if (work.desired === undefined) return { chunks: [] };
  const { source, scratch } = work.desired;
  return { source, chunks: [], ...(scratch.kind === "Server" ? { scratch } : {}) };
}

const secret = (name: string, from: { name: string; key: string }): EnvVar => ({
  name,
  valueFrom: { secretKeyRef: { name: from.name, key: from.key } },
});

function environmentOf(spec: OperationSpec<Work>): EnvVar[] {
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

function mountsOf(spec: OperationSpec<Work>, parts: Parts): VolumeMount[] {
  return [
    { name: VOLUME.work, mountPath: PATHS.work },
    ...(usesOwnExecutorImage(spec) ? [{ name: VOLUME.runner, mountPath: PATHS.runnerDirectory, readOnly: true }] : []),
    ...(parts.source === undefined ? [] : [{ name: VOLUME.source, mountPath: PATHS.source, readOnly: true }]),
    ...(parts.scratch === undefined ? [] : [{ name: VOLUME.scratch, mountPath: PATHS.scratch, readOnly: true }]),
    ...(parts.chunks.length === 0 ? [] : [{ name: VOLUME.plan, mountPath: PATHS.plan, readOnly: true }]),
    ...(spec.target.caFrom === undefined
      ? []
      : [{ name: VOLUME.targetCA, mountPath: PATHS.targetCADirectory, readOnly: true }]),
  ];
}

function volumesOf(spec: OperationSpec<Work>, parts: Parts): JsonObject[] {
  const memory = (name: string, sizeLimit: string): JsonObject => ({ name, emptyDir: { medium: "Memory", sizeLimit } });
  const { caFrom } = spec.target;
  return [
    memory(VOLUME.work, "128Mi"),
    // The executable has about 116 MB; a memory volume would be charged to the containers.
    ...(usesOwnExecutorImage(spec) ? [{ name: VOLUME.runner, emptyDir: { sizeLimit: "256Mi" } }] : []),
    ...(parts.source === undefined
      ? []
      : [
          memory(VOLUME.source, "64Mi"),
          { name: VOLUME.snapshot, configMap: { name: parts.source.configMapName, defaultMode: READ_ONLY_MODE } },
        ]),
    ...(parts.scratch === undefined ? [] : [memory(VOLUME.scratch, "512Mi")]),
    ...(parts.chunks.length === 0 ? [] : [planVolume(parts.chunks)]),
    ...(caFrom === undefined
      ? []
      : [
          {
            name: VOLUME.targetCA,
            configMap: {
              name: caFrom.name,
              defaultMode: READ_ONLY_MODE,
              items: [{ key: caFrom.key, path: "ca.pem" }],
            },
          },
        ]),
  ];
}

function planVolume(chunks: readonly string[]): JsonObject {
  return {
    name: VOLUME.plan,
    projected: {
      defaultMode: READ_ONLY_MODE,
      sources: chunks.map((name, index) => ({
        configMap: { name, items: [{ key: "chunk", path: `${String(index).padStart(3, "0")}.plan` }] },
      })),
    },
  };
}
