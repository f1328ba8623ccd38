import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENV } from "../workload/environment.ts";
import { Pod, planText, until, variablesOf } from "./testing/pod.ts";

const PLAN = planText("plan_a", ["CREATE TABLE a (id int)", "ALTER TABLE a ADD COLUMN note text DEFAULT '<&>'"]);
/** Each test starts two processes; a busy machine takes its time. */
setDefaultTimeout(60_000);

const pods: Pod[] = [];
function podOf(script: Record<string, unknown> = {}): Pod {
  const pod = new Pod("apply", script).approve(PLAN);
  pods.push(pod);
  return pod;
}
afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});
const past = (): string => new Date(Date.now() - 1_000).toISOString();

describe("an apply", () => {
  test("puts its chunks together, starts the executor once and reports success", async () => {
    const pod = podOf();
    const ended = await pod.run();
    expect(ended.exitCode).toBe(0);
    expect(ended.result).toMatchObject({ childStarted: true, childExitCode: 0, mutationStarted: true });
    expect(ended.result?.error).toBeUndefined();
    expect(ended.summary).toMatchObject({ childStarted: true, mutationStarted: true });
    expect(pod.calls()).toHaveLength(1);
    expect(pod.calls()[0]?.argv.slice(0, 3)).toEqual(["schema", "apply", "--plan"]);
    expect(pod.calls()[0]?.argv.slice(4)).toEqual(["--auto-approve", "--json"]);
  });

  test("writes its summary with the digest of the frame that follows", async () => {
    const ended = await podOf().run();
    if (ended.reading.kind !== "Found") throw new Error("no frame");
    expect(ended.summary?.frameDigest).toBe(ended.reading.payloadDigest);
  });

  test("gives the child no variable that it does not need", async () => {
    const pod = podOf();
    await pod.run();
    expect(variablesOf(pod.calls()[0])).toEqual(
      ["HOME", "PATH", "PTAH_CONNECT_TIMEOUT", "PTAH_DB_URL", "PTAH_LOCK_TIMEOUT", "PTAH_TX_MODE", "TMPDIR"].sort(),
    );
  });

  test("names the mounted CA in the child's URL, and its path in the target's identity", async () => {
    const pod = podOf();
    const path = pod.certificate();
    expect((await pod.run()).result?.error?.code).toBe("target_binding_mismatch");
    const { postgresTargetIdentity } = await import("../crds/targetidentity.ts");
    const identity = postgresTargetIdentity(pod.env[ENV.databaseURL] ?? "", path);
    pod.env[ENV.expectedTargetIdentityDigest] = identity.ok ? identity.digest : "";
    expect((await pod.run()).result?.error).toBeUndefined();
    expect(pod.calls()[0]?.env["PTAH_DB_URL"]).toEndWith(`?sslmode=require&sslrootcert=${encodeURIComponent(path)}`);
  });

  test("names a CA that is declared and is not there, before the child", async () => {
    const pod = podOf();
    pod.env[ENV.databaseCAFile] = `${pod.directory}/nobody-made-it.pem`;
    pod.fence();
    const { result } = await pod.run();
    expect(result).toMatchObject({ childStarted: false, error: { code: "missing_ca" } });
    expect(result?.error?.message).toContain("spec.target.caFrom");
  });

  const refusals: readonly [string, (pod: Pod) => void, string][] = [
    ["without a realm", (p) => delete p.env[ENV.coordinationDigest], "missing_coordination_binding"],
    [
      "in a realm that is no digest",
      (p) => Object.assign(p.env, { [ENV.coordinationDigest]: "x" }),
      "invalid_coordination_binding",
    ],
    ["without a database URL", (p) => Object.assign(p.env, { [ENV.databaseURL]: "" }), "missing_target"],
    ["with an unreadable URL", (p) => Object.assign(p.env, { [ENV.databaseURL]: "mysql://a/b" }), "invalid_target"],
    [
      "in another realm",
      (p) => Object.assign(p.env, { [ENV.expectedCoordinationDigest]: `sha256:${"0".repeat(64)}` }),
      "coordination_binding_mismatch",
    ],
    [
      "on another database",
      (p) => Object.assign(p.env, { [ENV.databaseURL]: "postgres://svc:s3cret-w0rd@db.example/other?sslmode=require" }),
      "target_binding_mismatch",
    ],
    ["without an expected target", (p) => delete p.env[ENV.expectedTargetIdentityDigest], "missing_target_binding"],
    ["without a dispatch deadline", (p) => delete p.env[ENV.dispatchNotAfter], "missing_dispatch_deadline"],
    ["without an execution deadline", (p) => delete p.env[ENV.executionNotAfter], "missing_execution_deadline"],
    [
      "after its dispatch deadline",
      (p) => Object.assign(p.env, { [ENV.dispatchNotAfter]: past() }),
      "dispatch_deadline_expired",
    ],
    [
      "with deadlines in the wrong order",
      (p) => Object.assign(p.env, { [ENV.executionNotAfter]: past() }),
      "invalid_configuration",
    ],
    [
      "with a deadline that is no instant",
      (p) => Object.assign(p.env, { [ENV.dispatchNotAfter]: "tomorrow" }),
      "invalid_configuration",
    ],
    ["without a grace period", (p) => delete p.env[ENV.terminationGraceSeconds], "missing_termination_grace"],
    ["without an approved digest", (p) => delete p.env[ENV.expectedPlanContentDigest], "missing_plan_binding"],
    [
      "of other bytes than the approved ones",
      (p) => writeFileSync(join(p.directory, "plan", "000.plan"), "{}"),
      "plan_digest_mismatch",
    ],
    ["with a chunk missing", (p) => rmSync(join(p.directory, "plan", "001.plan")), "plan_digest_mismatch"],
    [
      "with a link out of its volume",
      (p) => symlinkSync("/etc/hostname", join(p.directory, "plan", "999.plan")),
      "invalid_plan",
    ],
    ["without a plan volume", (p) => rmSync(join(p.directory, "plan"), { recursive: true }), "invalid_plan"],
    ["without a work directory", (p) => Object.assign(p.env, { TMPDIR: "/nowhere/at/all" }), "prepare_plan"],
    ["without an executor", (p) => rmSync(p.binary), "execution_error"],
    ["with an executor that may not run", (p) => chmodSync(p.binary, 0o644), "execution_error"],
  ];
  for (const [name, change, code] of refusals) {
    test(`${name} is refused before the child: ${code}`, async () => {
      const pod = podOf();
      change(pod);
      const ended = await pod.run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject({ childStarted: false, childExitCode: -1, error: { code } });
      expect(ended.result?.mutationStarted).toBeUndefined();
      expect(ended.summary).toMatchObject({ childStarted: false, errorCode: code });
      expect(pod.calls()).toEqual([]);
    });
  }

  const outcomes: readonly [string, object, string][] = [
    [
      "refuses",
      { report: { outcome: "refused", refusal: { code: "protected" }, error: "no" }, exit: 2 },
      "apply_refused",
    ],
    [
      "finds its plan stale",
      { report: { outcome: "refused", refusal: { code: "stale-plan", changed: "schema" } }, exit: 2 },
      "stale_plan",
    ],
    ["fails", { report: { outcome: "failed", error: "the server went away" }, exit: 2 }, "apply_failed"],
    ["does not know", { report: { outcome: "unknown" }, exit: 2 }, "apply_outcome_unknown"],
    ["applied another plan", { report: { plan_digest: `sha256:${"9".repeat(64)}` } }, "invalid_apply_output"],
    ["reports nothing", { report: null, exit: 2, stderr: "error: broken\n" }, "invalid_apply_output"],
    ["speaks another contract", { report: { contract_version: 2 } }, "invalid_apply_output"],
    ["kills itself", { suicide: true }, "execution_error"],
    ["floods its output", { floodBytes: 20_000_000 }, "invalid_apply_output"],
  ];
  for (const [name, step, code] of outcomes) {
    test(`whose executor ${name} has an unknown outcome: ${code}`, async () => {
      const pod = podOf({ apply: [step] });
      const ended = await pod.run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject({
        childStarted: true,
        mutationStarted: true,
        uncertain: true,
        error: { code },
      });
      expect(ended.summary).toMatchObject({ mutationStarted: true, uncertain: true, errorCode: code });
    });
  }

  test("that reported success counts although its exit status says interrupted", async () => {
    const ended = await podOf({ apply: [{ exit: 143 }] }).run();
    expect(ended.result).toMatchObject({ childExitCode: 143, mutationStarted: true });
    expect(ended.result?.error).toBeUndefined();
  });

  test("passes one SIGTERM on and still writes summary and frame", async () => {
    const pod = podOf({ apply: [{ untilTerm: true, report: { outcome: "canceled", error: "stopped" }, exit: 143 }] });
    const run = pod.run();
    await pod.executorListens();
    pod.signal("SIGTERM");
    const ended = await run;
    expect(ended.result).toMatchObject({ childExitCode: 143, uncertain: true, error: { code: "apply_failed" } });
    expect(ended.summary?.errorCode).toBe("apply_failed");
  });

  test("kills a child that ignores its one SIGTERM after two thirds of the grace", async () => {
    const pod = podOf({ apply: [{ deaf: true }] });
    pod.env[ENV.terminationGraceSeconds] = "6";
    const run = pod.run();
    await pod.executorListens();
    const began = performance.now();
    pod.signal("SIGTERM");
    pod.signal("SIGTERM");
    const ended = await run;
    expect(performance.now() - began).toBeGreaterThan(3_900);
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(ended.result).toMatchObject({ childExitCode: -1, uncertain: true, error: { code: "execution_error" } });
    expect(readFileSync(join(pod.work, "terms"), "utf8")).toBe("T");
  });

  test("stops its child at the execution deadline", async () => {
    const pod = podOf({ apply: [{ untilTerm: true, report: null, exit: 143 }] });
    pod.env[ENV.dispatchNotAfter] = new Date(Date.now() + 5_000).toISOString();
    pod.env[ENV.executionNotAfter] = new Date(Date.now() + 5_100).toISOString();
    const ended = await pod.run();
    expect(ended.result).toMatchObject({ uncertain: true, error: { code: "execution_error" } });
    expect(ended.result?.error?.message).toContain("deadline");
  });

  test("leaves nothing of its child's process group behind", async () => {
    const pod = podOf({ apply: [{ deaf: true }] });
    pod.env[ENV.terminationGraceSeconds] = "1";
    const run = pod.run();
    const { pid } = await pod.called(1);
    await pod.executorListens();
    pod.signal("SIGTERM");
    await run;
    await until("the child's end", () => {
      try {
        process.kill(pid, 0);
        return undefined;
      } catch {
        return true;
      }
    });
  });

  test("does not wait for a process its executor left behind, and ends it", async () => {
    const pod = podOf({ apply: [{ leavesProcess: true }] });
    pod.env[ENV.terminationGraceSeconds] = "1";
    const ended = await pod.run();
    expect(ended.result?.error).toBeUndefined();
    expect(ended.result?.mutationStarted).toBe(true);
    const left = Number(readFileSync(join(pod.work, "left"), "utf8"));
    await until("the end of the process left behind", () => {
      try {
        // A killed process that nobody has reaped yet is as good as gone.
        return /^State:\s+Z/m.test(readFileSync(`/proc/${left}/status`, "utf8")) ? true : undefined;
      } catch {
        return true;
      }
    });
  });

  test("of another protocol is a document every manager can read, and starts nothing", async () => {
    const pod = podOf();
    pod.env[ENV.protocolVersion] = "2";
    delete pod.env[ENV.databaseURL];
    const ended = await pod.run();
    expect(ended.exitCode).toBe(0);
    expect(ended.reading).toEqual({ kind: "Foreign", protocolVersion: 1 });
    expect(pod.calls()).toEqual([]);
  });

  test("without an operation id cannot be framed and says so", async () => {
    const pod = podOf();
    delete pod.env[ENV.operationID];
    const ended = await pod.run();
    expect(ended.exitCode).toBe(2);
    expect(ended.log).toBe("");
    expect(ended.stderr).toContain(ENV.operationID);
  });

  test("never shows a credential, however the executor spells it", async () => {
    const url = "postgres://svc:s3cret-w0rd@db.example/app?sslmode=require";
    const text = `cannot reach ${url} with s3cret-w0rd (${encodeURIComponent(url)}) for x://u:p4ss@h`;
    const pod = podOf({ apply: [{ report: { outcome: "failed", error: text }, stderr: text }] });
    const ended = await pod.run();
    expect(ended.result?.error?.message).toContain("[REDACTED]");
    for (const out of [JSON.stringify(ended.result), ended.log, ended.stderr, JSON.stringify(ended.summary)]) {
      expect(out).not.toContain("s3cret-w0rd");
      expect(out).not.toContain("p4ss");
    }
  });
});
