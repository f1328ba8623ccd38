import { beforeAll, describe, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import { TestWorld } from "./testing.ts";
import { CREATE, database, planOf, SPEC } from "./testing-plans.ts";
import { realTools, type Tools } from "./tools.ts";

let tools: Tools;
beforeAll(async () => {
  const parser = await loadParser();
  if ("error" in parser) throw new Error("no parser");
  tools = realTools(parser);
});

describe("a declared schema", () => {
  test("is observed, planned, waits, and is applied once it is approved, then proved", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, SPEC, db.answer);
    w.settle();
    expect(w.status.phase).toBe("AwaitingApproval");
    expect(w.condition("Ready")).toBe("False AwaitingApproval");
    expect(w.condition("Reconciling")).toBeUndefined();
    expect(w.condition("Stalled")).toBeUndefined();
    expect(w.finalizer).toBe(false);
    expect(db.state.applied).toBe(0);
    w.approve();
    w.settle();
    expect(db.state.applied).toBe(1);
    expect(w.status.phase).toBe("InSync");
    expect(w.condition("Ready")).toBe("True InSync");
    expect(w.status.applied?.planFingerprint).toBeDefined();
    expect(w.status.pendingObservation).toBeUndefined();
    expect(w.annotations["operator.ptah.run/unsettled-apply"]).toBeUndefined();
    expect(w.finalizer).toBe(false);
    expect(w.lease?.holder).toBe("");
    const approval = w.approvals[0];
    expect(approval?.status.consumedBy?.jobName).toMatch(/^ptah-apply-orders-/);
    expect(approval?.status.conditions?.map((c) => `${c.type}=${c.status}`).sort()).toEqual([
      "Accepted=False",
      "Consumed=True",
      "Stale=True",
    ]);
    expect(w.status.journal?.entries?.map((e) => `${e.type} ${e.outcome ?? ""}`.trim())).toEqual([
      "PlanPublished",
      "ApprovalAccepted",
      "ApplyFinished Succeeded",
      "Verified InSync",
    ]);
  });

  test("takes exactly these moves from its approval to its proof", () => {
    const w = new TestWorld(tools, SPEC, database(planOf(CREATE)).answer);
    w.settle();
    const before = w.moves.length;
    w.approve();
    w.settle();
    expect(w.rules().slice(before).join(" ")).toBe(
      "11/approvals 17 6/realm 6/realm/epoch 6/project 6/envelope 6/mirror 6/consume 6/dispatch 4/confirm 4/pods 4/gate " +
        "4/pods 4/result 4/ttl 4/success 8/observe 6/envelope 6/dispatch 6/confirm 6/result 6/ttl 6/observed 8/plan " +
        "6/envelope 6/dispatch 6/confirm 6/result 6/ttl 6/converged 2/remove 3 3 10 11/approvals 18",
    );
  });
});
