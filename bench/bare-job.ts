/** The control of every figure about operations: the same Jobs with nothing of the operator in them. */
import { waitFor } from "../e2e/cluster/wait.ts";
import { type Job, type KubeClient, kinds, orAbsent } from "../kube/index.ts";
import { PATHS } from "../workload/environment.ts";
import type { Followed } from "./followed.ts";
import { limits } from "./limits.ts";

/**
 * What a bare Job's main container does: nothing but say its version, the operation's own reading and planning, or all of it. An
 * Apply's own work needs the database as the Apply found it, because its plan fits no other.
 */
export type Work = "none" | "readings" | "all";

/**
 * A Job of an operation's shape (image, init containers, sidecar, volumes, security, deadlines) that belongs to nobody: without
 * labels, annotations, owner and gate; its sidecar can be stopped from the beginning. Pure.
 */
export function bareJob(job: Job, name: string, work: Work = "none"): object {
  const { parallelism, completions, backoffLimit, activeDeadlineSeconds, podReplacementPolicy, template } =
    job.spec as unknown as {
      readonly [key: string]: unknown;
      readonly template: { readonly spec: Readonly<Record<string, unknown>> };
    };
  const { schedulingGates: _gates, ...pod } = template.spec;
  const initContainers = (pod["initContainers"] as readonly InitContainer[] | undefined)?.map(stoppable);
  const own = work === "all" || (work === "readings" && operationOf(job) !== "apply");
  const main = own ? {} : { command: [PATHS.ptah], args: ["version"] };
  const containers = (pod["containers"] as readonly object[]).map((container) => ({ ...container, ...main }));
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: job.metadata.namespace },
    spec: {
      parallelism,
      completions,
      backoffLimit,
      activeDeadlineSeconds,
      podReplacementPolicy,
      template: { spec: { ...pod, initContainers, containers } },
    },
  };
}

interface InitContainer {
  readonly restartPolicy?: string;
  readonly command?: readonly string[];
}

/**
 * A shell that is a container's first process does not hear SIGTERM while it prepares the scratch server, so that a main container
 * that is done at once would wait out the whole grace period for it; an operation never is done before that server is up.
 */
function stoppable(container: InitContainer): InitContainer {
  const [shell, flag, script] = container.command ?? [];
  if (container.restartPolicy !== "Always" || flag !== "-c" || script === undefined) return container;
  return { ...container, command: [shell ?? "", flag, `trap 'exit 0' TERM\n${script}`] };
}

/** Runs the Jobs one after another, each as soon as the one before is complete. @throws when one fails or is late. */
export async function runInTurn(
  client: KubeClient,
  jobs: Followed<Job>,
  shapes: readonly Job[],
  prefix: string,
  work: Work = "none",
): Promise<void> {
  for (const [index, shape] of shapes.entries()) {
    const name = `${prefix}-${index}`;
    await client.create(kinds.Job, shape.metadata.namespace, bareJob(shape, name, work));
    await jobs.until(`the end of Job ${name}`, limits.jobMsMax, () => complete(jobs.seen.get(name)));
  }
}

/**
 * Deletes every Job that was ever seen and is still there, and waits until its Pods are gone: a kubelet works for ended Pods
 * too, and the next figure would pay for them.
 */
export async function removeJobs(client: KubeClient, namespace: string, jobs: Followed<Job>): Promise<void> {
  const gone = async (name: string): Promise<boolean> =>
    (await orAbsent<Job>(client.get(kinds.Job, { namespace, name }))) === undefined;
  const names = [...jobs.seen.keys()];
  for (const name of names) {
    await orAbsent(client.delete(kinds.Job, { namespace, name }, { propagation: "Foreground" }));
  }
  for (const name of names) {
    await waitFor(`the end of Job ${name} and its Pods`, () => gone(name), { timeoutMs: limits.jobMsMax });
  }
}

function complete(job: Job | undefined): true | undefined {
  const is = (type: string) => job?.status?.conditions?.some((c) => c.type === type && c.status === "True");
  if (is("Failed")) throw new Error(`Job ${job?.metadata.name} failed; the control cannot be measured`);
  return is("Complete") ? true : undefined;
}

/** The operator's Jobs of one schema, in the order in which they were made. */
export function operationsOf(jobs: Iterable<Job>, schema: string): readonly Job[] {
  return [...jobs]
    .filter((job) => job.metadata.ownerReferences?.some((o) => o.kind === "PtahSchema" && o.name === schema))
    .sort((a, b) => Date.parse(a.metadata.creationTimestamp ?? "") - Date.parse(b.metadata.creationTimestamp ?? ""));
}

export function operationOf(job: Job): string {
  return job.metadata.labels?.["operator.ptah.run/operation"] ?? job.metadata.name;
}
