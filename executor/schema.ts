import { listenForStop, type Stop } from "./cancel.ts";
import { type Command, commandOf } from "./commands.ts";
import { Canceled, CONTRACT_VERSION, EXIT, Refused, UsageError } from "./contract.ts";
import { type FlagSpec, type Flags, parseBoundMs, readFlags } from "./flags.ts";
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_LOCK_TIMEOUT_MS } from "./limits.ts";
import type { TransactionMode } from "./postgres/execute.ts";
import type { Target } from "./postgres/url.ts";
import { endingOf, print } from "./report.ts";

const CONNECTION: Readonly<Record<string, FlagSpec>> = {
  "db-url": { kind: "text", what: "URL of the database" },
  "connect-timeout": { kind: "text", what: "longest time to connect, such as 10s" },
  "lock-timeout": { kind: "text", what: "longest time to wait for a lock, such as 30s" },
  "expect-server-major": { kind: "text", what: "end as refused on a server of another major version" },
};
const COMPARISON: Readonly<Record<string, FlagSpec>> = {
  ...CONNECTION,
  "dev-url": { kind: "text", what: "URL of a scratch server of the same major version" },
  "schema-file": { kind: "text", what: "the desired schema: a .sql file or a directory of them" },
  exclude: { kind: "list", what: "objects that are left alone, as a glob; may be repeated" },
};
const ACCEPTED_JSON: FlagSpec = { kind: "switch", env: false, what: "accepted; the report is always one JSON value" };
const TX_MODE: FlagSpec = { kind: "text", what: "file, all or none (file)" };
type Run = (flags: Flags, stop: Stop) => Promise<number>;
const COMMANDS: Readonly<Record<string, Command<Run>>> = {
  drift: {
    what: "how the database differs from the desired schema",
    flags: {
      ...COMPARISON,
      format: { kind: "text", what: "json, the only one" },
      severity: { kind: "text", what: "all or destructive: the drift that ends with exit 1" },
    },
    run: drift,
  },
  plan: {
    what: "write the statements that would bring the database to the desired schema; nothing is run",
    flags: {
      ...COMPARISON,
      json: ACCEPTED_JSON,
      output: { kind: "text", what: "the file that the plan is written to" },
      "protected-table": { kind: "list", what: "a table whose rows no plan may touch; may be repeated" },
      "tx-mode": TX_MODE,
      "pg-dump": { kind: "text", what: "a pg_dump to read the structure with" },
    },
    run: plan,
  },
  apply: {
    what: "run a plan's statements on the database that it was made for",
    flags: {
      ...CONNECTION,
      json: ACCEPTED_JSON,
      plan: { kind: "text", what: "the plan's file" },
      "auto-approve": { kind: "switch", env: false, what: "run it without a question" },
      "dry-run": { kind: "switch", what: "say what would be done, and change nothing" },
      "tx-mode": TX_MODE,
    },
    run: apply,
  },
};

/** `ptah schema drift|plan|apply`. @returns the exit status */
export async function schema(argv: readonly string[]): Promise<number> {
  const [verb, ...rest] = argv;
  const command = commandOf("schema", verb, COMMANDS);
  const flags = readFlags(rest, process.env, command.flags);
  const stop = listenForStop();
  try {
    return stop.exitCode(await command.run(flags, stop));
  } finally {
    stop.dispose();
  }
}

/**
 * What a command that changed nothing ended by: after a stop that is the stop, in whatever words the server or the driver tells that
 * what it was asked has been cancelled.
 */
const stoppedOr = (error: unknown, stop: Stop): unknown => (stop.signal.aborted ? new Canceled() : error);

async function targetOf(flags: Flags, name: "db-url" | "dev-url"): Promise<Target | undefined> {
  const { parseTarget } = await import("./postgres/url.ts");
  const url = flags.text(name);
  return url === undefined
    ? undefined
    : parseTarget(url, name === "db-url" ? "the database URL" : "the scratch server's URL");
}

async function requireTarget(flags: Flags): Promise<Target> {
  const target = await targetOf(flags, "db-url");
  if (target === undefined) throw new Refused("missing_target", "no database URL is given (PTAH_DB_URL)");
  return target;
}

function durations(flags: Flags): {
  connectTimeoutMs: number;
  lockTimeoutMs: number;
  expectedMajor: number | undefined;
} {
  const of = (name: string, otherwise: number): number => {
    const text = flags.text(name);
    return text === undefined ? otherwise : parseBoundMs(text, name);
  };
  const major = flags.text("expect-server-major");
  if (major !== undefined && !/^\d{1,4}$/.test(major)) throw new UsageError("--expect-server-major must be a number");
  return {
    connectTimeoutMs: of("connect-timeout", DEFAULT_CONNECT_TIMEOUT_MS),
    lockTimeoutMs: of("lock-timeout", DEFAULT_LOCK_TIMEOUT_MS),
    expectedMajor: major === undefined ? undefined : Number(major),
  };
}

function modeOf(flags: Flags): TransactionMode {
  const mode = flags.text("tx-mode") ?? "file";
  if (mode === "file" || mode === "all" || mode === "none") return mode;
  throw new UsageError("--tx-mode must be file, all or none");
}

