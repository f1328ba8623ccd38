import { expect, test } from "bun:test";
import { explainReason } from "../crds/reasons.ts";
import type { Resource } from "./families.ts";
import { adviceAt, nextOf } from "./next.ts";

const resource = (kind: string) =>
  ({ kind, metadata: { name: "orders", namespace: "shop" }, spec: {} }) as unknown as Resource;

test("a command names the resource, its namespace and its kind", () => {
  expect(nextOf("AwaitingApproval", resource("PtahSchema"))).toBe("kubectl ptah approve orders -n shop");
  expect(nextOf("AwaitingApproval", resource("PtahMigration"))).toBe("kubectl ptah approve migration/orders -n shop");
  expect(nextOf("Nonsense", resource("PtahSchema"))).toBeUndefined();
});

test("of an operation that failed the code in the message says who acts and how", () => {
  const { reason } = explainReason("OperationFailed");
  if (reason === undefined) throw new Error("the table lost OperationFailed");
  const message = (code: string) => `Observe ended with ${code}: why.`;
  const who = (code: string) => adviceAt(reason, resource("PtahSchema"), message(code)).who;
  expect([who("connection_failed"), who("history_refused")]).toEqual(["database administrator", "author"]);
  expect(nextOf("OperationFailed", resource("PtahMigration"), message("history_refused"))).toBeUndefined();
  expect(nextOf("OperationFailed", resource("PtahMigration"), "no code in it")).toBeUndefined();
});

test("advice that the message holds is not said twice, a command is", () => {
  const schema = resource("PtahSchema");
  expect(nextOf("PlanRefused", schema, "a.sql:2: syntax error; correct the file")).toBeUndefined();
  expect(nextOf("ApplyDisabled", schema, "spec.policy.apply is Never; set it to OnApproval")).toBeUndefined();
  expect(nextOf("ApplyDisabled", schema, "Plans are recorded")).toStartWith("Set spec.policy.apply");
  expect(nextOf("AwaitingApproval", schema, "kubectl ptah approve shows it")).toContain("orders -n shop");
});
