import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ENV } from "../workload/environment.ts";
import { encodeSequence } from "../workload/sequence.ts";
import { MIGRATION_VARIABLES, Pod, variablesOf } from "./testing/pod.ts";

/** Each test starts two processes; a busy machine takes its time. */
setDefaultTimeout(60_000);

const STEPS = [
  { version: 2, checksum: "bb", transactionMode: "none" as const },
  { version: 3, versionKey: "0003", checksum: "cc" },
];

const pods: Pod[] = [];
const applyPod = (script: Record<string, unknown> = {}): Pod =>
  kept(new Pod("migration-apply", script).approveSequence(STEPS));
function kept(pod: Pod): Pod {
  pods.push(pod);
  return pod;
}
afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

describe("a migration run", () => {
  test("hands the approved sequence over, runs once and reports what it applied", async () => {
    const pod = applyPod();
    const ended = await pod.run();
    expect(ended.result).toMatchObject({
      childStarted: true,
      childExitCode: 0,
      mutationStarted: true,
      uncertain: false,
      migrationRun: { contractVersion: 1, outcome: "applied", planned: [2, 3], applied: [2, 3] },
    });
    expect(ended.result?.error).toBeUndefined();
    expect(ended.summary?.migration).toEqual({ outcome: "applied", appliedCount: 2, firstApplied: 2, lastApplied: 3 });
    const [call, ...more] = pod.calls();
    expect(more).toEqual([]);
    expect(call?.argv.slice(0, 6)).toEqual([
      ...["migrations", "up", "--migrations-dir", join(pod.directory, "migrations"), "--json", "--expect-sequence"],
    ]);
    expect(variablesOf(call)).toEqual([...MIGRATION_VARIABLES]);
    expect(readFileSync(join(pod.work, "sequence"), "utf8")).toBe(
      '{"migrations":[{"version":2},{"version":3,"version_key":"0003"}]}\n',
    );
    expect(readdirSync(pod.work).filter((name) => name.startsWith("ptah"))).toEqual([]);
  });

  test("passes its transaction mode as a flag", async () => {
    const pod = applyPod();
    pod.env[ENV.migrationTransactionMode] = "none";
    await pod.run();
    expect(pod.calls()[0]?.argv.slice(5, 7)).toEqual(["--tx-mode", "none"]);
  });

  const set =
    (name: string, value: string) =>
    (pod: Pod): void => {
      pod.env[name] = value;
    };
  const unset =
    (name: string) =>
    (pod: Pod): void => {
      delete pod.env[name];
    };
  const past = new Date(Date.now() - 1_000).toISOString();
  const zeros = `sha256:${"0".repeat(64)}`;
  const refusals: readonly [string, (pod: Pod) => void, string][] = [
    ["in another realm", set(ENV.expectedCoordinationDigest, zeros), "coordination_binding_mismatch"],
    ["on another database", set(ENV.expectedTargetIdentityDigest, zeros), "target_binding_mismatch"],
    ["without a sequence", unset(ENV.expectedSequence), "missing_plan_binding"],
    ["without its digest", unset(ENV.expectedSequenceDigest), "missing_plan_binding"],
    ["without a history", unset(ENV.expectedHistoryFingerprint), "missing_plan_binding"],
    ["with a history that is no digest", set(ENV.expectedHistoryFingerprint, "x"), "plan_binding_mismatch"],
    ["with a digest that is none", set(ENV.expectedSequenceDigest, "x"), "plan_binding_mismatch"],
    ["with a sequence that cannot be read", set(ENV.expectedSequence, "[]"), "invalid_plan"],
    [
      "with another order than the approved one",
      set(ENV.expectedSequence, encodeSequence([...STEPS].reverse())),
      "plan_digest_mismatch",
    ],
    [
      "with fewer steps than approved",
      set(ENV.expectedSequence, encodeSequence(STEPS.slice(1))),
      "plan_digest_mismatch",
    ],
    ["after its dispatch deadline", set(ENV.dispatchNotAfter, past), "dispatch_deadline_expired"],
    ["without an execution deadline", unset(ENV.executionNotAfter), "missing_execution_deadline"],
    ["without a grace period", unset(ENV.terminationGraceSeconds), "missing_termination_grace"],
    ["in a mode nobody knows", set(ENV.migrationTransactionMode, "all"), "invalid_configuration"],
    ["without a directory", unset(ENV.migrationsDirectory), "invalid_configuration"],
    ["without a work directory", set("TMPDIR", "/nowhere/at/all"), "prepare_plan"],
    ["without an executor", (pod) => rmSync(pod.binary), "execution_error"],
  ];
  for (const [name, change, code] of refusals) {
    test(`${name} is refused before the child: ${code}`, async () => {
      const pod = applyPod();
      change(pod);
      const ended = await pod.run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject({ childStarted: false, childExitCode: -1, error: { code } });
      expect(ended.result?.mutationStarted).toBeUndefined();
      expect(ended.result?.migrationRun).toBeUndefined();
      expect(ended.summary).toMatchObject({ childStarted: false, errorCode: code });
      expect(pod.calls()).toEqual([]);
    });
  }

  test("checks what it is bound to in the contract's order", async () => {
    const pod = applyPod();
    const order: readonly [string, string][] = [
      [ENV.dispatchNotAfter, "missing_dispatch_deadline"],
      [ENV.expectedSequenceDigest, "missing_plan_binding"],
      [ENV.expectedTargetIdentityDigest, "missing_target_binding"],
      [ENV.expectedCoordinationDigest, "missing_coordination_binding"],
      [ENV.databaseURL, "missing_target"],
    ];
    for (const [name, code] of order) {
      delete pod.env[name];
      expect((await pod.run()).result?.error?.code).toBe(code);
    }
  });

  const failure = { version: 3, statement: 2, sqlState: "23000", mysqlErrno: 1062 };
  const decoded: readonly [string, object, string | undefined, object][] = [
    [
      "found nothing to do",
      { report: { outcome: "up-to-date", planned: [], applied: [] } },
      undefined,
      { mutationStarted: false, uncertain: false, migrationRun: { outcome: "up-to-date" } },
    ],
    [
      "failed after a commit",
      { report: { outcome: "failed", applied: [2], failure, error: "version 3 failed" }, exit: 2 },
      "apply_failed",
      { mutationStarted: true, uncertain: false, migrationRun: { outcome: "failed", applied: [2], failure } },
    ],
    [
      "met another selection",
      {
        report: {
          ...{ outcome: "failed", planned: [], applied: [], error: "another selection" },
          refusal: { code: "sequence_mismatch" },
        },
        exit: 2,
      },
      "apply_refused",
      {
        ...{ mutationStarted: true, uncertain: false, refusal: { code: "sequence_mismatch" } },
        migrationRun: { outcome: "failed", planned: [] },
      },
    ],
    [
      "could not connect",
      { report: { outcome: "failed", planned: [], applied: [], cause: { code: "connection_failed" } }, exit: 2 },
      "connection_failed",
      { uncertain: false, migrationRun: { outcome: "failed" } },
    ],
    [
      "stopped half-way",
      { report: { outcome: "partial", applied: [2], failure }, exit: 2 },
      "apply_outcome_unknown",
      { mutationStarted: true, uncertain: true, migrationRun: { outcome: "partial", applied: [2], failure } },
    ],
    [
      "does not know",
      { report: { outcome: "unknown", applied: [2] }, exit: 2 },
      "apply_outcome_unknown",
      { mutationStarted: true, uncertain: true, migrationRun: { outcome: "unknown" } },
    ],
    [
      "only pretended",
      { report: { outcome: "dry-run", applied: [] } },
      "invalid_migration_run_output",
      { mutationStarted: false, uncertain: false, migrationRun: { outcome: "dry-run" } },
    ],
    [
      "reported success although its exit status says interrupted",
      { exit: 143 },
      undefined,
      { childExitCode: 143, mutationStarted: true, migrationRun: { outcome: "applied" } },
    ],
  ];
  for (const [name, step, code, expected] of decoded) {
    test(`whose executor ${name} says so: ${code ?? "success"}`, async () => {
      const ended = await applyPod({ up: [step] }).run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject(expected);
      expect(ended.result?.error?.code).toBe(code);
      expect(ended.summary).toMatchObject({ migration: { outcome: ended.result?.migrationRun?.outcome ?? "" } });
    });
  }

  const open: readonly [string, object, string][] = [
    ["reports nothing", { report: null, exit: 2, stderr: "error: broken\n" }, "invalid_migration_run_output"],
    ["speaks another contract", { report: { contract_version: 2 } }, "invalid_migration_run_output"],
    ["went the other way", { report: { direction: "down" } }, "invalid_migration_run_output"],
    ["applied what it had not planned", { report: { planned: [2] } }, "invalid_migration_run_output"],
    ["applied only a part and calls it all", { report: { applied: [2] } }, "invalid_migration_run_output"],
    ["has an outcome nobody knows", { report: { outcome: "rolled-back" } }, "invalid_migration_run_output"],
    ["kills itself", { suicide: true }, "execution_error"],
    ["floods its output", { floodBytes: 20_000_000 }, "invalid_migration_run_output"],
  ];
  for (const [name, step, code] of open) {
    test(`whose executor ${name} is open: ${code}`, async () => {
      const ended = await applyPod({ up: [step] }).run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject({ mutationStarted: true, uncertain: true, error: { code } });
      expect(ended.result?.migrationRun).toBeUndefined();
      expect(ended.summary).toMatchObject({ mutationStarted: true, uncertain: true, errorCode: code });
      expect(ended.summary?.migration).toBeUndefined();
    });
  }

  test("that is asked to end passes one SIGTERM on and still tells how it ended", async () => {
    const pod = applyPod({ up: [{ untilTerm: true, report: { outcome: "partial", applied: [2] }, exit: 143 }] });
    const run = pod.run();
    await pod.executorListens();
    pod.signal("SIGTERM");
    const ended = await run;
    expect(ended.result).toMatchObject({
      ...{ childExitCode: 143, mutationStarted: true, uncertain: true },
      migrationRun: { outcome: "partial", applied: [2] },
    });
    expect(ended.summary?.migration).toEqual({ outcome: "partial", appliedCount: 1, firstApplied: 2, lastApplied: 2 });
  });

  test("is stopped at its deadline, and its last report still counts", async () => {
    const pod = applyPod({ up: [{ untilTerm: true, report: { outcome: "failed", applied: [2] }, exit: 143 }] });
    pod.env[ENV.dispatchNotAfter] = new Date(Date.now() + 5_000).toISOString();
    pod.env[ENV.executionNotAfter] = new Date(Date.now() + 5_100).toISOString();
    const ended = await pod.run();
    expect(ended.result).toMatchObject({ uncertain: false, migrationRun: { outcome: "failed", applied: [2] } });
    expect(ended.result?.error?.code).toBe("apply_failed");
  });

  test("kills a deaf executor after two thirds of the grace, and everything stays open", async () => {
    const pod = applyPod({ up: [{ deaf: true }] });
    pod.env[ENV.terminationGraceSeconds] = "3";
    const run = pod.run();
    await pod.executorListens();
    pod.signal("SIGTERM");
    const ended = await run;
    expect(ended.result).toMatchObject({ childExitCode: -1, uncertain: true, error: { code: "execution_error" } });
  });
});

