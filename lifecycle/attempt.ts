/** One attempt that may have changed a database: what was seen of it, and whether it may still write. */
import type { ApplyRecord, Claim } from "../crds/status/index.ts";
import { PODS_MAX, SKEW_MS } from "./limits.ts";
import { msOf } from "./time.ts";
import type { Attempt, PodFacts } from "./view.ts";

type Pods = readonly { readonly uid: string; readonly terminated?: boolean | undefined }[];

/** The attempt a claim stands for. */
export function attemptOfClaim(claim: Claim): Attempt {
  return {
    jobName: claim.jobName,
    jobUID: claim.jobUID,
    pods: claim.pods ?? [],
    podCount: claim.podCount ?? 0,
    executionNotAfter: claim.executionNotAfter,
    terminationGracePeriodSeconds: claim.terminationGracePeriodSeconds,
    uncertain: claim.jobUID === undefined,
  };
}

/** The attempt a record holds. */
export function attemptOfRecord(record: ApplyRecord): Attempt {
  return {
    jobName: record.job.name,
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

/**
 * The instant from which nothing of the attempt can write, whatever was or was not seen: its execution deadline, grace and
 * the clock skew that absolute deadlines assume; where identity is uncertain or no Pod was seen, not before `observeAfter`.
 */
export function horizonMs(attempt: Attempt): number {
  const deadline =
    attempt.executionNotAfter === undefined
      ? Number.POSITIVE_INFINITY
      : msOf(attempt.executionNotAfter) + (attempt.terminationGracePeriodSeconds ?? 0) * 1000 + SKEW_MS;
  const unseen = attempt.uncertain || attempt.podCount === 0;
  const observeAfter = attempt.observeAfter === undefined ? Number.NEGATIVE_INFINITY : msOf(attempt.observeAfter);
  return unseen ? Math.max(deadline, observeAfter) : deadline;
}

/**
 * May still write. False only when (a) the Job is terminal or gone, at least one Pod was seen and every Pod ever seen was
 * itself seen terminated; or (b) the horizon has passed. A Pod that vanished unseen, a silent node and an unreadable answer
 * leave it true until (b).
 */
export function mayStillWrite(attempt: Attempt, nowMs: number): boolean {
  return !accountedFor(attempt) && nowMs < horizonMs(attempt);
}

/** Case (a). */
function accountedFor(attempt: Attempt): boolean {
  return (
    attempt.jobTerminal === true &&
    attempt.podCount > 0 &&
    attempt.podCount === attempt.pods.length &&
    attempt.pods.every((pod) => pod.terminated === true)
  );
}

export interface PodEvidence {
  readonly pods: Pods;
  readonly podCount: number;
  /** Whether the listing said anything that was not known. */
  readonly news: boolean;
  /** Whether it held a Pod that was not known. */
  readonly newPod: boolean;
}

/** What was seen of the Pods, and what a listing adds: UIDs up to the bound, the count beyond, each termination. */
export function withListed(known: Pods, podCount: number, listed: readonly PodFacts[]): PodEvidence {
  let pods: { uid: string; terminated?: boolean | undefined }[] | undefined;
  let count = podCount;
  let newPod = false;
  for (const pod of listed) {
    const list: Pods = pods ?? known;
    const at = list.findIndex((p) => p.uid === pod.uid);
    if (at >= 0) {
      if (!pod.terminated || list[at]?.terminated === true) continue;
      pods ??= [...known];
      pods[at] = { uid: pod.uid, terminated: true };
    } else if (list.length < PODS_MAX) {
      pods ??= [...known];
      pods.push(pod.terminated ? { uid: pod.uid, terminated: true } : { uid: pod.uid });
      count += 1;
      newPod = true;
    } else if (count === list.length) {
      count += 1;
      newPod = true;
    }
  }
  return { pods: pods ?? known, podCount: count, news: pods !== undefined || newPod, newPod };
}
