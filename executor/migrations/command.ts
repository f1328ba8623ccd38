/** `ptah migrations status|up|hash|set|baseline|repair`: flags, the one report on stdout, exit codes. */
import { listenForStop, type Stop } from "../cancel.ts";
import { type Command, commandOf } from "../commands.ts";
import { CONTRACT_VERSION, EXIT, Refused, UsageError } from "../contract.ts";
import { type FlagSpec, type Flags, parseDurationMs, readFlags } from "../flags.ts";
import { DEFAULT_LOCK_TIMEOUT_MS } from "../limits.ts";
import { endingOf, print } from "../report.ts";
import type { MigrationDirectory } from "./migration.ts";
import { type Where, withDatabase } from "./open.ts";
import { refusedBy } from "./refuse.ts";
import type { RunMode } from "./run.ts";

const DIRECTORY: Readonly<Record<string, FlagSpec>> = {
  "migrations-dir": { kind: "text", what: "the directory of the migrations" },
  "dir-format": { kind: "text", what: "auto or ptah" },
  "verify-sum": { kind: "switch", what: "refuse a directory without ptah.sum" },
  json: { kind: "switch", env: false, what: "accepted; the report is always one JSON value" },
};
const DATABASE: Readonly<Record<string, FlagSpec>> = {
  ...DIRECTORY,
  "db-url": { kind: "text", what: "URL of the database" },
  "connect-timeout": { kind: "text", what: "longest time to connect, such as 10s" },
  "migration-lock-timeout": { kind: "text", what: "longest time to wait for the migration lock, such as 30s" },
  "migrations-table": { kind: "text", what: "name of the revision table (schema_migrations)" },
  "migrations-schema": { kind: "text", what: "schema of the revision table" },
  "revision-format": { kind: "text", what: "ptah, the only one" },
};
const DRY_RUN: FlagSpec = { kind: "switch", what: "say what would be done, and change nothing" };
const CHANGE: Readonly<Record<string, FlagSpec>> = {
  ...DATABASE,
  "dry-run": DRY_RUN,
  version: { kind: "text", env: false, what: "the version that is meant" },
};

type Run = (flags: Flags, stop: Stop) => Promise<number>;

const COMMANDS: Readonly<Record<string, Command<Run>>> = {
  status: {
    what: "what the database has applied and what is pending",
    flags: { ...DATABASE, "exit-code": { kind: "switch", what: "end with 1 where something is pending" } },
    run: statusCommand,
  },
  up: {
    what: "run what is pending",
    flags: {
      ...DATABASE,
      "dry-run": DRY_RUN,
      "tx-mode": { kind: "text", what: "file, all or none (file)" },
      "exec-order": { kind: "text", what: "linear, the only one" },
      "expect-sequence": { kind: "text", what: "file of the versions and checksums that may run, and no other" },
    },
    run: upCommand,
  },
  hash: { what: "write ptah.sum, the checksums of the directory", flags: DIRECTORY, run: hashCommand },
  set: {
    what: "record a version as the current one; nothing is run",
    flags: CHANGE,
    run: (flags, stop) => changeCommand("set", flags, stop),
  },
  baseline: {
    what: "record that a database already holds a version; nothing is run",
    flags: {
      ...CHANGE,
      force: { kind: "switch", what: "record it beside a history that is there" },
      "shadow-db": { kind: "text", what: "not supported" },
    },
    run: (flags, stop) => changeCommand("baseline", flags, stop),
  },
  repair: {
    what: "clear the row of a version that failed or broke off, by your word or by running its rest",
    flags: {
      ...CHANGE,
      force: {
        kind: "switch",
        what: "your word: alone, that all its statements are in the database (it is recorded, nothing is run)",
      },
      "resume-from": {
        kind: "text",
        env: false,
        what: "run the version's statements from this one on, now, on the database of the URL",
      },
    },
    run: (flags, stop) => changeCommand("repair", flags, stop),
  },
};

/** @returns the exit status */
export async function migrations(argv: readonly string[]): Promise<number> {
  const [verb, ...rest] = argv;
  const command = commandOf("migrations", verb, COMMANDS);
  const flags = readFlags(rest, process.env, command.flags);
  fixedFlag(flags, "dir-format", ["auto", "ptah"]);
  fixedFlag(flags, "revision-format", ["ptah"]);
  fixedFlag(flags, "exec-order", ["linear"]);
  const stop = listenForStop();
  try {
    return stop.exitCode(await command.run(flags, stop));
  } finally {
    stop.dispose();
  }
}

/** A flag of the reference of which only some values are carried out here. */
function fixedFlag(flags: Flags, name: string, allowed: readonly string[]): void {
  const value = flags.text(name);
  if (value !== undefined && !allowed.includes(value)) {
    throw new UsageError(`--${name} ${value} is not supported; use ${allowed.join(" or ")}`);
  }
}

