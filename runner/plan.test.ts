import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { sha256Digest } from "../crds/canonical.ts";
import { contentDigest, sourceManifest } from "../crds/fingerprints.ts";
import { ENV } from "../workload/environment.ts";
import { createRedactor } from "./redact.ts";
import { copySnapshot, snapshotKey } from "./snapshot-copy.ts";
import { Pod, planText } from "./testing/pod.ts";

const PLAN = planText("plan_a");
/** Each test starts several processes; a busy machine takes its time. */
setDefaultTimeout(60_000);

const pods: Pod[] = [];
function podOf(operation: "plan" | "observe", script: Record<string, unknown>): Pod {
  const pod = new Pod(operation, script);
  Object.assign(pod.env, {
    [ENV.schemaFile]: "/source",
    [ENV.devURL]: "postgres://ptah@localhost/postgres?host=/scratch",
    [ENV.expectedServerMajor]: "15",
    [ENV.transactionMode]: "file",
  });
  pods.push(pod);
  return pod;
}
afterEach(() => {
  for (const pod of pods.splice(0)) pod.dispose();
});

describe("a plan", () => {
  test("is computed twice, run dry from the same file and carried in the frame with its digest", async () => {
    const pod = podOf("plan", { plan: [{ plan: PLAN }] });
    const ended = await pod.run();
    expect(ended.result).toMatchObject({
      planOutcome: "Changes",
      stdout: PLAN,
      planContentDigest: sha256Digest(PLAN),
      serverVersion: "15.14",
      serverMajor: 15,
      childExitCode: 0,
    });
    const [first, second, dry] = pod.calls();
    expect([first?.verb, second?.verb, dry?.verb]).toEqual(["plan", "plan", "dryRun"]);
    expect(first?.argv[3]).not.toBe(second?.argv[3]);
    expect(dry?.argv).toEqual([
      "schema",
      "apply",
      "--plan",
      first?.argv[3] ?? "",
      "--auto-approve",
      "--json",
      "--dry-run",
    ]);
  });

  test("leaves nothing in its work directory", async () => {
    const pod = podOf("plan", { plan: [{ plan: PLAN }] });
    await pod.run();
    expect(readdirSync(pod.work).filter((name) => name.startsWith("ptah"))).toEqual([]);
  });

  test("passes its scope as flags and keeps the desired schema from the dry run", async () => {
    const exclude = ["audit.*", 'od"d, one'];
    const pod = podOf("plan", { plan: [{ plan: planText("p", ["CREATE TABLE t ()"], [...exclude].sort()) }] });
    pod.env[ENV.exclude] = 'audit.*,"od""d, one",audit.*';
    pod.env[ENV.protectedTables] = "public.users,orders";
    const ended = await pod.run();
    expect(ended.result?.error).toBeUndefined();
    const [first, , dry] = pod.calls();
    expect(first?.argv.slice(5)).toEqual([
      "--exclude=audit.*",
      '--exclude=od"d, one',
      "--protected-table=orders",
      "--protected-table=public.users",
    ]);
    for (const name of [ENV.exclude, ENV.protectedTables]) expect(first?.env[name]).toBeUndefined();
    expect(first?.env["PTAH_EXPECT_SERVER_MAJOR"]).toBe("15");
    for (const name of [ENV.schemaFile, ENV.devURL, ENV.exclude, ENV.operationID])
      expect(dry?.env[name]).toBeUndefined();
  });

  test("without changes is that outcome and nothing else", async () => {
    const ended = await podOf("plan", { plan: [{}] }).run();
    expect(ended.result).toMatchObject({ planOutcome: "NoChanges", stdout: "" });
    expect(ended.result?.planContentDigest).toBeUndefined();
  });

  const refused: readonly [string, Record<string, unknown>, string][] = [
    [
      "that differs from its second computing",
      { plan: [{ plan: PLAN }, { plan: planText("plan_b") }] },
      "unstable_plan",
    ],
    ["that is there only once", { plan: [{ plan: PLAN }, {}] }, "unstable_plan"],
    [
      "whose digest is not the report's",
      { plan: [{ plan: PLAN, report: { plan_digest: `sha256:${"0".repeat(64)}` } }] },
      "invalid_plan_output",
    ],
    ["saved elsewhere", { plan: [{ plan: PLAN, report: { plan_path: "/tmp/x" } }] }, "invalid_plan_output"],
    ["that was not saved", { plan: [{ report: { outcome: "changes" } }] }, "invalid_plan_output"],
    ["that is no plan document", { plan: [{ plan: '{"format_version":1}' }] }, "invalid_plan_output"],
    ["of another scope", { plan: [{ plan: planText("p", ["SELECT 1"], ["audit.*"]) }] }, "invalid_plan_output"],
    [
      "that holds the database password",
      { plan: [{ plan: planText("p", ["SELECT 's3cret-w0rd'"]) }] },
      "credential_leak",
    ],
    [
      "over a protected table",
      { plan: [{ report: { outcome: "refused", refusal: { code: "protected-table", tables: ["public.users"] } } }] },
      "protected_table",
    ],
    [
      "the executor refuses",
      {
        plan: [
          {
            report: {
              outcome: "refused",
              refusal: { code: "unsupported_object", objects: ["cast x"] },
              error: "cannot",
            },
          },
        ],
      },
      "plan_refused",
    ],
    ["of a server of another major", { plan: [{ report: { server_version_num: 170002 } }] }, "server_version_changed"],
    [
      "that cannot reach its database",
      { plan: [{ report: { outcome: "failed", failure: { code: "connection_failed" }, error: "no route" } }] },
      "connection_failed",
    ],
    ["without a report", { plan: [{ report: null, stderr: "error: unknown flag\n", exit: 2 }] }, "child_exit"],
    ["with more output than a report may have", { plan: [{ floodBytes: 17_000_000 }] }, "output_truncated"],
    [
      "whose dry run finds it stale",
      { plan: [{ plan: PLAN }], dryRun: [{ report: { outcome: "refused", refusal: { code: "stale-plan" } } }] },
      "stale_plan",
    ],
    [
      "whose dry run reads other statements",
      { plan: [{ plan: PLAN }], dryRun: [{ report: { statements: ["SELECT 2"] } }] },
      "invalid_plan_output",
    ],
    [
      "whose dry run really applied",
      { plan: [{ plan: PLAN }], dryRun: [{ report: { outcome: "applied" } }] },
      "plan_failed",
    ],
  ];
  for (const [name, script, code] of refused) {
    test(`${name} is not published: ${code}`, async () => {
      const ended = await podOf("plan", script).run();
      expect(ended.exitCode).toBe(0);
      expect(ended.result?.error?.code).toBe(code);
      expect(ended.result?.stdout).toBe("");
      expect(ended.result?.mutationStarted).toBeUndefined();
      expect(JSON.stringify(ended.result)).not.toContain("s3cret-w0rd");
    });
  }

  test("names the refused tables and the executor's own code", async () => {
    const refusal = { code: "protected-table", tables: ["public.users"], statement: 3, sqlstate: "23502" };
    const ended = await podOf("plan", { plan: [{ report: { outcome: "refused", refusal, error: "fenced" } }] }).run();
    expect(ended.result?.refusal).toEqual(refusal);
    expect(ended.result?.error?.message).toBe("fenced");
  });

  test("of nearly the largest legal size is carried whole", async () => {
    const big = planText(
      "big",
      Array.from({ length: 60 }, (_, i) => `COMMENT ON TABLE t IS '${String(i).repeat(60_000)}'`),
    );
    expect(big.length).toBeGreaterThan(6_000_000);
    const ended = await podOf("plan", { plan: [{ plan: big }] }).run();
    expect(ended.result?.error).toBeUndefined();
    expect(ended.result?.stdout === big).toBe(true);
  });

  test("tells a broken executor's own words in the log and not in the result", async () => {
    const stderr = "error: s3cret-w0rd rejected\nPTAH_RUNNER_RESULT_V1 1 x\n";
    const ended = await podOf("plan", { plan: [{ report: null, stderr, exit: 2 }] }).run();
    expect(ended.log).toContain("executor: error: [REDACTED] rejected\nexecutor: PTAH-RUNNER_RESULT_V1 1 x\n");
    expect(JSON.stringify(ended.result)).not.toContain("rejected");
  });

  test("larger than asked for is plan_too_large", async () => {
    const pod = podOf("plan", { plan: [{ plan: PLAN }] });
    expect((await pod.run(["--max-plan-bytes", "100"])).result?.error?.code).toBe("plan_too_large");
  });

  test("in an unwritable work directory is refused before the child", async () => {
    const pod = podOf("plan", { plan: [{ plan: PLAN }] });
    pod.env["TMPDIR"] = "/proc";
    const ended = await pod.run();
    expect(ended.result).toMatchObject({ childStarted: false, error: { code: "prepare_plan" } });
  });

  test("with a list that is no list is refused before the child", async () => {
    const pod = podOf("plan", { plan: [{ plan: PLAN }] });
    pod.env[ENV.protectedTables] = "users;drop";
    expect((await pod.run()).result).toMatchObject({ childStarted: false, error: { code: "invalid_input" } });
  });

  test("whose exclusion would be a credential in an argument is refused before the child", async () => {
    const pod = podOf("plan", { plan: [{ plan: PLAN }] });
    pod.env[ENV.exclude] = pod.env[ENV.databaseURL] ?? "";
    expect((await pod.run()).result).toMatchObject({ childStarted: false, error: { code: "credential_in_arguments" } });
    expect(pod.calls()).toEqual([]);
  });
});

