/** `kubectl ptah`: the path of a database change from the command line, under the user's own rights. */
import { Command, CommanderError, Option } from "commander";
import { acknowledge } from "./acknowledge.ts";
import { approve } from "./approve.ts";
import type { DecisionFlags } from "./ask.ts";
import { examplesText } from "./examples.ts";
import { explain } from "./explain.ts";
import { EXIT, type ExitCode, failureOf, usage } from "./failure.ts";
import { FAMILIES, type Family, MIGRATION, type Resource, SCHEMA, type Target } from "./families.ts";
import { type Io, processIo } from "./io.ts";
import { printJournal } from "./journal.ts";
import { limits } from "./limits.ts";
import { MIGRATION_COLUMNS, printMigration } from "./migrationview.ts";
import { type PlanOutput, printPlan } from "./plan.ts";
import { refresh } from "./refresh.ts";
import { type OwnColumn, printList } from "./resourceview.ts";
import { printSchema } from "./schemaview.ts";
import { durationFlag, openSession, type Session, type SharedFlags } from "./session.ts";
import { settle } from "./settle.ts";
import { namedBy, resolve } from "./target.ts";
import { versionText } from "./version.ts";
import { patiently } from "./wait.ts";
import { waitFor } from "./waitfor.ts";

interface Flags extends SharedFlags {
  readonly output: PlanOutput;
  readonly allNamespaces?: boolean;
  readonly current?: boolean;
  readonly applied?: boolean;
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly for?: string;
  readonly waitTimeout?: string;
}

type Handler = (name: string | undefined, flags: Flags) => Promise<ExitCode>;

/**
 * Runs one command.
 * @param argv the arguments after the executable's name
 * @returns 0 printed or done, 1 could not read, verify or do it, 2 wrong usage, 3 nothing stored to print
 */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<number> {
  const { code, mayStop } = await run(argv, io);
  const why = await io.written();
  if (why === undefined || (why === "EPIPE" && mayStop)) return code;
  io.stderr(
    `kubectl-ptah: the output could not be written to standard output (${why}); what was done stands, and can be read again\n`,
  );
  return EXIT.failed;
}

/** Commands that only print what the plugin itself knows: whoever stops reading it (`| head`) misses nothing. */
const OWN_WORDS: ReadonlySet<string> = new Set(["explain", "version"]);

interface Ended {
  readonly code: ExitCode;
  /** Whether the reader of its output may have gone before the end. */
  readonly mayStop: boolean;
}

async function run(argv: readonly string[], io: Io): Promise<Ended> {
  let ended: Ended = { code: EXIT.printed, mayStop: true };
  const program = commands(io, async (act, name) => {
    ended = { code: await act(), mayStop: OWN_WORDS.has(name) };
  });
  try {
    if (argv.length === 0) {
      io.stderr(`${program.helpInformation()}${EXIT_CODES}\n`);
      return { code: EXIT.usage, mayStop: true };
    }
    await program.parseAsync(argv, { from: "user" });
    return ended;
  } catch (error) {
    if (error instanceof CommanderError) {
      return { code: error.exitCode === 0 ? EXIT.printed : EXIT.usage, mayStop: true };
    }
    const failure = failureOf(error);
    io.stderr(`kubectl-ptah: ${failure.message}\n`);
    return { code: failure.exit, mayStop: false };
  }
}

const EXIT_CODES = `
Exit codes:
  0  printed or done
  1  could not read, verify or do it; wait: somebody has to act, or the time is over
  2  wrong usage
  3  nothing stored to print

A name is schema/NAME or migration/NAME; a bare NAME where only one kind has it.`;

function commands(io: Io, ends: (act: () => Promise<ExitCode>, name: string) => Promise<void>): Command {
  const program = shared(new Command("kubectl ptah"))
    .usage("COMMAND [flags]")
    .version(versionText("text").trimEnd(), "--version", "version of this plugin")
    .description("Read, approve and follow database changes. Uses your own rights; reads no Secret and no database.")
    .helpCommand("help [command]", "help for a command")
    .addHelpText("after", EXIT_CODES)
    .showHelpAfterError("see kubectl ptah --help")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout(text),
      writeErr: (text) => io.stderr(text.replace(/^error: /, "kubectl-ptah: ")),
    });
  const add = (signature: string, description: string, handler: Handler): Command => {
    return program
      .command(signature)
      .description(description)
      .showHelpAfterError(`see kubectl ptah ${signature.split(" ")[0]} --help`)
      .action((name: string | undefined, _: Flags, command: Command) =>
        ends(() => handler(name, command.optsWithGlobals<Flags>()), command.name()),
      );
  };
  viewCommands(io, add);
  clusterCommands(io, add);
  output(
    add(
      "explain [word]",
      "what a phase, condition, reason, code or Event means and what to do",
      async (word, flags) => {
        return explain(io, word, textOrJson(flags));
      },
    ),
  );
  output(program.command("version").description("version of this plugin")).action((flags: Flags) =>
    ends(async () => {
      io.stdout(versionText(flags.output));
      return EXIT.printed;
    }, "version"),
  );
  for (const command of program.commands) command.addHelpText("after", examplesText(command.name()));
  return program;
}

type Add = (signature: string, description: string, handler: Handler) => Command;

type Act<T extends Resource> = (session: Session, target: Target<T>, flags: Flags) => Promise<ExitCode>;

/** A command on one resource. @param patient a silent API server is waited for */
function on<T extends Resource>(
  io: Io,
  families: readonly [Family<T>, ...Family<T>[]],
  act: Act<T>,
  patient = false,
): Handler {
  return async (argument, flags) => {
    const named = namedBy(argument ?? "", families);
    const session = await openSession(io, flags);
    const find = () => resolve(session, named);
    return act(session, patient ? await patiently(session, named.name, waitMsOf(flags), find) : await find(), flags);
  };
}

