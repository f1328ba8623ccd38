import { expect, test } from "bun:test";
import { REASONS } from "../crds/reasons.ts";
import type { Resource } from "./families.ts";
import { nextOf, stepOf } from "./next.ts";

const resource = (kind: string, reason: string, message = "so it is", status: object = {}, metadata: object = {}) =>
  ({
    kind,
    metadata: { name: "orders", namespace: "shop", ...metadata },
    spec: {},
    status: { ...status, conditions: [{ type: "Ready", status: "False", reason, message }] },
  }) as unknown as Resource;
const schema = (reason: string, message?: string) => resource("PtahSchema", reason, message);
const migration = (reason: string, message?: string, status?: object, metadata?: object) =>
  resource("PtahMigration", reason, message, status, metadata);

test("a command names the resource, its namespace and its kind", () => {
  expect(nextOf(schema("AwaitingApproval"))).toBe(
    "kubectl ptah plan orders -n shop, then kubectl ptah approve orders -n shop",
  );
  expect(nextOf(migration("AwaitingApproval"))).toBe(
    "kubectl ptah plan migration/orders -n shop, then kubectl ptah approve migration/orders -n shop",
  );
  expect(nextOf(schema("Nonsense"))).toBeUndefined();
});

test("every reason that Ready may have has a next step, and every command in it its namespace", () => {
  const bare: string[] = [];
  for (const { reason, conditions } of REASONS.filter((entry) => entry.conditions.includes("Ready=False"))) {
    for (const one of [schema(reason), migration(reason)]) {
      const next = nextOf(one);
      if (next === undefined || next.length < 5 || next.includes("NAME") || next.includes("CODE"))
        bare.push(`${reason}: ${next} (${conditions.length})`);
      for (const [command] of (next ?? "").matchAll(/kubectl (?:ptah (?!explain)|edit|events --for)[^;:.,(]*/g))
        if (!command.includes("-n shop")) bare.push(`${reason}: ${command}`);
    }
  }
  expect(bare).toEqual([]);
});

test("of an operation that failed the code in the message says who acts and how", () => {
  const step = (code: string) => stepOf(migration("OperationFailed", `History ended with ${code}: why.`));
  expect([step("connection_failed")?.who, step("history_refused")?.who]).toEqual(["database administrator", "author"]);
  expect(step("history_refused")?.lines).toEqual(["Change what the message names."]);
  expect(nextOf(migration("OperationFailed", "no code in it"))).toBe(
    "Correct the file, or the cause, that the message names: it is looked at again by itself after spec.execution.failureRetryInterval.",
  );
});

test("a migration that is being deleted with a run on hold is told the one word that lets it go", () => {
  const status = { unresolvedRun: { operationID: "x" } };
  const next = nextOf(migration("OutcomeUnknown", "held", status, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  expect(next).toEndWith(
    "kubectl ptah settle migration/orders -n shop (it takes the role ptah-operator-author) lets it be deleted.",
  );
  expect(next).not.toContain("acknowledge");
  expect(next).not.toContain("refresh");
});

const dirty = (outcome: string, applied: number, status: object = {}) =>
  stepOf(
    migration("HistoryDirty", "Version 2 is not finished", {
      history: { currentVersion: 1, dirtyRevision: { version: 2, applied, total: 3 } },
      lastRun: { outcome, failure: { version: 2, statement: applied + 1 } },
      ...status,
    }),
  )?.lines ?? [];

test("of a dirty row the commands fit what is known of the version, with its number", () => {
  const nothing = dirty("Failed", 0);
  expect(nothing[0]).toBe("Nothing of version 2 is kept. Mend what made it fail, then one of:");
  expect(nothing.join(" ")).not.toContain("--force");
  expect(nothing[1]).toEndWith("ptah migrations repair --migrations-dir DIR --version 2 --resume-from 1");
  expect(nothing[2]).toEndWith("ptah migrations set --migrations-dir DIR --version 1");
  expect(nothing.at(-1)).toBe(
    "then (it takes the role ptah-operator-author): kubectl ptah refresh migration/orders -n shop --wait",
  );
  const kept = dirty("Partial", 2, { unresolvedRun: { operationID: "x" } });
  expect(kept[0]).toStartWith("Of version 2 statements 1 to 2 of 3 are kept.");
  expect(kept[1]).toEndWith("--version 2 --resume-from 3");
  expect(kept[2]).toEndWith("--version 2 --force");
  expect(kept.at(-1)).toEndWith("kubectl ptah acknowledge orders -n shop");
  const unknown = dirty("Unknown", 1);
  expect(unknown[0]).toStartWith("Look in the database which statements of version 2 took effect");
  expect(unknown[1]).toEndWith("--resume-from 2 --force");
});