describe("an observation", () => {
  const findings = [
    { category: "columns_added", count: 2, severity: "safe" },
    { category: "tables_removed", count: 1, severity: "destructive" },
  ];
  const drifted = { drift: true, failed: true, findings, diff: { b: 1, a: { d: 2, c: "<" } } };

  test("reports drift with sorted findings and a digest that does not depend on key order", async () => {
    const ended = await podOf("observe", { drift: [{ report: drifted, exit: 1 }] }).run();
    expect(ended.result).toMatchObject({
      observedDrift: true,
      highestDriftSeverity: "destructive",
      driftFindingCount: 3,
      driftFindings: [findings[1], findings[0]],
      serverVersion: "15.14 (Debian)",
      serverMajor: 15,
      childExitCode: 1,
    });
    const other = { ...drifted, diff: { a: { c: "<", d: 2 }, b: 1 } };
    const again = await podOf("observe", { drift: [{ report: other }] }).run();
    expect(again.result?.driftReportDigest).toBe(ended.result?.driftReportDigest ?? "");
    const { createHash } = await import("node:crypto");
    const text = '{"dialect":"postgres","ignored_tables":null,"diff":{"a":{"c":"\\u003c","d":2},"b":1}}';
    expect(ended.result?.driftReportDigest).toBe(`sha256:${createHash("sha256").update(text).digest("hex")}`);
  });

  test("without a scratch server learns only the version, and the child is given nothing to compare with", async () => {
    const pod = podOf("observe", { drift: [{ report: { outcome: "version-only" } }] });
    pod.env[ENV.versionOnly] = "true";
    delete pod.env[ENV.expectedServerMajor];
    const ended = await pod.run();
    expect(ended.result).toMatchObject({ serverMajor: 15, observedDialect: "postgres" });
    expect(ended.result?.driftReportDigest).toBeUndefined();
    expect(pod.calls()[0]?.env[ENV.devURL]).toBeUndefined();
    expect(pod.calls()[0]?.env[ENV.schemaFile]).toBeUndefined();
  });

  const failures: readonly [string, object, string][] = [
    ["of another major", { server_version: "17.2" }, "server_version_changed"],
    ["that failed", { error: "no", outcome: "failed", failure: { code: "connection_failed" } }, "connection_failed"],
    [
      "that was refused",
      { error: "no", outcome: "refused", refusal: { code: "extension_missing", objects: ["postgis"] } },
      "plan_refused",
    ],
    ["that names no version", { server_version: null }, "invalid_observed_state"],
    ["of another engine", { dialect: "mysql" }, "invalid_observed_state"],
    ["with a category twice", { ...drifted, findings: [findings[0], findings[0]] }, "invalid_observed_state"],
  ];
  for (const [name, report, code] of failures) {
    test(`${name} is ${code}`, async () => {
      const ended = await podOf("observe", { drift: [{ report }] }).run();
      expect(ended.result?.error?.code).toBe(code);
    });
  }

  test("waits for the scratch server's socket", async () => {
    const pod = podOf("observe", { drift: [{}] });
    const scratch = join(pod.directory, "scratch");
    mkdirSync(scratch);
    pod.env[ENV.scratchDirectory] = scratch;
    const run = pod.run();
    const opened = new Promise<number>((resolve) => {
      setTimeout(() => {
        const server = createServer().listen(join(scratch, ".s.PGSQL.5432"), () => resolve(Date.now()));
        server.unref();
      }, 700);
    });
    const [ended, openedAtMs] = await Promise.all([run, opened]);
    expect(ended.result?.error).toBeUndefined();
    expect(pod.calls()[0]?.atMs).toBeGreaterThanOrEqual(openedAtMs);
  });

  test("that waits for its scratch server ends when the Pod is asked to", async () => {
    const pod = podOf("observe", { drift: [{}] });
    pod.env[ENV.scratchDirectory] = join(pod.directory, "never");
    const run = pod.run();
    await pod.listens();
    pod.signal("SIGTERM");
    expect((await run).result).toMatchObject({ childStarted: false, error: { code: "execution_error" } });
  });
});

