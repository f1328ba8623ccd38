import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../crds/canonical.ts";
import { ENV } from "../workload/environment.ts";
import { encodeSequence } from "../workload/sequence.ts";
import { Pod } from "./testing/pod.ts";

/** Each test starts two processes; a busy machine takes its time. */
setDefaultTimeout(60_000);

const STEPS = [
  { version: 2, checksum: "bb", transactionMode: "none" as const },
  { version: 3, versionKey: "0003", checksum: "cc" },
];

const pods: Pod[] = [];
const historyPod = (script: Record<string, unknown> = {}): Pod =>
  kept(new Pod("migration-history", script).migrations());
const applyPod = (script: Record<string, unknown> = {}): Pod =>
  kept(new Pod("migration-apply", script).approveSequence(STEPS));
function kept(pod: Pod): Pod {
  pods.push(pod);
  return pod;
}
afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

/** Variables that a shell adds by itself are nobody's. */
const namesOf = (env: Readonly<Record<string, string>> | undefined): string[] =>
  Object.keys(env ?? {})
    .filter((name) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(name))
    .sort();
const CHILD_VARIABLES = [
  "HOME",
  "PATH",
  "PTAH_CONNECT_TIMEOUT",
  "PTAH_DB_URL",
  "PTAH_MIGRATION_LOCK_TIMEOUT",
  "TMPDIR",
].sort();

