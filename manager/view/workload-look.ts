import {
  isKubeError,
  type Job,
  type KubeClient,
  kinds,
  type MetadataOnly,
  metadataOf,
  orAbsent,
  type Pod,
} from "../../kube/index.ts";
import type { NamedJobFacts, NamedPodFacts, ResourceFacts } from "../../lifecycle/view.ts";
import { JOB_NAME_LABEL } from "../../workload/digest.ts";
import type { Caches } from "../caches.ts";
import { familyOf, resourceKey } from "../families.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports.ts";
import { isPodOf, jobFacts, podFacts } from "./workloads.ts";

export interface WorkloadLookDeps {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly clock: Clock;
}

/** What one look reads of a resource's Jobs and Pods, uncached; each Job once, however many pieces of the look need it. */
export class WorkloadLook {
  readonly #deps: WorkloadLookDeps;
  readonly #resource: ResourceFacts;
  readonly #jobs = new Map<string, Promise<Job | undefined>>();
  /** When the same look would tell more although nothing that is watched changes. */
  askAgainMs: number | undefined;

  constructor(deps: WorkloadLookDeps, resource: ResourceFacts) {
    this.#deps = deps;
    this.#resource = resource;
  }

  /** Errors: KubeError. */
  async job(name: string): Promise<NamedJobFacts> {
    const { caches, clock } = this.#deps;
    const { namespace } = this.#resource;
    const by = resourceKey(this.#resource.kind, this.#resource);
    const job = await this.#read(name);
    if (job === undefined) {
      caches.jobs.forget({ namespace, name }, by);
      return { name, job: null };
    }
    caches.jobs.learn(job, by);
    const podless = (job.status?.active ?? 0) + (job.status?.succeeded ?? 0) + (job.status?.failed ?? 0) === 0;
    if (!podless || (job.status?.conditions ?? []).length > 0) return { name, job: jobFacts(job) };
    const nowMs = clock.wallMs();
    const askAtMs = Date.parse(job.metadata.creationTimestamp ?? "") + limits.podAwaitedMs;
    const refused = nowMs >= askAtMs && (await this.#podWasRefused(job));
    // Nothing that is watched tells that a Pod does not come.
    if (!refused) this.askAgainMs = Math.max(askAtMs, nowMs + limits.podAskedMs);
    return { name, job: jobFacts(job, refused) };
  }

  /**
   * Pods that belong to a Job, found by their owner. Of an Apply all Pods of the namespace are looked through, because a label is
   * nobody's proof that nothing may write; a reading whose Pod lost its label only costs another reading. The list is of metadata,
   * and each Pod that counts is then read whole. Errors: KubeError.
   */
  async pods(jobName: string, jobUID: string | undefined): Promise<NamedPodFacts> {
    const { namespace } = this.#resource;
    const named: MetadataOnly[] = [];
    const all = { itemsMax: limits.podsListedMax };
    const where = {
      namespace,
      ...(isReading(this.#resource, jobName) ? { labelSelector: `${JOB_NAME_LABEL}=${jobName}` } : {}),
    };
    for await (const page of this.#deps.client.pages(metadataOf(kinds.Pod), where, all)) {
      named.push(...page.items.filter((pod) => isPodOf(pod, jobName, jobUID)));
    }
    // Without a Pod there is nothing to compare with the Job's template.
    if (named.length === 0) return { jobName, pods: [] };
    const [job, pods] = await Promise.all([
      this.#read(jobName),
      Promise.all(named.map((pod) => this.#podOrTrace(pod))),
    ]);
    const snapshot = snapshotFor(this.#resource, jobName);
    return { jobName, pods: pods.map((pod) => podFacts(pod, job, snapshot)) };
  }

  #read(name: string): Promise<Job | undefined> {
    const held = this.#jobs.get(name);
    if (held !== undefined) return held;
    const read = orAbsent<Job>(this.#deps.client.get(kinds.Job, { namespace: this.#resource.namespace, name }));
    this.#jobs.set(name, read);
    return read;
  }

  /** A Pod that the list still held; of one that went since, what the list said. */
  async #podOrTrace(listed: MetadataOnly): Promise<Pod> {
    const { name } = listed.metadata;
    const pod = await orAbsent<Pod>(this.#deps.client.get(kinds.Pod, { namespace: this.#resource.namespace, name }));
    return pod?.metadata.uid === listed.metadata.uid ? pod : { ...listed, spec: { containers: [] } };
  }

  /** The Job controller says only in Events that the API server refused a Pod. Without that right nobody knows. */
  async #podWasRefused(job: Job): Promise<boolean> {
    const { namespace } = this.#resource;
    const fieldSelector = `involvedObject.uid=${job.metadata.uid},reason=FailedCreate`;
    try {
      for await (const page of this.#deps.client.pages(
        kinds.CoreEvent,
        { namespace, fieldSelector },
        { pageItems: 10 },
      )) {
        return page.items.length > 0;
      }
      return false;
    } catch (error) {
      if (isKubeError(error, "Forbidden")) return false;
      throw error;
    }
  }
}

/** Whether this is the Job of the claim, and the claim only reads. */
function isReading({ status }: ResourceFacts, jobName: string): boolean {
  const { activeOperation } = status;
  return activeOperation?.jobName === jobName && activeOperation.type !== "Apply";
}

/** What the Pods of this Job were admitted under, as the claim or the record stored it. */
function snapshotFor(resource: ResourceFacts, jobName: string) {
  const { activeOperation } = resource.status;
  const record = familyOf(resource).lifecycle.record(resource.status);
  if (activeOperation?.jobName === jobName) return activeOperation.admissionSnapshot;
  return record?.job.name === jobName ? record.admissionSnapshot : undefined;
}
