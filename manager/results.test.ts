import { describe, expect, test } from "bun:test";
import { KubeError, type Pod } from "../kube/index.ts";
import { until } from "../kube/testing.ts";
import { encodeFrame } from "../workload/frame.ts";
import type { OperationResult } from "../workload/result.ts";
import { encodeSummary } from "../workload/summary.ts";
import { limits } from "./limits.ts";
import { type ReadRequest, Results } from "./results.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OPERATION_ID = `sha256:${"b".repeat(64)}`;

function frame(operationId: string): Uint8Array {
  const result: OperationResult = {
    protocolVersion: 1,
    operation: "apply",
    operationId,
    childExitCode: 0,
    childStarted: true,
    stdout: "",
    mutationStarted: true,
    coordinationDigest: DIGEST,
    targetIdentityDigest: DIGEST,
  };
  const encoded = encodeFrame(result);
  if (!encoded.ok) throw new Error(encoded.problem);
  return encoded.bytes;
}

const request: ReadRequest = {
  podName: "p",
  podUID: "pod-1",
  operation: "Apply",
  operationID: OPERATION_ID,
  boundMs: 5_000,
  notBeforeMs: 0,
  namespace: "shop",
  wire: "apply",
  sequence: [],
};

type Log = (call: number, timeoutMs: number) => Promise<Uint8Array>;

function results(log: Log, pod?: Pod): { readonly made: Results; readonly woken: string[]; readonly calls: number[] } {
  const woken: string[] = [];
  const calls: number[] = [];
  const client = {
    logTail: (_at: unknown, options: { timeoutMs: number }) => {
      calls.push(options.timeoutMs);
      return log(calls.length - 1, options.timeoutMs);
    },
    get: async () => pod as never,
  };
  return {
    made: new Results(
      client,
      (key) => woken.push(key),
      () => 7_000,
      async () => undefined,
    ),
    woken,
    calls,
  };
}

describe("reading results beside the passes", () => {
  test("a frame bound to the operation becomes a fact, and the resource is decided about again", async () => {
    const { made, woken } = results(async () => frame(OPERATION_ID));
    made.request("shop/a", request);
    expect(made.of("shop/a", OPERATION_ID)?.state).toBe("reading");
    await until(() => woken.length === 1, "the wake");
    const facts = made.of("shop/a", OPERATION_ID);
    expect(facts).toMatchObject({ podUID: "pod-1", state: "frame", result: { operation: "apply" } });
  });

  test("the same Pod is not read again while the reading is young enough, and is when it is not", async () => {
    const { made, woken, calls } = results(async () => new Uint8Array());
    made.request("shop/a", request);
    await until(() => woken.length === 1, "the first reading");
    expect(made.of("shop/a", OPERATION_ID)).toMatchObject({ state: "none", readAtMs: 7_000 });
    made.request("shop/a", { ...request, notBeforeMs: 6_000 });
    expect(calls.length).toBe(1);
    made.request("shop/a", { ...request, notBeforeMs: 8_000 });
    await until(() => woken.length === 2, "the second reading");
  });

  test("a reading is bounded by the claim's Lease and by sixty seconds", async () => {
    const { made, woken, calls } = results(async () => new Uint8Array());
    made.request("shop/a", { ...request, boundMs: 30_000 });
    made.request("shop/b", { ...request, boundMs: 600_000 });
    await until(() => woken.length === 2, "both");
    expect(calls).toEqual([30_000, limits.resultReadMsMax]);
  });

  test("a time-out decides nothing and is told apart from other failures", async () => {
    const { made, woken } = results(async (call) => {
      throw new KubeError({ code: call === 0 ? "Timeout" : "Unavailable", committed: "no" }, "no log");
    });
    made.request("shop/a", request);
    made.request("shop/b", request);
    await until(() => woken.length === 2, "both");
    expect(made.of("shop/a", OPERATION_ID)).toMatchObject({ state: "failed", timedOut: true });
    expect(made.of("shop/b", OPERATION_ID)).toMatchObject({ state: "failed", timedOut: false });
  });

  test("a Pod that ended before its container began has no log to wait for; any other log that is refused has", async () => {
    const waiting = [{ name: "ptah", state: { waiting: { reason: "PodInitializing" } } }];
    const ended = [{ name: "ptah", state: { terminated: { exitCode: 0 } } }];
    const states = [
      { phase: "Failed", containerStatuses: waiting },
      { phase: "Failed", reason: "NodeAffinity" },
      { phase: "Pending", containerStatuses: waiting },
      { phase: "Failed", containerStatuses: ended },
      undefined,
    ].map(async (status) => {
      const pod = { metadata: { name: "p", uid: "pod-1", resourceVersion: "1" }, spec: { containers: [] }, status };
      const { made, woken } = results(
        async () => {
          throw new KubeError({ code: "BadRequest", committed: "no" }, "the container is not available");
        },
        status && (pod as Pod),
      );
      made.request("shop/a", request);
      await until(() => woken.length === 1, "the reading");
      return made.of("shop/a", OPERATION_ID)?.state;
    });
    expect(await Promise.all(states)).toEqual(["none", "none", "failed", "failed", "failed"]);
  });

  test("a frame of another operation is not this one's, and another claim's reading is dropped", async () => {
    const { made, woken } = results(async () => frame(DIGEST));
    made.request("shop/a", request);
    await until(() => woken.length === 1, "the reading");
    expect(made.of("shop/a", OPERATION_ID)?.state).toBe("invalid");
    expect(made.of("shop/a", DIGEST)).toBeUndefined();
    expect(made.of("shop/a", OPERATION_ID)).toBeUndefined();
  });

  test("slow logs hold up at most their own number of workers", async () => {
    let inside = 0;
    let most = 0;
    const open: (() => void)[] = [];
    const { made, woken } = results(async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise<void>((resolve) => open.push(resolve));
      inside -= 1;
      return new Uint8Array();
    });
    for (let i = 0; i < limits.resultReadsMax + 3; i++) made.request(`shop/${i}`, request);
    await until(() => open.length === limits.resultReadsMax, "all workers");
    while (woken.length < limits.resultReadsMax + 3) {
      open.shift()?.();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(most).toBe(limits.resultReadsMax);
  });
});

