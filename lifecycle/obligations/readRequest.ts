/** Rule 16: a person asks for a read (seed 003: the read-requested-at annotation). It starts no mutating operation. */
import { commandFor } from "../../crds/commands.ts";
import { type Context, patch } from "../context.ts";
import type { EventIntent, Move, RuleId } from "../move.ts";
import { cycleAt, cycleUnderWay, unansweredRequest } from "../positions.ts";
import { ahead, instantOf, isInstant } from "../time.ts";

/** The Event of a request that was recorded as answered. */
export function requestAnswered(c: Context, value: string): EventIntent {
  return isInstant(value)
    ? { type: "Normal", reason: "ReadRequested", note: "The requested read is due now." }
    : {
        type: "Warning",
        reason: "ReadRequestInvalid",
        note: `The annotation read-requested-at holds ${JSON.stringify(value.slice(0, 64))}, which is no RFC 3339 instant; it starts nothing. Write a right one: ${commandFor("refresh", c.family.name, c.resource)}`,
      };
}

/** Answers a request once no reading is under way and no retry delay runs: recorded, and due now. */
export function answerReadRequest(c: Context): Move | undefined {
  const request = unansweredRequest(c);
  if (request === undefined || cycleUnderWay(c) || ahead(c.status.retryNotBefore, c.nowMs)) return undefined;
  const valid = isInstant(request.value);
  return patch(c, "16", {
    set: {
      lastReadRequest: request.stored,
      ...(valid ? { cycle: cycleAt(c, c.family.reads[0]), nextReconciliationTime: instantOf(c.nowMs) } : {}),
    },
    events: [requestAnswered(c, request.value)],
  });
}

/** Between two attempts of a reading a value that is no instant is recorded at once; the reading goes on. */
export function recordInvalidRequest(c: Context, rule: RuleId): Move | undefined {
  const request = unansweredRequest(c);
  if (request === undefined || isInstant(request.value)) return undefined;
  return patch(c, `${rule}/request`, {
    set: { lastReadRequest: request.stored },
    events: [requestAnswered(c, request.value)],
  });
}