describe("a MySQL target", () => {
  const URL_FORM = "mysql://svc:s3cret-w0rd@db.example:3306/app?tls=true";
  const DRIVER_FORM = "svc:s3c@r/et:w0rd@tcp(db.example:3306)/app?tls=true";
  const podAt = (url: string, script: Record<string, unknown> = {}): Pod =>
    kept(new Pod("migration-apply", script).target("MySQL", url).approveSequence(STEPS));

  test("is one database in both of its forms, and reaches the child as it was written", async () => {
    const results = [];
    for (const url of [URL_FORM, DRIVER_FORM]) {
      const pod = podAt(url);
      const ended = await pod.run();
      expect(ended.result?.error).toBeUndefined();
      expect(pod.calls()[0]?.env["PTAH_DB_URL"]).toBe(url);
      results.push(ended.result?.targetIdentityDigest);
    }
    expect(results[0]).toBe(results[1] ?? "");
  });

  test("names the mounted CA in the child's URL", async () => {
    const pod = podAt(URL_FORM);
    const path = pod.certificate();
    pod.fence();
    await pod.run();
    expect(pod.calls()[0]?.env["PTAH_DB_URL"]).toBe(`${URL_FORM}&sslrootcert=${encodeURIComponent(path)}`);
  });

  const refused: readonly [string, "PostgreSQL" | "MySQL", string][] = [
    ["of the other engine", "PostgreSQL", URL_FORM],
    ["that is PostgreSQL's", "MySQL", "postgres://svc:s3cret-w0rd@db.example/app"],
    ["with a parameter nobody honours", "MySQL", `${URL_FORM}&sql_mode=ANSI`],
    ["that sends several statements at once", "MySQL", `${URL_FORM}&multiStatements=true`],
  ];
  for (const [name, engine, url] of refused) {
    test(`${name} is refused before the child, without a word of it`, async () => {
      const ended = await podAt(URL_FORM).target(engine, url).run();
      expect(ended.result).toMatchObject({ childStarted: false, error: { code: "invalid_target" } });
      expect(JSON.stringify(ended.result)).not.toContain("s3cret-w0rd");
    });
  }

  test("of no engine is refused", async () => {
    const pod = podAt(URL_FORM);
    pod.env[ENV.expectedEngine] = "Oracle";
    expect((await pod.run()).result?.error?.code).toBe("invalid_configuration");
  });

  test("never shows its password, whatever form it is written in", async () => {
    for (const [url, password] of [
      [URL_FORM, "s3cret-w0rd"],
      [DRIVER_FORM, "s3c@r/et:w0rd"],
    ] as const) {
      const text = `cannot reach ${url} with ${password} (${encodeURIComponent(password)}), nor root:t0psecret@tcp(other:1)/db`;
      const report = { outcome: "failed", applied: [2], error: text };
      const ended = await podAt(url, { up: [{ report, stderr: text, exit: 2 }] }).run();
      expect(ended.result?.error?.message).toContain("cannot reach [REDACTED] with [REDACTED]");
      for (const out of [JSON.stringify(ended.result), ended.log, ended.stderr, JSON.stringify(ended.summary)]) {
        for (const secret of [password, encodeURIComponent(password), "t0psecret"]) expect(out).not.toContain(secret);
      }
    }
  });
});