describe("a frame that did not arrive", () => {
  const run: OperationResult = {
    protocolVersion: 1,
    operation: "migration-apply",
    operationId: OPERATION_ID,
    childExitCode: 1,
    childStarted: true,
    stdout: "",
    mutationStarted: true,
    uncertain: true,
    coordinationDigest: DIGEST,
    targetIdentityDigest: DIGEST,
    error: { code: "apply_failed", message: "It stopped." },
    migrationRun: { contractVersion: 1, outcome: "partial", planned: [1, 2, 3], applied: [1] },
  };
  const asked: ReadRequest = { ...request, wire: "migration-apply", sequence: [1, 2, 3] };
  const ended = (message: string, endedMs: number, uid = "pod-1"): Pod => ({
    metadata: { name: "p", uid, resourceVersion: "1" },
    spec: { containers: [] },
    status: {
      containerStatuses: [
        { name: "ptah", state: { terminated: { exitCode: 1, message, finishedAt: new Date(endedMs).toISOString() } } },
      ],
    },
  });
  const read = async (log: Uint8Array, pod: Pod | undefined, wanted = asked) => {
    const { made, woken } = results(async () => log, pod);
    made.request("shop/a", wanted);
    await until(() => woken.length === 1, "the reading");
    return made.of("shop/a", OPERATION_ID);
  };
  const EARLY_MS = 7_000 - limits.frameAwaitedMs;
  const summary = encodeSummary(run, DIGEST);

  test("is stood in for by the summary of a migration's run, once it need not be waited for", async () => {
    const facts = await read(new Uint8Array(), ended(summary, EARLY_MS));
    expect(facts).toMatchObject({
      state: "frame",
      result: { uncertain: true, migrationRun: { outcome: "partial", planned: [1, 2, 3], applied: [1] } },
    });
    expect((await read(new Uint8Array(), ended(summary, EARLY_MS + 1)))?.state).toBe("none");
  });

  test("is stood in for by nothing of another Pod, of another frame, or of another sequence", async () => {
    expect((await read(new Uint8Array(), ended(summary, EARLY_MS, "pod-2")))?.state).toBe("none");
    const torn = frame(OPERATION_ID).subarray(0, 120);
    expect((await read(torn, ended(summary, EARLY_MS)))?.state).toBe("none");
    const other = { ...asked, sequence: [2, 3] };
    expect((await read(new Uint8Array(), ended(summary, EARLY_MS), other))?.state).toBe("none");
  });

  test("is stood in for by a summary that says nothing started, and never by one of a schema that started", async () => {
    const refused: OperationResult = {
      protocolVersion: 1,
      operation: "apply",
      operationId: OPERATION_ID,
      childExitCode: -1,
      childStarted: false,
      stdout: "",
      error: { code: "target_mismatch", message: "Another database." },
    };
    const facts = await read(new Uint8Array(), ended(encodeSummary(refused, DIGEST), EARLY_MS), request);
    expect(facts).toMatchObject({
      state: "frame",
      result: { childStarted: false, error: { code: "target_mismatch" } },
    });
    const started = { ...refused, childStarted: true, childExitCode: 0, mutationStarted: true, uncertain: true };
    const facts2 = await read(new Uint8Array(), ended(encodeSummary(started, DIGEST), EARLY_MS), request);
    expect(facts2?.state).toBe("none");
  });
});
