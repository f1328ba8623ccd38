import { type Job, type KubeClient, kinds, orAbsent, type Pod } from "../../kube/index.ts";
import { attemptOfClaim, attemptOfRecord } from "../../lifecycle/attempt.ts";
import type { Status } from "../../lifecycle/index.ts";
import type { Attempt, ForeignHolderFacts, LeaseOwner } from "../../lifecycle/view.ts";
import { type Family, familyOfKind } from "../families.ts";
import { isPodOf, jobFacts, podFacts } from "./workloads.ts";

/** What uncached reads say about the attempt that a foreign Lease stands for. */
export async function readForeignHolder(
  client: KubeClient,
  holder: string,
  owner: LeaseOwner,
): Promise<ForeignHolderFacts> {
  const { namespace, jobName } = owner;
  const attempt = await readAttempt(client, owner);
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

/** The attempt as its own resource knows it; nothing is known of a kind that is none of ours. */
async function readAttempt(client: KubeClient, owner: LeaseOwner): Promise<Attempt | null> {
  const family = familyOfKind(owner.kind);
  if (family === undefined) return null;
  const { namespace, name, uid, jobName } = owner;
  const resource = await orAbsent(client.get(family.resource.typed, { namespace, name }));
  const status = resource?.metadata.uid === uid ? resource.status : undefined;
  return status === undefined ? null : attemptOf(family, status, jobName);
}

/** What may still write of it: a record, or a dispatched Apply. A reading, or a claim that was never dispatched, never may. */
export function attemptOf(family: Family, status: Status, jobName: string): Attempt | null {
  const claim = status.activeOperation;
  const record = family.lifecycle.record(status);
  if (record !== undefined && record.job.name === jobName) return attemptOfRecord(record);
  if (claim === undefined || claim.jobName !== jobName) return null;
  if (claim.type === "Apply" && claim.dispatchStarted === true) return attemptOfClaim(claim);
  return { jobName, pods: [], podCount: 0, executionNotAfter: "1970-01-01T00:00:00Z", uncertain: false };
}
