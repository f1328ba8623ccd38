import { annotation, component, label, MANAGED_BY, operationIdLabel, RECORDED_GATE } from "../crds/names.ts";
import {
  copySource,
  installRunner,
  NONROOT_ID,
  operationContainer,
  scratchServer,
  usesOwnExecutorImage,
  VOLUME,
} from "./containers.ts";
import { PATHS } from "./environment.ts";
import type { Job, JsonObject, PodSpec, PodTemplate, VolumeMount } from "./kubernetes.ts";
import { ACTIVE_DEADLINE_SECONDS_MAX, MIGRATION_APPLY_GRACE_SECONDS } from "./limits.ts";
import {
  type ApplyWork,
  isMigration,
  isMigrationApply,
  type MigrationApplyWork,
  type OperationSpec,
  type Scratch,
  type SourceSnapshot,
  type Work,
} from "./operation.ts";
import { environmentOf } from "./operation-environment.ts";

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
  if (isMigration(work)) return { source: work.source, chunks: [] };
  if (work.type === "Apply") return { chunks: work.plan.chunkConfigMaps };
  if (work.desired === undefined) return { chunks: [] };
  const { source, scratch } = work.desired;
  return { source, chunks: [], ...(scratch.kind === "Server" ? { scratch } : {}) };
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
              // The runner names a missing one; a Pod that waits for its volume tells nobody.
              optional: true,
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
