/** Latency of approval admission on a real API server, beside bare uncached reads of the same run. */

import { applyObjects, type KubectlTarget, kubectl, tryKubectl } from "../e2e/cluster/kubectl.ts";
import { openCluster } from "../e2e/cluster/open.ts";
import { createProgress } from "../e2e/cluster/progress.ts";
import { waitFor } from "../e2e/cluster/wait.ts";
import { MANAGER, NAMESPACE, startAdmission } from "../e2e/scenarios/admission.ts";
import {
  approvalObject,
  PLAN,
  type Published,
  publishPlan,
  schemaObject,
  sourceFiles,
} from "../e2e/scenarios/standing-plan.ts";
import { connect, custom, type KubeClient, pathOf } from "../kube/index.ts";

const OPERATOR = [`--as=${MANAGER}`, "--as-group=system:masters"];
const RATE_PER_SECOND = 20;
const RATED_COUNT = 400;
const CONCURRENCY = 32;
const CONCURRENT_COUNT = 640;
/** An accepted approval is judged by this many uncached reads: plan, schema, source. */
const READS_PER_APPROVAL = 3;

export interface AdmissionFigures {
  /** A whole create with both reviews, as the client sees it, at 20 a second; milliseconds. */
  readonly rated: { readonly p50: number; readonly p99: number };
  /** The same without the webhook's part: one uncached read at that rate. */
  readonly ratedRead: { readonly p50: number; readonly p99: number };
  /** Seconds for 640 approvals, 32 at a time. */
  readonly concurrentSeconds: number;
  /** Seconds for as many single reads, and for as many reads as those approvals need, 32 at a time. */
  readonly readSeconds: number;
  readonly sameReadsSeconds: number;
}

/** Measures on the API server alone; the approvals are dry runs, so nothing is stored and admission runs in full. */
export async function measureAdmission(): Promise<AdmissionFigures> {
  const cluster = await openCluster({ progress: createProgress(), apiOnly: true });
  await cluster.up({ apiOnly: true });
  const target = { kubectl: cluster.kubectl, kubeconfig: cluster.kubeconfig };
  await cleanUp(target);
  await tryKubectl(target, ["create", "namespace", NAMESPACE]);
  const admission = await startAdmission(target, []);
  try {
    const published = await standingPlan(target);
    const { client } = await connect({ kubeconfig: cluster.kubeconfig }, {}, "ptah-bench");
    return await measured(client, published);
  } finally {
    await admission.stop();
    await cleanUp(target);
  }
}

async function cleanUp(target: KubectlTarget): Promise<void> {
  await tryKubectl(target, ["delete", "ptahs,ptahplan,configmaps", "--all", "-n", NAMESPACE, "--timeout=20s"]);
}

async function standingPlan(target: KubectlTarget): Promise<Published> {
  await applyObjects(target, [sourceFiles(NAMESPACE), schemaObject(NAMESPACE, "orders")]);
  const published = await publishPlan(target, NAMESPACE, OPERATOR);
  const patch = JSON.stringify({ status: published.status });
  const standing = ["patch", "ptahs", "orders", "--subresource=status", "--type=merge", "-p", patch];
  await kubectl(target, [...standing, ...OPERATOR, "-n", NAMESPACE]);
  return published;
}

async function measured(client: KubeClient, published: Published): Promise<AdmissionFigures> {
  const body = JSON.stringify(approvalObject(NAMESPACE, "measured", published));
  // What a dry run answers was never stored and has no version, so it is not read as a stored object.
  const path = `${pathOf(custom.PtahSchemaApproval.raw, { namespace: NAMESPACE })}?dryRun=All`;
  const approve = async () => void (await client.transport.text({ method: "POST", path, body }));
  const read = async () => void (await client.get(custom.PtahSchemaPlan.raw, { namespace: NAMESPACE, name: PLAN }));
  const works = async () => {
    await approve();
    return true;
  };
  await waitFor("an approval is accepted", works, { timeoutMs: 20_000 });
  await concurrently(read, CONCURRENCY);
  await concurrently(approve, CONCURRENCY);
  return {
    rated: await atRate(approve),
    ratedRead: await atRate(read),
    concurrentSeconds: await concurrently(approve, CONCURRENT_COUNT),
    readSeconds: await concurrently(read, CONCURRENT_COUNT),
    sameReadsSeconds: await concurrently(read, CONCURRENT_COUNT * READS_PER_APPROVAL),
  };
}

/** Starts one call every 1/rate second whether the ones before have ended or not; milliseconds of each. */
async function atRate(call: () => Promise<void>): Promise<{ p50: number; p99: number }> {
  const began = performance.now();
  const calls: Promise<number>[] = [];
  for (let i = 0; i < RATED_COUNT; i += 1) {
    const waitMs = began + (i * 1000) / RATE_PER_SECOND - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const at = performance.now();
    calls.push(call().then(() => performance.now() - at));
  }
  const times = (await Promise.all(calls)).sort((a, b) => a - b);
  const part = (p: number) => times[Math.min(times.length - 1, Math.floor(times.length * p))] ?? 0;
  return { p50: part(0.5), p99: part(0.99) };
}

async function concurrently(call: () => Promise<void>, count: number): Promise<number> {
  const began = performance.now();
  let left = count;
  const worker = async () => {
    for (; left > 0; ) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return (performance.now() - began) / 1000;
}
