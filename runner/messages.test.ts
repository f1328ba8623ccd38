/** What reaches a resource's status of a URL: its form in a sentence about it, and nothing of the database that a report names. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { targetIdentity } from "../crds/targetidentity.ts";
import { parseMysqlTarget } from "../executor/mysql/url.ts";
import { ENV } from "../workload/environment.ts";
import { createRedactor } from "./redact.ts";
import { Pod } from "./testing/pod.ts";

/** Each test starts two processes; a busy machine takes its time. */
setDefaultTimeout(60_000);

const pods: Pod[] = [];
function kept(pod: Pod): Pod {
  pods.push(pod);
  return pod;
}
afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

describe("a sentence about a database URL", () => {
  const redactor = createRedactor({ [ENV.databaseURL]: "postgres//someone:hunter22@h/d" });
  const sentenceOf = (engine: "postgresql" | "mysql", url: string): string => {
    const identity = targetIdentity(engine, url, undefined);
    return identity.ok ? "" : identity.message;
  };

  test("says its form in a way that is not taken for a credential", () => {
    for (const engine of ["postgresql", "mysql"] as const) {
      const sentence = sentenceOf(engine, "not a url");
      expect(sentence).toContain("postgres://user@host:port/database");
      expect(sentence).toContain("mysql://");
      expect(redactor.text(sentence)).toBe(sentence);
    }
    let executors = "";
    try {
      parseMysqlTarget("mysql://someone:hunter22@h", "the database URL");
    } catch (error) {
      executors = (error as Error).message;
    }
    expect(executors).toContain("user@tcp(host:port)/database");
    expect(redactor.text(executors)).toBe(executors);
  });

  test("reaches the result whole", async () => {
    const pod = kept(new Pod("migration-history").migrations());
    pod.env[ENV.databaseURL] = "postgres//someone:hunter22@h/d";
    const { result } = await pod.run();
    expect(result?.error).toMatchObject({ code: "invalid_target" });
    expect(result?.error?.message).toContain("postgres://user@host:port/database");
    expect(result?.error?.message).not.toMatch(/REDACTED|someone|hunter22/);
  });
});

describe("the database that a report names", () => {
  const named = { database_url: "postgres://db.example:5432/named-here" };

  test("is read over by the runner, whether the run was begun, refused or done", async () => {
    const STEPS = [{ version: 2, checksum: "bb" }];
    const ended = { outcome: "failed", planned: [], applied: [], error: "the history is dirty" };
    for (const report of [{}, { ...ended, refusal: { code: "history_dirty" } }, { ...ended, cause: { code: "x" } }]) {
      const pod = kept(
        new Pod("migration-apply", { up: [{ report: { ...named, ...report } }] }).approveSequence(STEPS),
      );
      const { result, summary } = await pod.run();
      expect(result?.migrationRun).toBeDefined();
      expect(JSON.stringify([result, summary])).not.toContain("named-here");
    }
  });

  test("is read over where a reading of the history ends early", async () => {
    const report = { ...named, contract_version: 1, outcome: "refused", error: "no", refusal: { code: "x" } };
    const pod = kept(new Pod("migration-history", { status: [{ report, exit: 2 }] }).migrations());
    const { result, summary } = await pod.run();
    expect(result?.error).toBeDefined();
    expect(result?.error?.code).not.toContain("invalid");
    expect(JSON.stringify([result, summary])).not.toContain("named-here");
  });
});
