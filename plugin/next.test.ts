import { expect, test } from "bun:test";
import type { Resource } from "./families.ts";
import { nextOf } from "./next.ts";

const resource = (kind: string) =>
  ({ kind, metadata: { name: "orders", namespace: "shop" }, spec: {} }) as unknown as Resource;

test("a command names the resource, its namespace and its kind", () => {
  expect(nextOf("AwaitingApproval", resource("PtahSchema"))).toBe("kubectl ptah approve orders -n shop");
  expect(nextOf("AwaitingApproval", resource("PtahMigration"))).toBe("kubectl ptah approve migration/orders -n shop");
  expect(nextOf("Nonsense", resource("PtahSchema"))).toBeUndefined();
});

test("advice that the message holds is not said twice, a command is", () => {
  const schema = resource("PtahSchema");
  expect(nextOf("PlanRefused", schema, "a.sql:2: syntax error; correct the file")).toBeUndefined();
  expect(nextOf("ApplyDisabled", schema, "spec.policy.apply is Never; set it to OnApproval")).toBeUndefined();
  expect(nextOf("ApplyDisabled", schema, "Plans are recorded")).toStartWith("Set spec.policy.apply");
  expect(nextOf("AwaitingApproval", schema, "kubectl ptah approve shows it")).toContain("orders -n shop");
});
