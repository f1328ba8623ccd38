/** The clock: it steps to the next instant that can matter to anybody, rounded up to the grid. */
import { attemptOfClaim, attemptOfRecord, horizonMs } from "../attempt.ts";
import { msOf } from "../time.ts";
import { enforceDeadlines } from "./jobs.ts";
import { EPOCH_MS, GRACE_SECONDS, GRID_MS, SKEW_MS } from "./values.ts";
import { recordOf, type World } from "./world.ts";

const onGrid = (ms: number): number => EPOCH_MS + Math.ceil((ms - EPOCH_MS) / GRID_MS) * GRID_MS;

/** Instants after now that some part of the world waits for, soonest first, on the grid, without repeats. */
export function instants(world: World, wakeAt: number | undefined): number[] {
  const found: number[] = [];
  const status = world.resource?.status;
  const claim = status?.activeOperation;
  const record = recordOf(status);
  const { lease } = world;
  if (wakeAt !== undefined) found.push(wakeAt);
  if (status?.retryNotBefore !== undefined) found.push(msOf(status.retryNotBefore));
  if (lease !== null && lease.holder !== "") found.push(lease.renewedAt + lease.durationSeconds * 1000);
  if (claim?.type === "Apply") {
    if (claim.dispatchNotAfter !== undefined) found.push(msOf(claim.dispatchNotAfter));
    found.push(horizonMs(attemptOfClaim(claim)));
  }
  if (record !== undefined) found.push(horizonMs(attemptOfRecord(record)));
  for (const job of world.jobs) {
    if (job.terminal === undefined) found.push(job.deadlineAt);
    else if (job.ttlSeconds !== undefined) found.push((job.finishedAt ?? 0) + job.ttlSeconds * 1000);
  }
  for (const pod of world.pods) {
    if (pod.work.type === "Apply" && pod.process !== "ended") {
      found.push(pod.work.dispatchNotAfter + SKEW_MS, pod.work.executionNotAfter);
    }
  }
  const later = found.filter((t) => Number.isFinite(t) && t > world.now).map(onGrid);
  return [...new Set(later)].sort((a, b) => a - b);
}

/** The world at a later instant: nobody writes beyond its own deadlines, the contender neither. */
export function at(world: World, now: number): World {
  const { other } = world;
  const over = other.state === "writing" && now >= other.writesUntil + GRACE_SECONDS * 1000 + SKEW_MS;
  return enforceDeadlines({ ...world, now, ...(over ? { other: { ...other, state: "done" as const } } : {}) });
}