describe("a history reading", () => {
  test("asks the executor once and states its document", async () => {
    const pod = historyPod();
    const ended = await pod.run();
    expect(ended.exitCode).toBe(0);
    expect(ended.result).toMatchObject({
      childStarted: true,
      childExitCode: 0,
      observedDialect: "mariadb",
      serverVersion: "10.11.6-MariaDB-0+deb12u1",
      serverMajor: 10,
      migrationHistory: {
        contractVersion: 1,
        currentVersion: 1,
        totalMigrations: 2,
        hasPendingChanges: true,
        pendingMigrations: [2],
        migrations: [
          { version: 1, checksum: "aa", appliedChecksum: "aa", state: "applied" },
          { version: 2, checksum: "bb", transactionMode: "none", state: "pending" },
        ],
        revisions: [{ version: 1, appliedAt: "2026-01-02T03:04:05Z", executionMillis: 12 }],
      },
    });
    expect(ended.result?.error).toBeUndefined();
    expect(ended.result?.mutationStarted).toBeUndefined();
    const [call, ...more] = pod.calls();
    expect(more).toEqual([]);
    expect(call?.argv).toEqual([
      ...["migrations", "status", "--migrations-dir", join(pod.directory, "migrations"), "--json"],
    ]);
    expect(namesOf(call?.env)).toEqual(CHILD_VARIABLES);
  });

  test("needs neither deadlines nor an approved plan, and asks for none", async () => {
    const pod = historyPod();
    pod.env[ENV.dispatchNotAfter] = "long ago";
    expect((await pod.run()).result?.error).toBeUndefined();
  });

  test("carries five thousand versions", async () => {
    const migrations = Array.from({ length: 5_000 }, (_, i) => {
      const checksum = sha256Hex(String(i));
      return { version: i + 1, description: `Step ${i}`, checksum, applied_checksum: checksum, state: "applied" };
    });
    const report = { migrations, total_migrations: 5_000, current_version: 5_000, pending_migrations: [] };
    const ended = await historyPod({ status: [{ report: { ...report, has_pending_changes: false } }] }).run();
    expect(ended.result?.error).toBeUndefined();
    expect(ended.result?.migrationHistory?.migrations).toHaveLength(5_000);
    expect(Buffer.byteLength(ended.log)).toBeLessThan(1_000_000);
  });

  const record = { version: 1, checksum: "aa", state: "applied" };
  const refused: readonly [string, object, string][] = [
    ["without a contract version", { report: { contract_version: null } }, "invalid_migration_history_output"],
    ["of another contract", { report: { contract_version: 2 } }, "invalid_migration_history_output"],
    [
      "with a state nobody knows",
      { report: { migrations: [{ ...record, state: "skipped" }] } },
      "invalid_migration_history_output",
    ],
    [
      "with a version twice",
      { report: { total_migrations: 3, migrations: [record, record] } },
      "invalid_migration_history_output",
    ],
    [
      "with version zero",
      { report: { migrations: [{ ...record, version: 0 }], pending_migrations: [], has_pending_changes: false } },
      "invalid_migration_history_output",
    ],
    ["with more records than migrations", { report: { total_migrations: 1 } }, "invalid_migration_history_output"],
    ["that is no report", { report: null, exit: 2, stderr: "error: unknown flag\n" }, "child_exit"],
    ["with another exit status", { exit: 1 }, "child_exit"],
    ["cut short", { floodBytes: 20_000_000 }, "output_truncated"],
    ["ended by a signal", { suicide: true }, "child_exit"],
    [
      "the executor refuses",
      { report: { outcome: "refused", refusal: { code: "migration_sum_mismatch", objects: ["a.sql"] }, error: "no" } },
      "history_refused",
    ],
    [
      "of a database out of reach",
      { report: { outcome: "failed", failure: { code: "connection_failed" }, error: "no" }, exit: 2 },
      "connection_failed",
    ],
    ["that was canceled", { report: { outcome: "canceled" }, exit: 143 }, "history_failed"],
  ];
  for (const [name, step, code] of refused) {
    test(`${name} is an error without a history: ${code}`, async () => {
      const ended = await historyPod({ status: [step] }).run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result).toMatchObject({ childStarted: true, error: { code } });
      expect(ended.result?.migrationHistory).toBeUndefined();
      expect(ended.result?.mutationStarted).toBeUndefined();
    });
  }

  test("names what the executor refused", async () => {
    const report = { outcome: "refused", refusal: { code: "migration_syntax", objects: ["a.up.sql"], statement: 2 } };
    const ended = await historyPod({ status: [{ report }] }).run();
    expect(ended.result?.refusal).toMatchObject({ code: "migration_syntax", objects: ["a.up.sql"], statement: 2 });
  });

  for (const path of ["", "source/migrations", "oci://registry.example/migrations"]) {
    test(`does not start without a directory of its Pod: "${path}"`, async () => {
      const pod = historyPod();
      pod.env[ENV.migrationsDirectory] = path;
      const ended = await pod.run();
      expect(ended.result).toMatchObject({ childStarted: false, error: { code: "invalid_configuration" } });
      expect(pod.calls()).toEqual([]);
    });
  }

  test("never shows a credential, in a sentence or in a description", async () => {
    const text = `cannot reach ${historyPod().env[ENV.databaseURL]} with s3cret-w0rd`;
    const failing = await historyPod({ status: [{ report: { outcome: "failed", error: text }, stderr: text }] }).run();
    const migrations = [{ version: 1, description: "Set s3cret-w0rd", checksum: "aa", state: "applied" }];
    const report = { migrations, pending_migrations: [], has_pending_changes: false };
    const reading = await historyPod({ status: [{ report }] }).run();
    expect(reading.result?.migrationHistory?.migrations[0]?.description).toBe("Set [REDACTED]");
    for (const ended of [failing, reading]) {
      expect(JSON.stringify(ended.result)).not.toContain("s3cret-w0rd");
      expect(ended.log).not.toContain("s3cret-w0rd");
    }
  });
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
    expect(namesOf(call?.env)).toEqual(CHILD_VARIABLES);
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
    pod.env[ENV.databaseCAFile] = "/credentials/target-ca/ca.pem";
    pod.fence();
    await pod.run();
    expect(pod.calls()[0]?.env["PTAH_DB_URL"]).toBe(`${URL_FORM}&sslrootcert=%2Fcredentials%2Ftarget-ca%2Fca.pem`);
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
