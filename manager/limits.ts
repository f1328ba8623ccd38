import { limits as kube } from "../kube/limits.ts";

/** Every bound of the manager in one place; relations between them are asserted below, at load. Units stand last in each name. */
export const limits = {
  /** Resources decided at the same time. The work is waiting for the API server, not computing. */
  concurrencyDefault: 8,
  concurrencyMax: 64,
  /** Operations under way in the cluster before another ordinary reading waits for its turn, and how long it waits. */
  operationsDefault: 32,
  operationsMax: 10_000,
  turnMsMin: 500,
  turnMsMax: 2_500,
  /** Effects of one pass; a pass that wants more is put back, so that nobody starves the others. */
  movesPerPassMax: 40,
  /** Effects in a row that met another state than they were decided from, before the pass backs off. */
  undoneMovesMax: 3,
  /** Looks before one effect; a decision that asks for more has gone in a circle. */
  looksPerDecisionMax: 12,
  /** Back-off of a resource whose pass failed: doubling, with jitter between half and whole. */
  retryMsMin: 250,
  retryMsMax: 60_000,
  /** Passes that end with "decide again" at once, without a wait between; more is a loop and backs off. */
  immediatePassesMax: 5,
  /** The longest sleep of one timer; decisions are made again then, which costs no request at rest. */
  wakeMsMax: 600_000,
  /** Results read at the same time; one may hold a log of 10 MiB. */
  resultReadsMax: 4,
  /** The longest one log read may take; seed 002. */
  resultReadMsMax: 60_000,
  /** How long a container has ended before its termination summary may stand in for a frame that its log does not hold. */
  frameAwaitedMs: 10_000,
  /** Events waiting to be sent; beyond it the oldest are dropped and counted. */
  eventsQueuedMax: 256,
  /** Distinct Events remembered for aggregation, and how long one goes on counting. */
  eventSeriesMax: 1_024,
  eventSeriesMs: 10 * 60_000,
  eventNoteBytesMax: 1_024,
  /** Source facts remembered by the version of their ConfigMap, and snapshot facts by UID. */
  sourcesRememberedMax: 4_096,
  snapshotsRememberedMax: 8_192,
  /** Digests of Job templates remembered by UID and generation. */
  templatesRememberedMax: 4_096,
  /** A source policy document. */
  policyBytesMax: 64 * 1024,
  /** Pods of one namespace that are listed to find those of an attempt. */
  podsListedMax: 50_000,
  /** FailedCreate is looked for only when a Job has gone this long without a Pod, and then this often until there is one. */
  podAwaitedMs: 3_000,
  podAskedMs: 2_000,
  /** Leader election: the field's own defaults. */
  leaderLeaseSeconds: 15,
  leaderRenewMs: 10_000,
  leaderRetryMs: 2_000,
  /** Garbage is collected this often while passes are made. */
  sweepMs: 2_000,
  /** Graceful stop: passes in flight may end their effect within this. */
  stopMsMax: 20_000,
  /** Caches that do not fill within this end the start with a message that names them. */
  cacheSyncMsMax: 60_000,
} as const;

function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(`manager/limits.ts: ${what}`);
}
holds(limits.leaderRetryMs < limits.leaderRenewMs, "a leader tries several times before it gives up");
holds(limits.leaderRenewMs < limits.leaderLeaseSeconds * 1_000, "a leader gives up before another may take over");
holds(limits.retryMsMin < limits.retryMsMax, "back-off grows");
holds(limits.stopMsMax > kube.requestTimeoutMs, "a request in flight may end before a graceful stop does");
