import { isKubeError } from "../kube/index.ts";
import type { Move, Rest, Wait } from "../lifecycle/move.ts";
import type { View } from "../lifecycle/view.ts";
import { ofKey } from "./families.ts";
import { limits } from "./limits.ts";
import { errorFields, type Log } from "./log.ts";
import type { Performed } from "./perform/context.ts";
import { type Effect, isEffect } from "./perform/perform.ts";
import type { Next } from "./queue.ts";
import type { Results } from "./results.ts";
import type { Nothing, Reader, Reading } from "./view/reader.ts";

export interface PassDeps {
  readonly reader: Pick<Reader, "begin" | "look">;
  readonly results: Pick<Results, "request" | "drop">;
  readonly log: Log;
  decide(view: View): Move;
  perform(reading: Reading, move: Effect): Promise<Performed>;
  /** Until when an effect has to wait for its turn; undefined when it has none to wait for. */
  heldUntilMs(reading: Reading, move: Effect): number | undefined;
  /** Events and metrics of a move; best effort, never waits. */
  tell(reading: Reading, move: Move): void;
  /** How a pass ended, for the counter. */
  ended(key: string, result: "done" | "waiting" | "resting" | "retry" | "error"): void;
}

/**
 * One pass over one resource: decide, look where the decision asks, perform one effect, and decide again from what is
 * stored, until the decision waits or rests. Nothing is kept between two decisions but what a view is made from.
 */
export async function pass(deps: PassDeps, key: string): Promise<Next> {
  try {
    return await moves(deps, key);
  } catch (error) {
    const expected = isKubeError(error);
    const fields = { resource: key, ...errorFields(error) };
    deps.log[expected ? "warn" : "error"](fields, "a pass ended with an error and is tried again");
    deps.ended(key, "error");
    return { kind: "retry" };
  }
}

async function moves(deps: PassDeps, key: string): Promise<Next> {
  let undone = 0;
  for (let count = 0; count < limits.movesPerPassMax; count++) {
    const decided = await decideOnce(deps, key, undone > 0);
    if ("nothing" in decided) {
      deps.results.drop(key);
      return decided.nothing === "gone" ? { kind: "gone" } : { kind: "idle" };
    }
    const { reading, move } = decided;
    if (move.kind === "wait" || move.kind === "rest") return ended(deps, key, reading, move);
    if (!isEffect(move))
      throw new Error(`rule ${move.rule} looked ${limits.looksPerDecisionMax} times without deciding`);
    const heldUntilMs = deps.heldUntilMs(reading, move);
    if (heldUntilMs !== undefined) return { kind: "at", wallMs: heldUntilMs };
    const performed = await deps.perform(reading, move);
    deps.log.debug({ resource: key, rule: move.rule, move: move.kind, performed }, "performed a move");
    if (performed === "done") deps.tell(reading, move);
    undone = performed === "again" ? undone + 1 : 0;
    // Once is a race that a fresh reading settles; again and again it is something that passes with time.
    if (undone >= limits.undoneMovesMax) {
      deps.ended(key, "retry");
      return { kind: "retry" };
    }
  }
  deps.ended(key, "done");
  return { kind: "again" };
}

interface Decided {
  readonly reading: Reading;
  readonly move: Move;
}

/** Decides once, with as many looks as it takes within the bound. */
async function decideOnce(deps: PassDeps, key: string, fresh: boolean): Promise<Decided | Nothing> {
  let reading: Reading | Nothing = await deps.reader.begin(key, fresh);
  for (let looks = 0; ; looks++) {
    if ("nothing" in reading) return reading;
    const move = deps.decide(reading.view);
    if (move.kind !== "look" || looks >= limits.looksPerDecisionMax) return { reading, move };
    deps.log.debug({ resource: key, rule: move.rule, looks: move.what.map((item) => item.piece) }, "looks");
    reading = await deps.reader.look(reading, move.what);
  }
}

function ended(deps: PassDeps, key: string, reading: Reading, move: Wait | Rest): Next {
  deps.log.debug({ resource: key, rule: move.rule, move: move.kind, untilMs: move.untilMs }, "a pass ended");
  deps.tell(reading, move);
  deps.ended(key, move.kind === "wait" ? "waiting" : "resting");
  if (move.kind === "wait" && move.read !== undefined) {
    const { namespace, status } = reading.view.resource.value;
    const sequence = status.activeOperation?.expectedSequence?.map(({ version }) => version) ?? [];
    deps.results.request(key, { ...move.read, namespace, wire: ofKey(key).family.wire[move.read.operation], sequence });
  }
  const atMs = Math.min(move.untilMs ?? Number.POSITIVE_INFINITY, reading.askAgainMs ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(atMs) ? { kind: "at", wallMs: atMs } : { kind: "idle" };
}