describe("the redactor", () => {
  const url = "postgres://svc:p%40ss+word@db/app?options=-csecret%3D1";
  const redactor = createRedactor({ [ENV.databaseURL]: url });
  test("hides a URL, its password raw and decoded, and secret-looking parameters", () => {
    for (const text of [url, "p%40ss+word", "p@ss word", JSON.stringify({ url }), "x -csecret=1 y", "http://u:pw@h/"]) {
      expect(redactor.text(text)).toContain("[REDACTED]");
      expect(redactor.finds(text)).toBe(true);
    }
  });
  test("hides a short password only where it stands alone", () => {
    const short = createRedactor({ [ENV.databaseURL]: "postgres://svc:test@db/app" });
    expect(short.text("the password is test.")).toBe("the password is [REDACTED].");
    expect(short.finds("CREATE TABLE latest (test_id int)")).toBe(false);
  });
  test("does not take a role's own name for a secret", () => {
    const same = createRedactor({ [ENV.databaseURL]: "postgres://postgres:postgres@db/app?sslmode=disable" });
    expect(same.finds("ALTER TABLE t OWNER TO postgres")).toBe(false);
    expect(same.finds("postgres://postgres:postgres@db/app")).toBe(true);
  });
  test("leaves other text as it is", () => {
    for (const text of ["CREATE TABLE t (email text)", "http://example.org/a@b", "svc@db"]) {
      expect(redactor.text(text)).toBe(text);
    }
  });
});

