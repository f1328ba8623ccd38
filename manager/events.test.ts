import { describe, expect, test } from "bun:test";
import { KubeError } from "../kube/index.ts";
import type { ResourceFacts } from "../lifecycle/view.ts";
import { Events } from "./events.ts";
import { limits } from "./limits.ts";

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const resource = {
  apiVersion: "operator.ptah.run/v1alpha1",
  kind: "PtahSchema",
  namespace: "shop",
  name: "storefront",
  uid: "u",
} as ResourceFacts;
const intent = (reason: string) => ({ type: "Normal" as const, reason, note: "It happened." });

class Sink {
  readonly created: Record<string, unknown>[] = [];
  readonly patched: unknown[] = [];
  nowMs = 1_700_000_000_000;
  failing = false;
  client = {
    create: async (_kind: unknown, _namespace: unknown, body: unknown) => {
      if (this.failing) throw new KubeError({ code: "Forbidden", committed: "no" }, "no");
      this.created.push(body as Record<string, unknown>);
      return body;
    },
    patch: async (_kind: unknown, _at: unknown, patch: { body: unknown }) => {
      this.patched.push(patch.body);
      return {};
    },
  };
  events = new Events(this.client as never, { wallMs: () => this.nowMs, monotonicMs: () => 0 }, SILENT, "manager-1");
}

describe("Events", () => {
  test("an Event says what it is about, why, and who says it", async () => {
    const sink = new Sink();
    sink.events.emit(resource, intent("OperationStarted"));
    await sink.events.flush();
    expect(sink.created[0]).toMatchObject({
      reason: "OperationStarted",
      note: "It happened.",
      regarding: { kind: "PtahSchema", namespace: "shop", name: "storefront", uid: "u" },
      reportingController: "operator.ptah.run/manager",
    });
  });

  test("an approval's Event is about the approval", async () => {
    const sink = new Sink();
    sink.events.emit(resource, { ...intent("ApprovalStale"), approval: { name: "a", uid: "ua" } });
    await sink.events.flush();
    expect(sink.created[0]).toMatchObject({ regarding: { kind: "PtahSchemaApproval", name: "a", uid: "ua" } });
  });

  test("the same Event again is counted on the one that is there, until it is old", async () => {
    const sink = new Sink();
    for (let i = 0; i < 3; i++) sink.events.emit(resource, intent("OperationFailed"));
    await sink.events.flush();
    expect(sink.created.length).toBe(1);
    expect(sink.patched.at(-1)).toMatchObject({ series: { count: 3 } });
    sink.nowMs += limits.eventSeriesMs;
    sink.events.emit(resource, intent("OperationFailed"));
    await sink.events.flush();
    expect(sink.created.length).toBe(2);
  });

  test("a long note is cut to what the API server takes", async () => {
    const sink = new Sink();
    sink.events.emit(resource, { ...intent("PlanStale"), note: "ü".repeat(2_000) });
    await sink.events.flush();
    expect(Buffer.byteLength(String(sink.created[0]?.["note"]))).toBeLessThanOrEqual(limits.eventNoteBytesMax);
  });

  test("an API server that refuses costs nobody anything but the Events, which are counted", async () => {
    const sink = new Sink();
    sink.failing = true;
    for (let i = 0; i < limits.eventsQueuedMax + 5; i++) sink.events.emit(resource, intent(`R${i}`));
    await sink.events.flush();
    expect(sink.events.dropped).toBe(limits.eventsQueuedMax + 5);
  });
});
