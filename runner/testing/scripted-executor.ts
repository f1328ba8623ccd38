import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

/**
 * An executor that speaks the command-line contract and does what a test wrote into `$HOME/script.json`. It records every
 * call with its environment, so that a test can see what reached it.
 */
interface Step {
  /** Bytes saved as the plan; absent: `no-changes`. */
  readonly plan?: string;
  /** Members that replace those of the honest report; null leaves the report out. */
  readonly report?: Record<string, unknown> | null;
  readonly stderr?: string;
  readonly exit?: number;
  /** Writes this many bytes instead of a report. */
  readonly floodBytes?: number;
  /** Reports only after SIGTERM, then exits. */
  readonly untilTerm?: boolean;
  /** Never ends by itself and ignores SIGTERM. */
  readonly deaf?: boolean;
  /** Leaves a process behind that keeps its output open. */
  readonly leavesProcess?: boolean;
  /** Kills itself. */
  readonly suicide?: boolean;
}

const home = process.env["HOME"] ?? "/nowhere";
const argv = process.argv.slice(2);
const verb = argv.includes("--dry-run") ? "dryRun" : (argv[1] ?? "");
const calls = `${home}/calls.jsonl`;
const before = existsSync(calls)
  ? readFileSync(calls, "utf8")
      .trim()
      .split("\n")
      .map((l) => JSON.parse(l) as { verb: string })
  : [];
const nth = before.filter((c) => c.verb === verb).length;
appendFileSync(calls, `${JSON.stringify({ verb, argv, env: process.env, pid: process.pid, atMs: Date.now() })}\n`);
const script = JSON.parse(readFileSync(`${home}/script.json`, "utf8")) as Record<string, readonly Step[]>;
const steps = script[verb] ?? [];
const step: Step = steps[Math.min(nth, steps.length - 1)] ?? {};

const argument = (name: string): string => argv[argv.indexOf(name) + 1] ?? "";
const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

function honest(): Record<string, unknown> {
  if (verb === "drift") {
    const nothing = {
      drift: false,
      failed: false,
      highest_severity: "safe",
      findings: [],
      diff: {},
      ignored_tables: [],
    };
    return {
      contract_version: 1,
      outcome: "compared",
      dialect: "postgres",
      server_version: "15.14 (Debian)",
      ...nothing,
    };
  }
  if (verb === "plan") {
    const report = { contract_version: 1, server_version_num: 150014 };
    if (step.plan === undefined) return { ...report, outcome: "no-changes" };
    const path = argument("--output");
    writeFileSync(path, step.plan);
    return { ...report, outcome: "changes", plan_digest: digestOf(Buffer.from(step.plan)), plan_path: path };
  }
  if (verb === "status") return honestStatus();
  if (verb === "up") return honestUp();
  const bytes = readFileSync(argument("--plan"));
  const plan = JSON.parse(bytes.toString("utf8")) as { name: string; statements: { sql: string }[] };
  return {
    contract_version: 1,
    outcome: verb === "dryRun" ? "dry-run" : "applied",
    plan_name: plan.name,
    plan_digest: digestOf(bytes),
    statements: plan.statements.map((s) => s.sql),
  };
}

const server = { contract_version: 1, server_version: "10.11.6-MariaDB-0+deb12u1", engine: "mariadb" };

/** One version applied, one pending. */
function honestStatus(): Record<string, unknown> {
  return {
    ...server,
    current_version: 1,
    total_migrations: 2,
    has_pending_changes: true,
    pending_migrations: [2],
    migrations: [
      { version: 1, description: "Create Orders", checksum: "aa", applied_checksum: "aa", state: "applied" },
      { version: 2, description: "Half", checksum: "bb", transaction_mode: "none", state: "pending" },
    ],
    revisions: [
      { version: 1, state: "applied", applied: 1, total: 1, applied_at: "2026-01-02T03:04:05Z", execution_millis: 12 },
    ],
    database_url: "mysql://svc:xxxxx@db.example/app",
  };
}

/** Everything that was expected is applied. */
function honestUp(): Record<string, unknown> {
  const text = readFileSync(argument("--expect-sequence"), "utf8");
  writeFileSync(`${home}/sequence`, text);
  const { migrations } = JSON.parse(text) as { migrations: { version: number }[] };
  const versions = migrations.map((migration) => migration.version);
  return { contract_version: 1, direction: "up", outcome: "applied", planned: versions, applied: versions };
}

function finish(): void {
  if (step.stderr !== undefined) process.stderr.write(step.stderr);
  if (step.leavesProcess === true) {
    const left = spawn("sleep", ["600"], { stdio: ["ignore", "inherit", "inherit"] });
    writeFileSync(`${home}/left`, String(left.pid));
  }
  if (step.suicide === true) process.kill(process.pid, "SIGKILL");
  const text = step.report === null ? "" : `${JSON.stringify({ ...honest(), ...step.report })}\n`;
  process.stdout.write(text, () => process.exit(step.exit ?? 0));
}

if (step.floodBytes !== undefined) {
  process.stdout.write("x".repeat(step.floodBytes), () => process.exit(0));
} else if (step.deaf === true) {
  process.on("SIGTERM", () => appendFileSync(`${home}/terms`, "T"));
  writeFileSync(`${home}/listening`, "");
  setInterval(() => undefined, 1_000);
} else if (step.untilTerm === true) {
  process.on("SIGTERM", finish);
  writeFileSync(`${home}/listening`, "");
  setInterval(() => undefined, 1_000);
} else finish();
