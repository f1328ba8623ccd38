import { describe, expect, test } from "bun:test";
import { OPERATION_CONTAINER } from "../../crds/names.ts";
import type { ContainerState, Job, Pod } from "../../kube/index.ts";
import { jobFacts, podFacts } from "./workloads.ts";

const metadata = { name: "o", namespace: "shop", uid: "u", resourceVersion: "1" };
const spec = { template: { metadata: {}, spec: { containers: [] } } };

const job = (reason: string): Job =>
  ({ metadata, spec, status: { conditions: [{ type: "Failed", status: "True", reason }] } }) as unknown as Job;

const pod = (status: { reason?: string; state?: ContainerState; init?: object[] }): Pod =>
  ({
    metadata,
    spec: {},
    status: {
      phase: "Failed",
      ...(status.reason === undefined ? {} : { reason: status.reason }),
      initContainerStatuses: status.init ?? [],
      containerStatuses: [{ name: OPERATION_CONTAINER, state: status.state }],
    },
  }) as unknown as Pod;

const endedBy = (status: Parameters<typeof pod>[0]) => podFacts(pod(status), undefined, undefined).endedBy;

describe("why an operation was ended", () => {
  test("is the Job's deadline where the Job says so, and no other failure", () => {
    expect(jobFacts(job("DeadlineExceeded")).cutByDeadline).toBe(true);
    expect(jobFacts(job("BackoffLimitExceeded")).cutByDeadline).toBeUndefined();
  });

  test("is the kubelet's word, and nothing where the process ended by itself", () => {
    expect(endedBy({ state: { terminated: { exitCode: 137, reason: "OOMKilled" } } })).toBe("OOMKilled");
    expect(endedBy({ reason: "Evicted", state: {} })).toBe("Evicted");
    expect(endedBy({ state: { terminated: { exitCode: 1, reason: "Error" } } })).toBeUndefined();
    expect(endedBy({ state: { terminated: { exitCode: 137, reason: "any\u001b[2J text" } } })).toBeUndefined();
  });

  test("is a container before it that failed, where it never began, and not one that was ended beside it", () => {
    const failed = [{ name: "snapshot", state: { terminated: { exitCode: 1, reason: "Error" } } }];
    const waiting: ContainerState = { waiting: { reason: "PodInitializing" } };
    expect(endedBy({ state: waiting, init: failed })).toBe("Init:Error");
    expect(endedBy({ state: { terminated: { exitCode: 0, reason: "Completed" } }, init: failed })).toBeUndefined();
    expect(endedBy({ state: waiting })).toBeUndefined();
  });
});
