import { EXIT, HelpRequested, UsageError } from "./contract.ts";

/**
 * The executor's verbs, as they stand on the command line (`schema plan --json …`).
 * @returns the exit status; reports alone go to stdout
 */
export async function main(argv: readonly string[]): Promise<number> {
  const [verb, ...rest] = argv;
  try {
    if (verb === "version") return (await import("./version.ts")).version(rest);
    if (verb === "schema") return await (await import("./schema.ts")).schema(rest);
    if (verb === "migrations") return await (await import("./migrations/command.ts")).migrations(rest);
    throw new UsageError(`unknown command "${verb ?? ""}"`);
  } catch (error) {
    if (error instanceof HelpRequested) {
      const words = argv.slice(0, verb === "version" ? 1 : 2).filter((word) => !word.startsWith("-"));
      process.stdout.write(
        `usage: ptah ${words.join(" ")} ${words.length === 1 && verb !== "version" ? "COMMAND " : ""}[flags]\n${error.lines.join("\n")}\n`,
      );
      return EXIT.ok;
    }
    process.stderr.write(`error: ${error instanceof Error ? error.message : "unexpected failure"}\n`);
    return EXIT.error;
  }
}
