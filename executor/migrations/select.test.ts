import { describe, expect, test } from "bun:test";
import type { Migration } from "./migration.ts";
import type { Revision } from "./revisions.ts";
import { blocker, MAX_PENDING, type Selection, select } from "./select.ts";
import { type ExpectedSequence, sequenceDifference } from "./sequence.ts";

function migration(version: number, over: Partial<Migration> = {}): Migration {
  const file = (half: string) => ({ path: `${version}.${half}.sql`, text: "" });
  return {
    version,
    name: `step_${version}`,
    description: `Step ${version}`,
    up: file("up"),
    down: file("down"),
    checkpoint: false,
    checksum: `sum${version}`,
    directives: { noTransaction: false },
    transactionMode: "file",
    ...over,
  };
}

const checkpoint = (version: number): Migration => migration(version, { checkpoint: true });

const row = (version: number, over: Partial<Revision> = {}): Revision => ({
  version,
  description: "",
  state: "applied",
  applied: 1,
  total: 1,
  checksum: `sum${version}`,
  appliedAt: undefined,
  executionMillis: undefined,
  ...over,
});

const states = (selection: Selection): Record<number, string> =>
  Object.fromEntries(selection.standings.map((s) => [s.migration.version, s.state]));
const pending = (selection: Selection): number[] => selection.pending.map((m) => m.version);

describe("what a run would apply", () => {
  test("is what lies above the highest applied version", () => {
    const selection = select(
      [1, 2, 3].map((v) => migration(v)),
      [row(1)],
    );
    expect(pending(selection)).toEqual([2, 3]);
    expect(selection.currentVersion).toBe(1);
    expect(blocker(selection)).toBeUndefined();
  });

  test("leaves out what is below it, which blocks the run", () => {
    const selection = select(
      [1, 2, 3].map((v) => migration(v)),
      [row(1), row(3)],
    );
    expect(states(selection)).toEqual({ 1: "applied", 2: "out-of-order", 3: "applied" });
    expect(blocker(selection)).toMatchObject({ code: "history_out_of_order", versions: [2] });
  });

  test("begins at the newest checkpoint where nothing was applied", () => {
    const selection = select([migration(1), checkpoint(2), migration(3), checkpoint(4), migration(5)], []);
    expect(pending(selection)).toEqual([4, 5]);
    expect(selection.checkpointVersion).toBe(4);
    expect(states(selection)).toEqual({
      1: "checkpoint-covered",
      2: "checkpoint-covered",
      3: "checkpoint-covered",
      4: "pending",
      5: "pending",
    });
  });

  test("passes checkpoints over where something was applied, dirty rows included", () => {
    const files = [migration(1), migration(2), checkpoint(3), migration(4)];
    expect(pending(select(files, [row(1)]))).toEqual([2, 4]);
    expect(states(select(files, [row(1, { state: "failed" })]))[3]).toBe("checkpoint-covered");
  });

  test("rows below an applied checkpoint need no file, rows above it do", () => {
    const files = [checkpoint(3), migration(4)];
    expect(blocker(select(files, [row(1), row(2), row(3)]))).toBeUndefined();
    expect(blocker(select(files, [row(1), row(2)]))).toMatchObject({ code: "history_ahead", versions: [1, 2] });
    expect(blocker(select(files, [row(3), row(9)]))).toMatchObject({ code: "history_ahead", versions: [9] });
  });

  test("is refused as a whole for a dirty row, even of a version that has no file", () => {
    for (const state of ["failed", "pending", "failed:down", "anything"]) {
      expect(blocker(select([migration(1)], [row(7, { state })]))).toMatchObject({
        code: "history_dirty",
        versions: [7],
      });
    }
    const said = (total: number) => blocker(select([], [row(7, { state: "failed", applied: 0, total })]))?.message;
    expect(said(1)).toContain("after 0 of 1 statement;");
    expect(said(2)).toContain("after 0 of 2 statements;");
  });

  test("is refused for an edited file, but not where the table never held a checksum", () => {
    const files = [migration(1), migration(2)];
    expect(blocker(select(files, [row(1, { checksum: "other" })]))).toMatchObject({
      code: "history_modified",
      versions: [1],
    });
    expect(blocker(select(files, [row(1, { checksum: "" })]))).toBeUndefined();
  });

  test("is at most 256 versions", () => {
    const files = (count: number): Migration[] => Array.from({ length: count }, (_, at) => migration(at + 1));
    expect(blocker(select(files(MAX_PENDING), []))).toBeUndefined();
    const refused = blocker(select(files(MAX_PENDING + 1), []));
    expect(refused?.code).toBe("too_many_pending");
    expect(refused?.message).toContain("257");
  });
});

describe("an approved sequence", () => {
  const expected = (
    ...migrations: { version: number; checksum?: string; transaction_mode?: string }[]
  ): ExpectedSequence => ({
    migrations: migrations.map((m) => ({ version_key: "", ...m })),
  });

  test("is the pending one, version by version and in order", () => {
    const now = [migration(2), migration(3)];
    expect(sequenceDifference(expected({ version: 2 }, { version: 3 }), now)).toBeUndefined();
    for (const other of [
      expected({ version: 2 }),
      expected({ version: 3 }, { version: 2 }),
      expected(),
      expected({ version: 2 }, { version: 4 }),
    ]) {
      expect(sequenceDifference(other, now)).toContain("approved for");
    }
    expect(sequenceDifference(expected({ version: 2 }), [])).toContain("nothing would be applied now");
  });

  test("compares what else it names of a file", () => {
    const now = [migration(2, { directives: { noTransaction: true }, transactionMode: "none" })];
    expect(
      sequenceDifference(expected({ version: 2, checksum: "sum2", transaction_mode: "none" }), now),
    ).toBeUndefined();
    expect(sequenceDifference(expected({ version: 2, checksum: "other" }), now)).toContain("version 2");
    expect(sequenceDifference(expected({ version: 2, transaction_mode: "" }), now)).toContain("version 2");
  });
});
