import type { SchemaStatus } from "../../crds/status/index.ts";
import { custom, type Job, type KubeClient, kinds, orAbsent, type Pod } from "../../kube/index.ts";
import type { Attempt, ForeignHolderFacts, LeaseOwner } from "../../lifecycle/view.ts";
import { isPodOf, jobFacts, podFacts } from "./workloads.ts";

/** What uncached reads say about the attempt that a foreign Lease stands for. */
export async function readForeignHolder(
  client: KubeClient,
  holder: string,
  owner: LeaseOwner,
): Promise<ForeignHolderFacts> {
  const { namespace, name, uid, jobName } = owner;
  const resource = await orAbsent(client.get(custom.PtahSchema.typed, { namespace, name }));
  const status = resource?.metadata.uid === uid ? resource.status : undefined;
  const attempt = status === undefined ? null : attemptOf(status, jobName);
  const job = jobName === "" ? undefined : await orAbsent<Job>(client.get(kinds.Job, { namespace, name: jobName }));
  const pods: Pod[] = [];
  if (jobName !== "") {
    for await (const page of client.pages<Pod>(kinds.Pod, { namespace })) {
      pods.push(...page.items.filter((pod) => isPodOf(pod, jobName, undefined)));
    }
  }
  return {
    holder,
    attempt,
    job: job === undefined ? null : jobFacts(job),
    pods: pods.map((pod) => podFacts(pod, job, undefined)),
  };
}

/** The claim or record whose Job it is, as both say it alike. */
export function attemptOf(status: SchemaStatus, jobName: string): Attempt | null {
  const { activeOperation: claim, pendingObservation: record } = status;
  if (record !== undefined && record.job.name === jobName) {
    return {
      jobName,
      jobUID: record.job.uid,
      jobTerminal: record.job.terminal,
      pods: record.pods ?? [],
      podCount: record.podCount ?? 0,
      executionNotAfter: record.executionNotAfter,
      terminationGracePeriodSeconds: record.terminationGracePeriodSeconds,
      uncertain: record.identityUncertain === true,
      observeAfter: record.observeAfter,
    };
  }
  if (claim === undefined || claim.jobName !== jobName) return null;
  return {
    jobName,
    jobUID: claim.jobUID,
    pods: claim.pods ?? [],
    podCount: claim.podCount ?? 0,
    executionNotAfter: claim.executionNotAfter,
    terminationGracePeriodSeconds: claim.terminationGracePeriodSeconds,
    uncertain: claim.dispatchStarted === true && claim.jobUID === undefined,
  };
}
