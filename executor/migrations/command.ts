/** `ptah migrations status|up|hash|set|baseline|repair`: flags, the one report on stdout, exit codes. */
import { listenForStop, type Stop } from "../cancel.ts";
import { CONTRACT_VERSION, EXIT, Refused, UsageError } from "../contract.ts";
import { type FlagSpec, type Flags, parseDurationMs, readFlags } from "../flags.ts";
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_LOCK_TIMEOUT_MS } from "../limits.ts";
import { endingOf, print } from "../report.ts";
import type { MigrationDatabase, OpenOptions, TableName } from "./database.ts";
import type { MigrationDirectory } from "./migration.ts";
import { refusedBy } from "./refuse.ts";
import type { RunMode } from "./run.ts";

const DIRECTORY: Readonly<Record<string, FlagSpec>> = {
  "migrations-dir": { kind: "text" },
  "dir-format": { kind: "text" },
  "verify-sum": { kind: "switch" },
  json: { kind: "switch", env: false },
};
const DATABASE: Readonly<Record<string, FlagSpec>> = {
  ...DIRECTORY,
  "db-url": { kind: "text" },
  "connect-timeout": { kind: "text" },
  "migration-lock-timeout": { kind: "text" },
  "migrations-table": { kind: "text" },
  "migrations-schema": { kind: "text" },
  "revision-format": { kind: "text" },
};
const CHANGE: Readonly<Record<string, FlagSpec>> = {
  ...DATABASE,
  "dry-run": { kind: "switch" },
  version: { kind: "text", env: false },
};

type Command = (flags: Flags, stop: Stop) => Promise<number>;

const COMMANDS: Readonly<
  Record<string, { readonly flags: Readonly<Record<string, FlagSpec>>; readonly run: Command }>
> = {
  status: { flags: { ...DATABASE, "exit-code": { kind: "switch" } }, run: statusCommand },
  up: {
    flags: {
      ...DATABASE,
      "dry-run": { kind: "switch" },
      "tx-mode": { kind: "text" },
      "exec-order": { kind: "text" },
      "expect-sequence": { kind: "text" },
    },
    run: upCommand,
  },
  hash: { flags: DIRECTORY, run: hashCommand },
  set: { flags: CHANGE, run: (flags, stop) => changeCommand("set", flags, stop) },
  baseline: {
    flags: { ...CHANGE, force: { kind: "switch" }, "shadow-db": { kind: "text" } },
    run: (flags, stop) => changeCommand("baseline", flags, stop),
  },
  repair: {
    flags: { ...CHANGE, force: { kind: "switch" }, "resume-from": { kind: "text", env: false } },
    run: (flags, stop) => changeCommand("repair", flags, stop),
  },
};

/** @returns the exit status */
export async function migrations(argv: readonly string[]): Promise<number> {
  const [verb = "", ...rest] = argv;
  const command = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb] : undefined;
  if (command === undefined) {
    throw new UsageError(`unknown command "migrations ${verb}"; there are: ${Object.keys(COMMANDS).join(", ")}`);
  }
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
  try {
    const directory = await directoryOf(flags);
    return await withDatabase(flags, stop, async (database) => {
      const { status } = await import("./status.ts");
      const document = await status(database, directory);
      await print(document);
      return flags.on("exit-code") && document.has_pending_changes ? EXIT.negative : EXIT.ok;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ contract_version: CONTRACT_VERSION, ...endingOf(error) });
    return EXIT.error;
  }
}

async function upCommand(flags: Flags, stop: Stop): Promise<number> {
  const mode = modeOf(flags);
  const base = { contract_version: CONTRACT_VERSION, direction: "up" };
  try {
    const { readSequence } = await import("./sequence.ts");
    const { up } = await import("./run.ts");
    const file = flags.text("expect-sequence");
    const expected = file === undefined ? undefined : readSequence(file);
    const directory = await directoryOf(flags);
    return await withDatabase(flags, stop, async (database) => {
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
      await print({ ...base, ...result });
      return ["up-to-date", "applied", "dry-run"].includes(result.outcome) ? EXIT.ok : EXIT.error;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Thrown means that nothing was changed; the reference knows no other word for it than `failed`.
    const { outcome: _, failure: cause, ...ending } = endingOf(error);
    await print({
      ...base,
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
    return await withDatabase(flags, stop, async (database) => {
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
      await print({ ...base, ...result });
      return ["changed", "unchanged", "dry-run"].includes(result.outcome) ? EXIT.ok : EXIT.error;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    await print({ ...base, ...endingOf(error) });
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

const NAME = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

function tableName(flags: Flags): TableName {
  const table = flags.text("migrations-table") ?? "schema_migrations";
  const schema = flags.text("migrations-schema");
  if (!NAME.test(table)) throw new UsageError("--migrations-table must be a plain name");
  if (schema !== undefined && !NAME.test(schema)) throw new UsageError("--migrations-schema must be a plain name");
  return { schema, table };
}

/** Opens the session that the URL's scheme asks for, and closes it. */
async function withDatabase(
  flags: Flags,
  stop: Stop,
  use: (database: MigrationDatabase) => Promise<number>,
): Promise<number> {
  const url = flags.text("db-url");
  if (url === undefined) throw new Refused("missing_target", "no database URL is given (PTAH_DB_URL)");
  const timeout = flags.text("connect-timeout");
  const options = {
    connectTimeoutMs: timeout === undefined ? DEFAULT_CONNECT_TIMEOUT_MS : parseDurationMs(timeout, "connect-timeout"),
    name: tableName(flags),
    stop,
  };
  stop.check();
  const database = await openDatabase(url, options);
  try {
    return await use(database);
  } finally {
    await database.end();
  }
}

async function openDatabase(url: string, options: OpenOptions): Promise<MigrationDatabase> {
  const { isMysqlUrl, parseMysqlTarget } = await import("../mysql/url.ts");
  if (isMysqlUrl(url)) {
    const { openMysql } = await import("./mysql.ts");
    return openMysql(parseMysqlTarget(url, "the database URL"), options);
  }
  const { parseTarget } = await import("../postgres/url.ts");
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(parseTarget(url, "the database URL"), options);
}
