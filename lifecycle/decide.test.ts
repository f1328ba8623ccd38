import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { loadParser } from "../sql/index.ts";
import { RULES } from "./decide.ts";
import { schemaFamily } from "./families/schema.ts";
import { present } from "./present.ts";
import { RULE_IDS } from "./rules.ts";
import { TestWorld } from "./testing.ts";
import { sourceOf } from "./testing-facts.ts";
import { directory, ended, RUN_SPEC } from "./testing-history.ts";
import { CREATE, database, planOf, SPEC } from "./testing-plans.ts";
import { realTools, type Tools } from "./tools.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

describe("the rule table", () => {
  test("stands in the order of its page", () => {
    expect(RULES.map((rule) => rule.id).join(" ")).toBe("1 2 2b 3 3b 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
  });

  test("names every id a Move can carry, each once", () => {
    expect(new Set<string>(RULE_IDS).size).toBe(RULE_IDS.length);
    const w = new TestWorld(tools, { ...SPEC, policy: { apply: "Always" } }, database(planOf(CREATE)).answer);
    w.settle();
    w.source = sourceOf("two");
    w.settle();
    const known = new Set<string>(RULE_IDS);
    expect(w.rules().filter((rule) => !known.has(rule))).toEqual([]);
  });

  test("lists every id that is written out in the code", () => {
    const known = new Set<string>(RULE_IDS);
    const missing: string[] = [];
    for (const folder of ["obligations", "families"]) {
      for (const file of readdirSync(`${import.meta.dir}/${folder}`)) {
        const text = readFileSync(`${import.meta.dir}/${folder}/${file}`, "utf8");
        for (const [, id] of text.matchAll(/"(\d+b?(?:\/[a-zA-Z/]+)?)"/g)) {
          if (id !== undefined && !["0", "4"].includes(id) && !known.has(id)) missing.push(`${file}: ${id}`);
        }
      }
    }
    expect(missing).toEqual([]);
  });

  test("gives a Lease that is owed back before anything else is done", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.deleting = true;
    w.status = {
      pendingLockRelease: {
        coordinationDigest: `sha256:${"1".repeat(64)}`,
        operationID: "op",
        holder: "ptah-h-x",
        leaseEpoch: `v1-${"1".repeat(32)}`,
        leaseDurationSeconds: 960,
      },
    };
    expect(w.decide()).toMatchObject({ kind: "patchStatus", rule: "3" });
  });

  test("removes a bare finalizer before it looks at anything that could start work", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    w.settle();
    w.finalizer = true;
    expect(w.decide()).toMatchObject({ kind: "patchMetadata", rule: "10", finalizer: "remove" });
  });
});

describe("a decision", () => {
  test("does not depend on phase, condition or message", () => {
    const effects = (narrate: boolean) => {
      const w = new TestWorld({ ...tools, narrate }, SPEC, database(planOf(CREATE)).answer);
      w.settle();
      w.approve();
      w.settle();
      return w.rules();
    };
    expect(effects(false)).toEqual(effects(true));
  });

  test("of a history does not depend on them either, but for telling that a plan is being published", () => {
    const effects = (narrate: boolean) => {
      const dir = directory([1, 2]);
      const w = new TestWorld({ ...tools, narrate }, RUN_SPEC, dir.answer, "migration");
      w.settle();
      w.approve();
      dir.state.run = ended("partial", [1, 2], { applied: [1] });
      w.settle();
      dir.state.applied = 2;
      w.run(() => w.status.resolvedRun !== undefined);
      w.settle();
      return w.rules().filter((rule) => rule !== "6/planning" && rule !== "8/holding");
    };
    expect(effects(false)).toEqual(effects(true));
  });

  test("is the same for the same view", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    for (let i = 0; i < 30; i += 1) {
      const a = JSON.stringify(w.decide());
      // The world draws fresh values for every view; ids and epochs are all that may differ.
      const b = JSON.stringify(w.decide());
      const shape = (text: string) =>
        text.replace(/sha256:[0-9a-f]{64}|v1-[0-9a-f]{32}|-[0-9a-f]{16}|ptah-h-[a-z2-7]+/g, "#");
      expect(shape(a)).toBe(shape(b));
      w.settle(1_000);
    }
  });
});

describe("what people read", () => {
  test("is left as the very same object when nothing new is to be said", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    const version = w.version;
    w.settle();
    expect(w.version).toBe(version);
  });

  test("never carries Reconciling and Stalled at once, and always Ready", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    const perform = w.perform.bind(w);
    w.perform = (move) => {
      perform(move);
      if (move.kind !== "patchStatus" && move.kind !== "claim") return;
      expect(w.condition("Ready")).toBeDefined();
      expect(w.condition("Reconciling") !== undefined && w.condition("Stalled") !== undefined).toBe(false);
    };
    w.settle();
    w.approve();
    w.settle();
    expect(w.status.observedGeneration).toBe(1);
  });

  test.each([
    ["InSync", { at: "converged", unknownOutcome: false }],
    ["VerifyingConvergence", { at: "applied", unknown: true, sentence: "" }],
    ["VerifyingConvergence", { at: "claimed", type: "Plan", proving: true, approved: false }],
    ["Observing", { at: "begun", read: "Observe", changed: true, sentence: "" }],
    ["Planning", { at: "observed", proving: false }],
    ["Applying", { at: "claimed", type: "Apply", proving: false, approved: true }],
    ["Failed", { at: "readFailed", type: "Observe", reason: "OperationFailed", sentence: "", unreachable: true }],
    ["Failed", { at: "unbuilt", sentence: "" }],
    ["Pending", { at: "gaveWay" }],
    ["Pending", { at: "superseded" }],
    ["Pending", { at: "bindingChanged" }],
    ["Blocked", { at: "targetMoved", sentence: "" }],
    ["Suspended", { at: "suspended", wayOut: "x" }],
  ] as const)("shows %s for %j", (phase, cause) => {
    expect(schemaFamily.phase(cause, false)).toBe(phase);
  });

  test("messages are bounded", () => {
    const w = new TestWorld(tools, SPEC, () => ({}));
    const view = w.view();
    const c = { resource: view.resource.value, nowMs: 0, family: schemaFamily } as Parameters<typeof present>[0];
    const status = present(c, {}, { at: "unbuilt", sentence: "x".repeat(5000) });
    expect(Math.max(...(status.conditions ?? []).map((condition) => condition.message.length))).toBeLessThanOrEqual(
      1024,
    );
  });
});