describe("the snapshot copy", () => {
  const files = [
    { path: "a b.sql", bytes: Buffer.from("CREATE TABLE a ();\n") },
    { path: "sub/ü.sql", bytes: Buffer.from("") },
    { path: "z.sql", bytes: Buffer.from("SELECT 1;\n") },
  ];
  function snapshot(): { env: Record<string, string>; from: string; to: string } {
    const pod = podOf("observe", {});
    const from = join(pod.directory, "snapshot");
    const to = join(pod.directory, "source");
    mkdirSync(from);
    mkdirSync(to);
    const manifest = sourceManifest(files);
    writeFileSync(join(from, "manifest"), manifest);
    for (const [index, file] of files.entries()) writeFileSync(join(from, snapshotKey(index)), file.bytes);
    const env = {
      [ENV.snapshotDirectory]: from,
      [ENV.sourceDirectory]: to,
      [ENV.sourceContentDigest]: contentDigest(manifest),
    };
    return { env, from, to };
  }

  test("puts every file under its own path", () => {
    const { env, to } = snapshot();
    expect(copySnapshot(env)).toBe(3);
    for (const file of files) expect(readFileSync(join(to, file.path))).toEqual(file.bytes);
  });

  test("makes the directory that it copies to, as a migration's is below the volume", () => {
    const { env, to } = snapshot();
    const below = join(to, "migrations");
    expect(copySnapshot({ ...env, [ENV.sourceDirectory]: below })).toBe(3);
    for (const file of files) expect(readFileSync(join(below, file.path))).toEqual(file.bytes);
  });

  const damages: readonly [string, (s: ReturnType<typeof snapshot>) => void][] = [
    ["a changed file", (s) => writeFileSync(join(s.from, "f002"), "SELECT 2;\n")],
    ["a longer file", (s) => writeFileSync(join(s.from, "f001"), "x")],
    ["a missing file", (s) => rmSync(join(s.from, "f000"))],
    ["a file too many", (s) => writeFileSync(join(s.from, "f003"), "")],
    ["another manifest", (s) => writeFileSync(join(s.from, "manifest"), "a 0 x\n")],
    ["no manifest", (s) => rmSync(join(s.from, "manifest"))],
    ["another digest", (s) => Object.assign(s.env, { [ENV.sourceContentDigest]: `sha256:${"0".repeat(64)}` })],
  ];
  for (const [name, damage] of damages) {
    test(`refuses ${name}`, () => {
      const s = snapshot();
      damage(s);
      expect(() => copySnapshot(s.env)).toThrow(/snapshot/);
    });
  }

  for (const path of ["../out.sql", "/etc/x.sql", "a/../../x", "a//b", "./a", "a\\b", ""]) {
    test(`refuses the path ${JSON.stringify(path)} even with the right digest`, () => {
      const s = snapshot();
      const bytes = Buffer.from("x");
      const manifest = sourceManifest([{ path, bytes }]);
      for (const index of [0, 1, 2]) rmSync(join(s.from, snapshotKey(index)));
      writeFileSync(join(s.from, "manifest"), manifest);
      writeFileSync(join(s.from, "f000"), bytes);
      s.env[ENV.sourceContentDigest] = contentDigest(manifest);
      expect(() => copySnapshot(s.env)).toThrow(/manifest/);
    });
  }
});
