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
import { ACTIVE_DEADLINE_SECONDS_MAX } from "./limits.ts";
import type { ApplyWork, OperationSpec, PlanWork, Scratch, SourceSnapshot } from "./operation.ts";

/** File mode 0440 as the API writes it. */
const READ_ONLY_MODE = 288;

/**
 * The Job of one operation (reference, runner contract 1.6). Every field the API server would default is written out, so
 * that the Job read back can be compared with what was built; nothing in it depends on a clock or on chance.
 */
export function buildJob(spec: OperationSpec): Job {
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
export function buildTemplate(spec: OperationSpec): PodTemplate {
  return { metadata: { labels: labelsOf(spec), annotations: annotationsOf(spec) }, spec: podSpec(spec) };
}

const deadline = (spec: OperationSpec): number => Math.min(spec.activeDeadlineSeconds, ACTIVE_DEADLINE_SECONDS_MAX);

function labelsOf(spec: OperationSpec): Record<string, string> {
  return {
    ...spec.execution.podMetadata?.labels,
    [label.component]: component.schema,
    [label.managedBy]: MANAGED_BY,
    [label.operation]: spec.work.type.toLowerCase(),
    [label.operationId]: operationIdLabel(spec.operationID),
    [label.schema]: spec.resource.name,
  };
}

function annotationsOf(spec: OperationSpec): Record<string, string> {
  const { work, binding, manager } = spec;
  return {
    ...spec.execution.podMetadata?.annotations,
    ...(spec.admissionSnapshotDigest === undefined
      ? {}
      : { [annotation.admissionSnapshotDigest]: spec.admissionSnapshotDigest }),
    ...(work.type === "Apply"
      ? {
          [annotation.planContentDigest]: work.plan.contentDigest,
          [annotation.planFingerprint]: work.plan.fingerprint,
          [annotation.safeToEvict]: "false",
        }
      : {}),
    [annotation.controllerImage]: manager.controllerImage,
    [annotation.controllerRevision]: manager.controllerRevision,
    [annotation.controllerStateVersion]: String(binding.controllerStateVersion),
    [annotation.executionBindingId]: binding.epoch,
    [annotation.inputFingerprint]: spec.inputFingerprint,
    [annotation.operationId]: spec.operationID,
    [annotation.ptahVersion]: binding.ptahVersion,
  };
}

function podSpec(spec: OperationSpec): PodSpec {
  const { execution } = spec;
  const parts = partsOf(spec);
  const initContainers = [
    ...(parts.scratch === undefined ? [] : [scratchServer(spec, parts.scratch)]),
    ...(usesOwnExecutorImage(spec) ? [installRunner(spec)] : []),
    ...(parts.source === undefined ? [] : [copySource(spec, parts.source)]),
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
export function serviceAccountOf(spec: OperationSpec): string {
  return spec.execution.serviceAccountName ?? "default";
}

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

function partsOf(spec: OperationSpec): Parts {
  const { work } = spec;
  if (work.type === "Apply") return { chunks: work.plan.chunkConfigMaps };
  if (work.desired === undefined) return { chunks: [] };
  const { source, scratch } = work.desired;
  return { source, chunks: [], ...(scratch.kind === "Server" ? { scratch } : {}) };
}

const secret = (name: string, from: { name: string; key: string }): EnvVar => ({
  name,
  valueFrom: { secretKeyRef: { name: from.name, key: from.key } },
});

function environmentOf(spec: OperationSpec): EnvVar[] {
  const { target, work } = spec;
  const values: Record<string, string> = {
    [ENV.connectTimeout]: spec.connectTimeout,
    [ENV.coordinationDigest]: target.coordinationDigest,
    [ENV.expectedEngine]: target.engine,
    [ENV.lockTimeout]: spec.lockTimeout,
    [ENV.operationID]: spec.operationID,
    [ENV.protocolVersion]: String(spec.binding.runnerProtocolVersion),
    [ENV.terminationGraceSeconds]: String(spec.terminationGracePeriodSeconds),
    HOME: PATHS.work,
    TMPDIR: PATHS.work,
    ...(target.caFrom === undefined ? {} : { [ENV.databaseCAFile]: PATHS.targetCAFile }),
    ...workEnvironment(work),
  };
  const plain: EnvVar[] = Object.entries(values).map(([name, value]) => ({ name, value }));
  const dev = work.type !== "Apply" && work.desired?.scratch.kind === "URL" ? work.desired.scratch : undefined;
  return [
    ...plain,
    secret(ENV.databaseURL, target.urlFrom),
    ...(dev === undefined ? [] : [secret(ENV.devURL, dev.urlFrom)]),
  ];
}

function workEnvironment(work: OperationSpec["work"]): Record<string, string> {
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
    case "Apply":
      return applyEnvironment(work);
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
    [ENV.dispatchNotAfter]: work.dispatchNotAfter,
    [ENV.executionNotAfter]: work.executionNotAfter,
    [ENV.expectedCoordinationDigest]: work.expectedCoordinationDigest,
    [ENV.expectedPlanContentDigest]: work.plan.contentDigest,
    [ENV.expectedTargetIdentityDigest]: work.expectedTargetIdentityDigest,
    [ENV.planDirectory]: PATHS.plan,
    [ENV.transactionMode]: work.transactionMode,
  };
}

function mountsOf(spec: OperationSpec, parts: Parts): VolumeMount[] {
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

function volumesOf(spec: OperationSpec, parts: Parts): JsonObject[] {
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