/** A command on one resource of a kind, or without a name on all of them. */
function oneOrAll<T extends Resource>(
  io: Io,
  family: Family<T>,
  one: Act<T>,
  own: readonly OwnColumn<T>[] = [],
): Handler {
  return async (argument, flags) => {
    const all = flags.allNamespaces === true;
    if (argument === undefined)
      return printList(await openSession(io, flags), family, { all, output: textOrJson(flags), own });
    if (all) throw usage(`-A lists the ${family.words[1]} of every namespace; leave the name out`);
    return on(io, [family], one)(argument, flags);
  };
}

function viewCommands(io: Io, add: Add): void {
  output(
    shared(
      add(
        "schema [name]",
        "where a schema is and what to do next; without a name, all of them",
        oneOrAll(io, SCHEMA, (session, target, flags) => printSchema(session, target, textOrJson(flags))),
      ),
    ),
  ).option("-A, --all-namespaces", "schemas of every namespace");
  output(
    shared(
      add(
        "migration [name]",
        "where a migration is, what is pending, how its last run ended and what to do next; without a name, all of them",
        oneOrAll(
          io,
          MIGRATION,
          (session, target, flags) => printMigration(session, target, textOrJson(flags)),
          MIGRATION_COLUMNS,
        ),
      ),
    ),
  ).option("-A, --all-namespaces", "migrations of every namespace");
}

function clusterCommands(io: Io, add: Add): void {
  shared(
    add(
      "plan <name>",
      "the plan that stands: a schema's statements with class and reason, a migration's versions and checksums",
      on(io, FAMILIES, plan),
    ),
  )
    .addOption(
      new Option("-o, --output <format>", "how it is printed").choices(["text", "sql", "json"]).default("text"),
    )
    .addOption(new Option("--current", "the plan that stands (default)").conflicts("applied"))
    .option(
      "--applied",
      "the plan of the last Apply, where that was proved (of a migration: where it was applied whole)",
    );
  waiting(
    shared(
      add(
        "approve <name>",
        "show the plan that waits, ask, and approve exactly that plan",
        on(io, FAMILIES, approveCommand),
      ),
    ),
  )
    .option("-y, --yes", "do not ask, not even before a plan that may lose data")
    .option("--wait", "wait until a fresh read has proved it");
  waiting(
    shared(add("wait <name>", "wait until in sync, or somebody has to act", on(io, FAMILIES, waitCommand, true))),
  ).option("--for <phase>", "wait for this phase instead, for example AwaitingApproval, Blocked or InSync");
  waiting(shared(add("refresh <name>", "ask for a read of the database now", on(io, FAMILIES, refreshCommand)))).option(
    "--wait",
    "wait until that read has ended",
  );
  output(
    shared(
      add(
        "journal <name>",
        "what happened, as far back as the journal reaches",
        on(io, FAMILIES, (session, target, flags) => printJournal(session, target, textOrJson(flags))),
      ),
    ),
  );
  waiting(
    shared(
      add(
        "settle <name>",
        "end the record of an Apply that no reading can settle, on your word",
        on(io, FAMILIES, settleCommand),
      ),
    ),
  )
    .option("-y, --yes", "do not ask")
    .option("--wait", "wait until the record is ended");
  waiting(
    shared(
      add(
        "acknowledge <name>",
        "show the migration's run that nobody can account for, what to check, ask, and end the hold of exactly that run",
        on(io, [MIGRATION], (session, target, flags) => acknowledge(session, target, decisionOf(flags))),
      ),
    ),
  )
    .option("-y, --yes", "do not ask")
    .option("--wait", "wait until the hold is over");
}

const waitMsOf = (flags: Flags): number => durationFlag("--wait-timeout", flags.waitTimeout, limits.waitMs);

/** Flags of a command that asks and may wait. */
const decisionOf = (flags: Flags): DecisionFlags => ({
  yes: flags.yes === true,
  wait: flags.wait === true,
  waitMs: waitMsOf(flags),
});

const plan = <T extends Resource>(session: Session, target: Target<T>, flags: Flags): Promise<ExitCode> =>
  printPlan(session, target, flags.applied === true ? "applied" : "current", flags.output);

const approveCommand = (session: Session, target: Target, flags: Flags): Promise<ExitCode> =>
  approve(session, target, decisionOf(flags));

const waitCommand = (session: Session, target: Target, flags: Flags): Promise<ExitCode> =>
  waitFor(session, target, flags.for, waitMsOf(flags));

const refreshCommand = (session: Session, target: Target, flags: Flags): Promise<ExitCode> =>
  refresh(session, target, flags.wait === true, waitMsOf(flags));

const settleCommand = (session: Session, target: Target, flags: Flags): Promise<ExitCode> =>
  settle(session, target, decisionOf(flags));

function shared(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "namespace; default: the context's own")
    .option("--kubeconfig <file>", "kubeconfig to use; default: KUBECONFIG, then ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig")
    .option("--as <user>", "act as another user, where you may impersonate; default: the kubeconfig's as")
    .option("--as-group <group>", "with --as: as a member of this group")
    .option("--timeout <duration>", "longest time one call to the API server may take (default 30s)");
}

function waiting(command: Command): Command {
  return command.option("--wait-timeout <duration>", "longest time to wait as a whole (default 15m)");
}

function output(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "how it is printed").choices(["text", "json"]).default("text"),
  );
}

function textOrJson(flags: Flags): "text" | "json" {
  return flags.output === "json" ? "json" : "text";
}
