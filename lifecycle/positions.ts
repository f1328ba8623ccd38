/** Positions several rules move alike: the cycle, the next reading, and what a reading request is stored as. */

import { durationMs } from "../crds/duration.ts";
import type { Cycle } from "../crds/status/index.ts";
import type { Context, Status } from "./context.ts";
import type { ReadType } from "./families/family.ts";
import { INTERVAL_JITTER, READ_REQUEST_BYTES_MAX } from "./limits.ts";
import { instantOf } from "./time.ts";

/** Whether a cycle of readings is under way: its next reading is set, or a claim of it stands. */
export function cycleUnderWay(c: Context): boolean {
  return c.status.cycle?.next !== undefined || (c.claim !== undefined && c.claim.type !== "Apply");
}

/** The cycle with this reading next. */
export function cycleAt(c: Context, next: ReadType | undefined): Cycle {
  const base = c.status.cycle ?? { startedAt: instantOf(c.nowMs), generation: c.resource.generation };
  return { ...base, next };
}

/** The earlier of two readings of a cycle. */
export function earlier(c: Context, a: ReadType, b: ReadType | undefined): ReadType {
  if (b === undefined) return a;
  return c.family.reads.indexOf(a) <= c.family.reads.indexOf(b) ? a : b;
}

/** Fields of the patch that ends a cycle: the interval counts from it. */
export function cycleEnded(
  c: Context,
): Pick<Status, "cycle" | "nextReconciliationTime" | "lastSuccessfulReconciliation"> {
  const interval = durationMs(c.spec.interval);
  const jittered = interval * (1 - INTERVAL_JITTER + 2 * INTERVAL_JITTER * c.view.fresh.fraction);
  const cycle = cycleAt(c, undefined);
  return {
    cycle: { ...cycle, endedAt: instantOf(c.nowMs) },
    nextReconciliationTime: instantOf(c.nowMs + Math.round(jittered)),
    lastSuccessfulReconciliation: instantOf(c.nowMs),
  };
}

/** The instant a failed operation may be tried again. */
export function retryAt(c: Context): string {
  return instantOf(c.nowMs + durationMs(c.spec.execution.failureRetryInterval));
}

/** How a read request's value is recorded: as it is, or as its digest when it is long. */
export function requestRecord(c: Context, value: string): string {
  return Buffer.byteLength(value) > READ_REQUEST_BYTES_MAX ? c.tools.digestText(value) : value;
}

/** The read request nobody answered yet. */
export function unansweredRequest(c: Context): { readonly value: string; readonly stored: string } | undefined {
  const value = c.resource.marks.readRequestedAt;
  if (value === undefined || value === "") return undefined;
  const stored = requestRecord(c, value);
  return stored === c.status.lastReadRequest ? undefined : { value, stored };
}
