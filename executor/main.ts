import { EXIT, HelpRequested, UnknownCommand, UsageError } from "./contract.ts";
import { mindStreams, say } from "./report.ts";

/**
 * The executor's verbs, as they stand on the command line (`schema plan --json …`).
 * @returns the exit status; reports alone go to stdout
 */
export async function main(argv: readonly string[]): Promise<number> {
  mindStreams();
  try {
    return await run(argv);
  } catch (error) {
    const hint =
      error instanceof UsageError && !(error instanceof UnknownCommand) ? `; see ptah ${commandOf(argv)} --help` : "";
    process.stderr.write(`error: ${error instanceof Error ? error.message : "unexpected failure"}${hint}\n`);
    return EXIT.error;
  }
}

async function run(argv: readonly string[]): Promise<number> {
  const [verb, ...rest] = argv;
  try {
    if (verb === "version") return await (await import("./version.ts")).version(rest);
    if (verb === "schema") return await (await import("./schema.ts")).schema(rest);
    if (verb === "migrations") return await (await import("./migrations/command.ts")).migrations(rest);
    throw new UnknownCommand(`unknown command "${verb ?? ""}"`);
  } catch (error) {
    if (!(error instanceof HelpRequested)) throw error;
    const command = commandOf(argv);
    const more = command === "schema" || command === "migrations" ? " COMMAND" : "";
    await say(`usage: ptah ${command}${more} [flags]\n${error.lines.join("\n")}\n`);
    return EXIT.ok;
  }
}

/** The words before the flags: `migrations repair`. */
function commandOf([verb = "", sub = "-"]: readonly string[]): string {
  return verb === "version" || sub.startsWith("-") ? verb : `${verb} ${sub}`;
}