async function drift(flags: Flags, stop: Stop): Promise<number> {
  const threshold = flags.text("severity") ?? "all";
  if (threshold !== "all" && threshold !== "destructive") throw new UsageError("--severity must be all or destructive");
  if ((flags.text("format") ?? "json") !== "json") throw new UsageError("--format must be json");
  const timing = durations(flags);
  const base = {
    contract_version: CONTRACT_VERSION,
    failure_threshold: threshold,
    dialect: "postgres",
    ignored_tables: [],
  };
  const nothing = { drift: false, failed: false, highest_severity: "safe", findings: [], diff: {} };
  try {
    const target = await requireTarget(flags);
    const dev = await targetOf(flags, "dev-url");
    if (dev === undefined) return await versionOnly(target, timing, stop, { ...base, ...nothing });
    const { driftOf } = await import("./postgres/drift.ts");
    const { parseExclusion } = await import("./postgres/exclude.ts");
    const schemaFile = requireSchemaFile(flags);
    const result = await driftOf({
      target,
      dev,
      schemaFile,
      exclusion: parseExclusion(flags.list("exclude")),
      stop,
      ...timing,
    });
    const failed = threshold === "all" ? result.drift : result.highestSeverity === "destructive";
    await print({
      ...base,
      outcome: "compared",
      drift: result.drift,
      failed,
      highest_severity: result.highestSeverity,
      sources: [schemaFile],
      database_url: target.display,
      findings: result.findings,
      diff: result.diff,
      column_order: result.columnOrder,
      server_version_num: result.serverVersionNum,
      server_version: result.serverVersion,
    });
    return failed ? EXIT.negative : EXIT.ok;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ ...base, ...nothing, ...endingOf(stoppedOr(error, stop)) });
    return EXIT.error;
  }
}

/** Without a scratch server nothing can be compared: only the version is told, so that the caller can provide a fitting one. */
async function versionOnly(
  target: Target,
  timing: ReturnType<typeof durations>,
  stop: Stop,
  base: object,
): Promise<number> {
  const { openTarget } = await import("./postgres/compare.ts");
  const { session, server } = await openTarget(target, { ...timing, stop });
  await session.end();
  await print({
    ...base,
    outcome: "version-only",
    database_url: target.display,
    server_version_num: server.versionNum,
    server_version: server.version,
  });
  return EXIT.ok;
}

function requireSchemaFile(flags: Flags): string {
  const file = flags.text("schema-file");
  if (file === undefined) throw new Refused("schema_missing", "no desired schema is given (PTAH_SCHEMA_FILE)");
  return file;
}

async function plan(flags: Flags, stop: Stop): Promise<number> {
  const { parseProtected } = await import("./postgres/protect.ts");
  const output = flags.text("output");
  if (output === undefined) throw new UsageError("schema plan needs --output FILE");
  const timing = durations(flags);
  const mode = modeOf(flags);
  const protectedTables = parseProtected(flags.list("protected-table"));
  const base = { contract_version: CONTRACT_VERSION };
  try {
    const target = await requireTarget(flags);
    const dev = await targetOf(flags, "dev-url");
    if (dev === undefined) {
      throw new Refused(
        "scratch_missing",
        "planning needs a scratch server of the target's major version (PTAH_DEV_URL); configure one",
      );
    }
    const { parseExclusion } = await import("./postgres/exclude.ts");
    const exclusion = parseExclusion(flags.list("exclude"));
    const { planSchema } = await import("./postgres/plan.ts");
    const dumpBinary = flags.text("pg-dump");
    const result = await planSchema({
      target,
      dev,
      exclusion,
      protectedTables,
      mode,
      output,
      dumpBinary,
      stop,
      schemaFile: requireSchemaFile(flags),
      ...timing,
    });
    const changes =
      result.outcome === "changes" ? { plan_digest: result.digest, plan_path: output, plan: result.plan } : {};
    await print({
      ...base,
      outcome: result.outcome,
      ...changes,
      column_order: result.columnOrder,
      server_version_num: result.serverVersionNum,
    });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ ...base, ...endingOf(stoppedOr(error, stop)) });
    return EXIT.error;
  }
}

async function apply(flags: Flags, stop: Stop): Promise<number> {
  const planFile = flags.text("plan");
  if (planFile === undefined) throw new UsageError("schema apply needs --plan FILE");
  const dryRun = flags.on("dry-run");
  if (!dryRun && !flags.on("auto-approve"))
    throw new UsageError("schema apply asks nobody: say --auto-approve, or --dry-run");
  const timing = durations(flags);
  const mode = modeOf(flags);
  let report: object = { contract_version: CONTRACT_VERSION };
  try {
    const { applyPlan, loadPlan } = await import("./postgres/apply.ts");
    const { plan: document, digest } = loadPlan(planFile);
    report = {
      ...report,
      plan_name: document.name,
      plan_digest: digest,
      statements: document.statements.map((s) => s.sql),
    };
    const target = await requireTarget(flags);
    const result = await applyPlan(document, { target, planFile, dryRun, mode, stop, ...timing });
    await print({ ...report, ...result });
    return result.outcome === "applied" || result.outcome === "dry-run" ? EXIT.ok : EXIT.error;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ ...report, ...endingOf(stoppedOr(error, stop)) });
    return EXIT.error;
  }
}
