import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { SchemaPolicy } from "../crds/spec.ts";
import { judgePlan } from "./policy.ts";

const policy = (apply: "Never" | "OnApproval" | "Always", allowDestructive = false) =>
  v.parse(SchemaPolicy, { apply, allowDestructive });
const digest = `sha256:${"a".repeat(64)}`;
const plan = (change: { destructive?: boolean; privilegeChanges?: "Grant"[] } = {}) => ({
  destructive: false,
  contentDigest: digest,
  ...change,
});
const judged = (...args: Parameters<typeof judgePlan>) => {
  const verdict = judgePlan(...args);
  return `${verdict.kind} ${verdict.reason}`;
};

describe("the policy order", () => {
  test("1: a destructive plan that is not allowed is blocked under every policy", () => {
    for (const apply of ["Never", "OnApproval", "Always"] as const) {
      expect(judged(policy(apply), plan({ destructive: true }), undefined)).toBe("Blocked DestructiveChangesDisabled");
    }
  });

  test("2: Never blocks what is left", () => {
    expect(judged(policy("Never", true), plan({ destructive: true, privilegeChanges: ["Grant"] }), undefined)).toBe(
      "Blocked ApplyDisabled",
    );
  });

  test("3: Always with privilege changes waits for a person and says so", () => {
    expect(judged(policy("Always", true), plan({ destructive: true, privilegeChanges: ["Grant"] }), undefined)).toBe(
      "AwaitingApproval PrivilegeChanges",
    );
  });

  test("4: OnApproval, and a destructive plan under Always, wait for a person", () => {
    expect(judged(policy("OnApproval"), plan({ privilegeChanges: ["Grant"] }), undefined)).toBe(
      "AwaitingApproval PlanReady",
    );
    expect(judged(policy("Always", true), plan({ destructive: true }), undefined)).toBe("AwaitingApproval PlanReady");
  });

  test("5: what is left may run by itself", () => {
    expect(judged(policy("Always"), plan(), undefined)).toBe("ReadyToApply NotRequired");
  });

  test("last: the bytes that just succeeded, and any plan after three Applies, wait even under Always", () => {
    expect(judged(policy("Always"), plan(), { applies: 1, contentDigest: digest })).toBe(
      "AwaitingApproval UnprovenChanges",
    );
    expect(judged(policy("Always"), plan(), { applies: 2 })).toBe("ReadyToApply NotRequired");
    expect(judged(policy("Always"), plan(), { applies: 3 })).toBe("AwaitingApproval UnprovenChanges");
  });
});