async function statusCommand(flags: Flags, stop: Stop): Promise<number> {
  const where: Where = {};
  try {
    const directory = await directoryOf(flags);
    return await withDatabase(flags, stop, where, async (database) => {
      const { status } = await import("./status.ts");
      const document = await status(database, directory);
      await print(document);
      return flags.on("exit-code") && document.has_pending_changes ? EXIT.negative : EXIT.ok;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ contract_version: CONTRACT_VERSION, ...where, ...endingOf(error) });
    return EXIT.error;
  }
}

async function upCommand(flags: Flags, stop: Stop): Promise<number> {
  const mode = modeOf(flags);
  const base = { contract_version: CONTRACT_VERSION, direction: "up" };
  const where: Where = {};
  try {
    const { readSequence } = await import("./sequence.ts");
    const { up } = await import("./run.ts");
    const file = flags.text("expect-sequence");
    const expected = file === undefined ? undefined : readSequence(file);
    const directory = await directoryOf(flags);
    return await withDatabase(flags, stop, where, async (database) => {
      if (mode === "all" && database.engine !== "postgresql") {
        throw new Refused(
          "transaction_mode_unsupported",
          "mode all is not there for MySQL and MariaDB; use file or none",
        );
      }
      const result = await up({
        database,
        directory,
        mode,
        expected,
        dryRun: flags.on("dry-run"),
        lockTimeoutMs: lockTimeoutMs(flags),
        stop,
      });
      await print({ ...base, ...where, ...result });
      return ["up-to-date", "applied", "dry-run"].includes(result.outcome) ? EXIT.ok : EXIT.error;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Thrown means that nothing was changed; the reference knows no other word for it than `failed`.
    const { outcome: _, failure: cause, ...ending } = endingOf(error);
    await print({
      ...base,
      ...where,
      outcome: "failed",
      planned: [],
      applied: [],
      ...ending,
      ...(cause === undefined ? {} : { cause }),
    });
    return EXIT.error;
  }
}

async function hashCommand(flags: Flags): Promise<number> {
  const base = { contract_version: CONTRACT_VERSION };
  try {
    const { writeSum } = await import("./hash.ts");
    await print({ ...base, outcome: "written", ...(await writeSum(requireDirectory(flags))) });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ ...base, ...endingOf(error) });
    return EXIT.error;
  }
}

async function changeCommand(verb: "set" | "baseline" | "repair", flags: Flags, stop: Stop): Promise<number> {
  const base = { contract_version: CONTRACT_VERSION, command: verb };
  const where: Where = {};
  const version = versionOf(flags, "version", verb === "set" ? 0 : 1);
  if (version === undefined) throw new UsageError(`migrations ${verb} needs --version`);
  const resumeFrom = verb === "repair" ? versionOf(flags, "resume-from", 1) : undefined;
  try {
    if (verb === "baseline" && flags.text("shadow-db") !== undefined) {
      throw new Refused(
        "shadow_db_unsupported",
        "a baseline verified by a shadow database is not supported; leave --shadow-db out",
      );
    }
    const directory = await directoryOf(flags);
    return await withDatabase(flags, stop, where, async (database) => {
      const { change } = await import("./maintain.ts");
      const result = await change({
        verb,
        database,
        directory,
        version,
        resumeFrom,
        force: verb !== "set" && flags.on("force"),
        dryRun: flags.on("dry-run"),
        lockTimeoutMs: lockTimeoutMs(flags),
        stop,
      });
      await print({ ...base, ...where, ...result });
      return ["changed", "unchanged", "dry-run"].includes(result.outcome) ? EXIT.ok : EXIT.error;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ ...base, ...where, ...endingOf(error) });
    return EXIT.error;
  }
}

function versionOf(flags: Flags, name: string, least: number): number | undefined {
  const text = flags.text(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (value < least) throw new UsageError(`--${name} must be a number of at least ${least}`);
  return value;
}

function modeOf(flags: Flags): RunMode {
  const mode = flags.text("tx-mode") ?? "file";
  if (mode === "file" || mode === "all" || mode === "none") return mode;
  throw new UsageError("--tx-mode must be file, all or none");
}

const lockTimeoutMs = (flags: Flags): number => {
  const text = flags.text("migration-lock-timeout");
  return text === undefined ? DEFAULT_LOCK_TIMEOUT_MS : parseDurationMs(text, "migration-lock-timeout");
};

function requireDirectory(flags: Flags): string {
  const path = flags.text("migrations-dir");
  if (path === undefined)
    throw new Refused("migrations_missing", "no migration directory is given (PTAH_MIGRATIONS_DIR)");
  if (path.includes("://")) throw new UsageError("--migrations-dir must be a directory of this machine");
  return path;
}

/** @throws Refused with the directory's own code */
async function directoryOf(flags: Flags): Promise<MigrationDirectory> {
  const { readDirectory } = await import("./directory.ts");
  const result = readDirectory(requireDirectory(flags), { requireSum: flags.on("verify-sum") });
  if ("refusal" in result) throw refusedBy(result.refusal);
  return result.directory;
}
