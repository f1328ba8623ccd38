import { describe, expect, test } from "bun:test";
import { KubeError } from "../kube/index.ts";
import type { Move } from "../lifecycle/move.ts";
import type { View } from "../lifecycle/view.ts";
import { limits } from "./limits.ts";
import { type PassDeps, pass } from "./pass.ts";
import type { Reading } from "./view/reader.ts";

const reading = {
  view: { resource: { how: "cached", value: { namespace: "shop", name: "a", status: {} } } },
  finalizers: [],
} as unknown as Reading;
const KEY = "PtahSchema/shop/a";
const patch = { kind: "patchStatus", rule: "18", uid: "u", resourceVersion: "1", status: {} } as Move;
const rest = { kind: "rest", rule: "18", verdict: "InSync", untilMs: 42 } as Move;
const look = { kind: "look", rule: "17", what: [{ piece: "plans" }] } as Move;

interface Played {
  readonly deps: PassDeps;
  readonly said: string[];
  readonly begun: boolean[];
  readonly requested: unknown[];
}

function play(moves: readonly Move[], performed: ("done" | "again" | Error)[] = []): Played {
  const said: string[] = [];
  const begun: boolean[] = [];
  const requested: unknown[] = [];
  const left = [...moves];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => said.push("warn"),
    error: () => said.push("error"),
  };
  return {
    said,
    begun,
    requested,
    deps: {
      reader: {
        begin: async (_key, fresh) => {
          begun.push(fresh);
          return reading;
        },
        look: async (held) => held,
      },
      results: { request: (...request) => requested.push(request), drop: () => said.push("dropped") },
      log,
      decide: (_view: View) => left.shift() ?? rest,
      perform: async () => {
        const outcome = performed.shift() ?? "done";
        if (outcome instanceof Error) throw outcome;
        return outcome;
      },
      heldUntilMs: () => undefined,
      tell: (_reading, move) => said.push(`told ${move.kind}`),
      ended: (_key, result) => said.push(result),
    },
  };
}

describe("one pass", () => {
  test("effects are performed one by one, each decided anew, until the decision rests", async () => {
    const { deps, said, begun } = play([patch, patch, rest]);
    expect(await pass(deps, KEY)).toEqual({ kind: "at", wallMs: 42 });
    expect(begun).toEqual([false, false, false]);
    expect(said).toEqual(["told patchStatus", "told patchStatus", "told rest", "resting"]);
  });

  test("after a conflict nothing is told and the next decision begins with an uncached read", async () => {
    const { deps, said, begun } = play([patch, patch, rest], ["again", "done"]);
    await pass(deps, KEY);
    expect(begun).toEqual([false, true, false]);
    expect(said.filter((line) => line === "told patchStatus").length).toBe(1);
  });

  test("an effect that has to wait for its turn is not performed, and decided anew when it comes", async () => {
    const { deps, said } = play([patch]);
    expect(await pass({ ...deps, heldUntilMs: () => 99 }, KEY)).toEqual({ kind: "at", wallMs: 99 });
    expect(said).toEqual([]);
  });

  test("effects that are undone again and again back off", async () => {
    const { deps, said } = play(
      Array.from({ length: 100 }, () => patch),
      Array.from({ length: 100 }, () => "again" as const),
    );
    expect(await pass(deps, KEY)).toEqual({ kind: "retry" });
    expect(said).toEqual(["retry"]);
  });

  test("a look that would tell more later is made again then, if nothing wakes the pass before", async () => {
    const { deps } = play([{ kind: "wait", rule: "6/running", until: "the end", untilMs: 900 }]);
    const begin = async () => ({ ...reading, askAgainMs: 500 });
    expect(await pass({ ...deps, reader: { ...deps.reader, begin } }, KEY)).toEqual({ kind: "at", wallMs: 500 });
  });

  test("a wait that asks for a result has it read beside the pass", async () => {
    const read = { podName: "p", podUID: "u", operation: "Apply", operationID: "o", boundMs: 1, notBeforeMs: 0 };
    const { deps, requested } = play([{ kind: "wait", rule: "4", until: "the result", untilMs: 7, read }]);
    expect(await pass(deps, KEY)).toEqual({ kind: "at", wallMs: 7 });
    expect(requested).toEqual([["PtahSchema/shop/a", { ...read, namespace: "shop", wire: "apply", sequence: [] }]]);
  });

  test("a run's result is asked for by the runner's name of it, with the versions it was claimed for", async () => {
    const read = { podName: "p", podUID: "u", operation: "Apply", operationID: "o", boundMs: 1, notBeforeMs: 0 };
    const { deps, requested } = play([{ kind: "wait", rule: "4", until: "the result", untilMs: 7, read }]);
    const status = { activeOperation: { expectedSequence: [{ version: 3 }, { version: 4 }] } };
    const view = { resource: { value: { namespace: "shop", status } } };
    const begin = async () => ({ view, finalizers: [] }) as unknown as Reading;
    await pass({ ...deps, reader: { ...deps.reader, begin } }, "PtahMigration/shop/a");
    expect(requested).toMatchObject([
      ["PtahMigration/shop/a", { wire: "migration-apply", namespace: "shop", sequence: [3, 4] }],
    ]);
  });

  test("an error that did nothing ends the pass, to be tried again", async () => {
    const { deps, said } = play([patch], [new KubeError({ code: "Unavailable", committed: "no" }, "down")]);
    expect(await pass(deps, KEY)).toEqual({ kind: "retry" });
    expect(said).toEqual(["warn", "error"]);
  });

  test("a decision that only ever looks is an error, not a loop", async () => {
    const { deps } = play(Array.from({ length: 100 }, () => look));
    expect(await pass(deps, KEY)).toEqual({ kind: "retry" });
  });

  test("a pass with no end gives the others their turn", async () => {
    const { deps, said } = play(Array.from({ length: 1_000 }, () => patch));
    expect(await pass(deps, KEY)).toEqual({ kind: "again" });
    expect(said.filter((line) => line === "told patchStatus").length).toBe(limits.movesPerPassMax);
  });

  test("a resource that is gone is forgotten", async () => {
    const { deps, said } = play([]);
    const gone = { ...deps, reader: { ...deps.reader, begin: async () => ({ nothing: "gone" }) as const } };
    expect(await pass(gone, KEY)).toEqual({ kind: "gone" });
    expect(said).toEqual(["dropped"]);
  });
});
