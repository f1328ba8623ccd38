import { describe, expect, test } from "bun:test";
import type { ResourceFacts } from "../lifecycle/view.ts";
import { limits } from "./limits.ts";
import type { Effect } from "./perform/perform.ts";
import { turnAfterMs } from "./turns.ts";

const resource = (uid: string, busy: boolean) =>
  ({ uid, status: busy ? { activeOperation: { type: "Observe" } } : {} }) as unknown as ResourceFacts;
const claim = (operation: object) => ({ kind: "claim", status: { activeOperation: operation } }) as unknown as Effect;
const busy = [resource("a", true), resource("b", true), resource("c", false)];
const me = resource("me", true);

describe("taking turns", () => {
  test("an ordinary reading waits while as many operations run as may", () => {
    expect(turnAfterMs(claim({ type: "Observe" }), me, busy, 2, 0)).toBe(limits.turnMsMin);
    expect(turnAfterMs(claim({ type: "Plan" }), me, busy, 2, 1)).toBe(limits.turnMsMax);
    expect(turnAfterMs(claim({ type: "Observe" }), me, busy, 3, 0)).toBeUndefined();
  });

  test("its own operation does not count against it", () => {
    expect(turnAfterMs(claim({ type: "Observe" }), me, [me], 1, 0)).toBeUndefined();
  });

  test("what is being deleted takes no turn from others, because its operation may never get a Job", () => {
    const leaving = { ...resource("d", true), deleting: true };
    expect(turnAfterMs(claim({ type: "Observe" }), me, [leaving, resource("a", true)], 2, 0)).toBeUndefined();
  });

  test("an Apply, a proof, and any other effect never wait", () => {
    expect(turnAfterMs(claim({ type: "Apply" }), me, busy, 1, 0)).toBeUndefined();
    expect(turnAfterMs(claim({ type: "Observe", proves: "x" }), me, busy, 1, 0)).toBeUndefined();
    expect(turnAfterMs({ kind: "patchStatus" } as Effect, me, busy, 1, 0)).toBeUndefined();
  });
});
