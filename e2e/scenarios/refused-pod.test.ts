import { beforeAll, expect, test } from "bun:test";
import { startDatabase } from "../lab/database.ts";
import { freshNamespace, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import { conditionOf, declareResource, waitForPhase, waitForResource } from "../lab/subject.ts";

/** A namespace whose quota has no room for an operation's Pod: only an Event says so, and nothing else would wake the manager. */

const NAMESPACE = "refused-pod";
const at = { namespace: NAMESPACE, name: "orders" };

let lab: Lab;

const quota = (pods: string): object => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "pods", namespace: NAMESPACE },
  spec: { hard: { pods } },
});

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  const { secret } = await startDatabase(lab, { namespace: NAMESPACE });
  await lab.apply(quota("1"));
  const files = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY);" };
  await declareResource(lab, { ...at, files, secret });
}, LAB_LIMITS.setUpMs);

test("a Pod that the API server refuses is named while its Job keeps trying, and the operation goes on once there is room", async () => {
  const held = await waitForResource(lab, at, "a Pod that was refused", (schema) =>
    (conditionOf(schema, "Ready")?.message ?? "").includes("The API server refused the Pod of Observe"),
  );
  expect(conditionOf(held, "Ready")?.message).toContain("The Events of Job");
  await lab.apply(quota("10"));
  await waitForPhase(lab, at, "AwaitingApproval");
});
