import { afterEach, describe, expect, test } from "bun:test";
import { bunFetch } from "../../kube/fetch.bun.ts";
import { KubeClient } from "../../kube/index.ts";
import { serve } from "../../kube/testing.bun.ts";
import { type Handler, json, quickPorts, refusal, type SeenRequest, type Served } from "../../kube/testing.ts";
import { transportTo } from "../../kube/transport.ts";
import type { ResourceFacts } from "../../lifecycle/view.ts";
import { Caches } from "../caches.ts";
import { STATE_VERSION } from "../contract.ts";
import { limits } from "../limits.ts";
import { WorkloadLook } from "./workload-look.ts";

const JOBS = "/apis/batch/v1/namespaces/shop/jobs/o";
const PODS = "/api/v1/namespaces/shop/pods";
const EVENTS = "/api/v1/namespaces/shop/events";
const CREATED = "2026-01-01T00:00:00Z";
const RESOURCE = {
  kind: "PtahSchema",
  namespace: "shop",
  name: "a",
  uid: "us",
  status: {},
} as unknown as ResourceFacts;

const running: Served[] = [];
afterEach(async () => {
  for (const served of running.splice(0)) await served.stop();
});

function lookAt(
  answers: Record<string, unknown>,
  nowMs = Date.parse(CREATED),
  resource = RESOURCE,
): { look: WorkloadLook; seen: SeenRequest[] } {
  const handler: Handler = ({ path }) => {
    const answer = answers[path];
    return answer === undefined ? refusal(404, "NotFound") : json(answer);
  };
  const served = serve(handler);
  running.push(served);
  const credentials = async () => ({ headers: {}, tls: { verify: true } });
  const transport = transportTo({ server: served.url, namespace: "shop", credentials }, bunFetch, "test", quickPorts());
  const caches = new Caches({
    namespace: undefined,
    stateVersion: STATE_VERSION,
    wake: () => undefined,
    onError: () => undefined,
    onUnreadable: () => undefined,
  });
  const clock = { wallMs: () => nowMs, monotonicMs: () => 0 };
  return {
    look: new WorkloadLook({ client: new KubeClient(transport), caches, clock }, resource),
    seen: served.requests,
  };
}

const metadata = (name: string, more: object = {}) => ({
  name,
  namespace: "shop",
  uid: `u-${name}`,
  resourceVersion: "7",
  creationTimestamp: CREATED,
  ...more,
});
const ofJob = (uid: string) => ({ ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "o", uid }] });
const job = (status: object = {}) => ({
  metadata: metadata("o", { generation: 1 }),
  spec: { template: { spec: { containers: [] } } },
  status,
});
const list = (...items: object[]) => ({ metadata: { resourceVersion: "9" }, items });

describe("the Pods of a Job", () => {
  test("are found by their owner, whatever their labels say, and read whole", async () => {
    const mine = { metadata: metadata("p", ofJob("u-o")) };
    const labelled = { metadata: metadata("q", { labels: { "job-name": "o" } }) };
    const { look } = lookAt({
      [PODS]: list(mine, labelled, { metadata: metadata("r", ofJob("u-other")) }),
      [`${PODS}/p`]: { ...mine, spec: { containers: [] }, status: { phase: "Succeeded" } },
      [JOBS]: job(),
    });
    const { pods } = await look.pods("o", "u-o");
    expect(pods).toMatchObject([{ name: "p", uid: "u-p", terminated: true }]);
  });

  test("are asked for by the Job's name where the claim only reads, and never where it applies", async () => {
    const claimed = (type: string) =>
      ({ ...RESOURCE, status: { activeOperation: { type, jobName: "o" } } }) as unknown as ResourceFacts;
    const queries = async (type: string, jobName: string): Promise<readonly string[]> => {
      const { look, seen } = lookAt({ [PODS]: list() }, undefined, claimed(type));
      await look.pods(jobName, undefined);
      return seen.map(({ query }) => query.get("labelSelector") ?? "everything");
    };
    expect(await queries("Plan", "o")).toEqual(["batch.kubernetes.io/job-name=o"]);
    expect(await queries("Apply", "o")).toEqual(["everything"]);
    expect(await queries("Plan", "of-the-record")).toEqual(["everything"]);
  });

  test("one that went after it was listed was seen, and nobody knows that it ended", async () => {
    const mine = { metadata: metadata("p", ofJob("u-o")) };
    const again = {
      metadata: { ...mine.metadata, uid: "u-2" },
      spec: { containers: [] },
      status: { phase: "Succeeded" },
    };
    const gone = lookAt({ [PODS]: list(mine), [JOBS]: job() });
    const replaced = lookAt({ [PODS]: list(mine), [`${PODS}/p`]: again, [JOBS]: job() });
    for (const { look } of [gone, replaced]) {
      const { pods } = await look.pods("o", "u-o");
      expect(pods).toMatchObject([{ name: "p", uid: "u-p", jobUID: "u-o", terminated: false, accepted: false }]);
    }
  });
});

describe("a Job that has no Pod", () => {
  test("is asked about again when the API server's refusal could be known, and then until it is", async () => {
    const young = lookAt({ [JOBS]: job() });
    expect(await young.look.job("o")).toMatchObject({ job: { uid: "u-o" } });
    expect(young.look.askAgainMs).toBe(Date.parse(CREATED) + limits.podAwaitedMs);
    expect(young.seen.map(({ path }) => path)).toEqual([JOBS]);

    const nowMs = Date.parse(CREATED) + limits.podAwaitedMs;
    const quiet = lookAt({ [JOBS]: job(), [EVENTS]: list() }, nowMs);
    expect((await quiet.look.job("o")).job?.podRefused).toBeUndefined();
    expect(quiet.look.askAgainMs).toBe(nowMs + limits.podAskedMs);

    const refused = lookAt({ [JOBS]: job(), [EVENTS]: list({ metadata: metadata("e") }) }, nowMs);
    expect((await refused.look.job("o")).job?.podRefused).toBe(true);
    expect(refused.look.askAgainMs).toBeUndefined();
  });

  test("is no question any more once a Pod came or the Job ended", async () => {
    for (const status of [{ active: 1 }, { failed: 1, conditions: [{ type: "Failed", status: "True" }] }]) {
      const { look } = lookAt({ [JOBS]: job(status) }, Date.parse(CREATED) + 60_000);
      await look.job("o");
      expect(look.askAgainMs).toBeUndefined();
    }
  });
});
