/** Facts and results the test world is made of. */
import * as v from "valibot";
import { canonicalJson, type Json, sha256Digest } from "../crds/canonical.ts";
import { MigrationStatus, Mirror, SchemaStatus } from "../crds/status/index.ts";
import type { OperationSpec, Work } from "../workload/operation.ts";
import type { OperationResult } from "../workload/result.ts";
import type { FamilyName, Status } from "./families/types.ts";
import type { WriteLease } from "./move.ts";
import type {
  Configuration,
  EnvelopeFacts,
  JobFacts,
  LeaseFacts,
  Marks,
  MirrorMark,
  PodFacts,
  SourceFacts,
} from "./view.ts";

export type Lease = NonNullable<LeaseFacts["lease"]>;
export const digestOf = (text: string): string => sha256Digest(text);
export const IMAGE = `registry.example/ptah@${digestOf("image")}`;

export const CONFIGURATION: Configuration = {
  components: { controllerStateVersion: 1, ptahVersion: "0.1.0", executorImage: IMAGE, runnerProtocolVersion: 1 },
  manager: { controllerImage: IMAGE, controllerRevision: "r1", runnerImage: IMAGE },
  scratchImages: { "postgresql-17": { image: IMAGE, uid: 999 } },
};
export const ENVELOPE: EnvelopeFacts = {
  state: "resolved",
  snapshot: {
    version: "v1",
    serviceAccount: { object: { name: "default", uid: "sa", resourceVersion: "1" } },
    priorityClass: { value: 0 },
    defaultTolerationsEnabled: true,
    defaultNotReadyTolerationSeconds: 300,
    defaultUnreachableTolerationSeconds: 300,
    extendedResourceTolerationEnabled: false,
    alwaysPullImagesEnabled: false,
  },
};

export function mirrorMark(text: string): MirrorMark {
  const parsed = v.safeParse(Mirror, JSON.parse(text));
  return parsed.success ? { state: "read", mirror: parsed.output } : { state: "unreadable" };
}

/** The marks that annotations make. */
export function marksOf(annotations: Readonly<Record<string, string>>): Marks {
  const mirror = annotations["operator.ptah.run/unsettled-apply"];
  const settled = annotations["operator.ptah.run/settled-apply"];
  const by = annotations["operator.ptah.run/settled-apply-by"];
  const asked = annotations["operator.ptah.run/read-requested-at"];
  return {
    ...(mirror === undefined ? {} : { mirror: mirrorMark(mirror) }),
    ...(settled === undefined
      ? {}
      : { settledApply: { operationID: settled, by: by === undefined ? undefined : { username: by } } }),
    ...(asked === undefined ? {} : { readRequestedAt: asked }),
  };
}

/**
 * A status as the API server would have it: undefined members are gone. Errors where its definition does not admit it, or
 * would prune a member.
 */
export function storedStatus(family: FamilyName, status: Status): Status {
  const stored = JSON.parse(JSON.stringify(status)) as Json;
  const parsed = v.safeParse(family === "schema" ? SchemaStatus : MigrationStatus, stored);
  if (!parsed.success)
    throw new Error(
      `no status: ${v.flatten(parsed.issues).nested ? JSON.stringify(v.flatten(parsed.issues).nested) : ""}`,
    );
  if (canonicalJson(parsed.output as Json) !== canonicalJson(stored)) {
    throw new Error(`members would be pruned: ${canonicalJson(stored)}`);
  }
  return stored as unknown as Status;
}

export function sourceOf(content: string): SourceFacts {
  return {
    state: "resolved",
    kind: "ConfigMap",
    requestedReference: "configmap/orders-schema",
    identity: "configmap-uid",
    resourceVersion: content,
    contentDigest: digestOf(content),
    fileCount: 1,
    sizeBytes: 10,
  };
}

export function podOf(spec: OperationSpec<Work>, job: JobFacts, index: number): PodFacts {
  return {
    name: `${spec.jobName}-${index}`,
    uid: `pod-${spec.jobName}-${index}`,
    resourceVersion: "1",
    jobUID: job.uid,
    deleting: false,
    gated: spec.work.type === "Apply",
    terminated: false,
    accepted: true,
  };
}

export function leaseAfter(move: WriteLease, before: Lease | null): Lease {
  return {
    uid: before?.uid ?? "lease-uid",
    resourceVersion: String(Number(before?.resourceVersion ?? 0) + 1),
    ...move.content,
  };
}

export const TARGET = digestOf("target");

export function baseResult(spec: OperationSpec<Work>): Partial<OperationResult> {
  const common = {
    protocolVersion: 1 as const,
    operationId: spec.operationID,
    childExitCode: 0,
    childStarted: true,
    stdout: "",
    coordinationDigest: spec.target.coordinationDigest,
    targetIdentityDigest: TARGET,
    serverVersion: "17.2",
    serverMajor: 17,
  };
  const { work } = spec;
  if (work.type === "History") return { ...common, operation: "migration-history" };
  if (work.type === "Apply") {
    return { ...common, operation: work.family === "migration" ? "migration-apply" : "apply", mutationStarted: true };
  }
  if (work.type === "Plan") return { ...common, operation: "plan", planOutcome: "NoChanges" };
  const drift =
    work.desired === undefined
      ? {}
      : { driftReportDigest: digestOf("drift"), observedDrift: false, driftFindingCount: 0, driftFindings: [] };
  return { ...common, operation: "observe", observedDialect: "postgres", ...drift };
}
