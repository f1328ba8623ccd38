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

const ALWAYS = { ...SPEC, policy: { apply: "Always" } };
const applyRuns = ({ status }: TestWorld): boolean =>
  status.activeOperation?.dispatchStarted === true && status.activeOperation.type === "Apply";

describe("a proof that cannot go on", () => {
  test("of a restored record sees by itself that its database is back", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, db.answer);
    w.holdApply = true;
    w.stepTo(applyRuns);
    w.status = {};
    w.jobs.clear();
    w.lease = null;
    w.answer = (job) => ({ ...db.answer(job), targetIdentityDigest: `sha256:${"e".repeat(64)}` });
    w.run((world) => world.status.phase === "Blocked");
    expect(w.condition("Stalled")).toBe("True TargetIdentityChanged");
    expect(w.lease).toBeNull();
    w.answer = db.answer;
    w.run((world) => world.status.pendingObservation === undefined);
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
  });

  test("is not one whose declaration names an unsupported engine by now: it reads the record's own target", () => {
    const w = new TestWorld(tools, ALWAYS, database(planOf(CREATE)).answer);
    w.stepTo(({ status }) => status.pendingObservation !== undefined);
    w.edit((spec) => ({ ...spec, target: { ...(spec["target"] as object), engine: "Oracle" } }));
    w.run((world) => world.status.pendingObservation === undefined);
    expect(w.status.resolvedRun?.resolution).toBe("Superseded");
  });

  test("for want of a scratch image is Blocked by name, and goes on once the server is one of a known major again", () => {
    const db = database(planOf(CREATE));
    const w = new TestWorld(tools, ALWAYS, db.answer);
    w.stepTo(({ status }) => status.pendingObservation !== undefined);
    const { serverMajor } = w.status.target ?? {};
    w.answer = (job) => {
      const expected = "desired" in job.work ? job.work.desired?.serverMajor : undefined;
      const server = { serverVersion: "19.1", serverMajor: 19 };
      if (expected === undefined || expected === 19) return { ...db.answer(job), ...server };
      const error = { code: "server_version_changed", message: "The server is of another major version." };
      return { ...server, error, planOutcome: undefined, driftReportDigest: undefined };
    };
    w.run((world) => world.condition("Ready") === "False UnsupportedServerVersion");
    expect(w.status.phase).toBe("Blocked");
    expect(w.status.conditions?.find((c) => c.type === "Ready")?.message).toContain("kubectl ptah settle");
    expect(w.status.activeOperation).toBeUndefined();
    w.answer = db.answer;
    w.run((world) => world.status.pendingObservation === undefined);
    expect(w.status.target?.serverMajor).toBe(serverMajor);
    expect(w.status.resolvedRun?.resolution).toBe("Reading");
  });
});
