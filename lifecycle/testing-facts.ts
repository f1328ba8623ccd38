/** Facts and results the test world is made of. */
import * as v from "valibot";
import { sha256Digest } from "../crds/canonical.ts";
import { Mirror } from "../crds/status/index.ts";
import type { OperationSpec } from "../workload/operation.ts";
import type { OperationResult } from "../workload/result.ts";
import type { WriteLease } from "./move.ts";
import type { JobFacts, LeaseFacts, MirrorMark, PodFacts, SourceFacts } from "./view.ts";

export type Lease = NonNullable<LeaseFacts["lease"]>;
export const digestOf = (text: string): string => sha256Digest(text);
export const IMAGE = `registry.example/ptah@${digestOf("image")}`;

export function mirrorMark(text: string): MirrorMark {
  const parsed = v.safeParse(Mirror, JSON.parse(text));
  return parsed.success ? { state: "read", mirror: parsed.output } : { state: "unreadable" };
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

export function podOf(spec: OperationSpec, job: JobFacts, index: number): PodFacts {
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

export function baseResult(spec: OperationSpec): Partial<OperationResult> {
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
  if (work.type === "Apply") return { ...common, operation: "apply", mutationStarted: true };
  if (work.type === "Plan") return { ...common, operation: "plan", planOutcome: "NoChanges" };
  const drift =
    work.desired === undefined
      ? {}
      : { driftReportDigest: digestOf("drift"), observedDrift: false, driftFindingCount: 0, driftFindings: [] };
  return { ...common, operation: "observe", observedDialect: "postgres", ...drift };
}
