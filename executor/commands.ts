import { HelpRequested, UnknownCommand } from "./contract.ts";
import { asksForHelp, type FlagSpec, shown } from "./flags.ts";

/** One command of a group such as `migrations`. */
export interface Command<Run> {
  /** For `--help`: what it is for. */
  readonly what: string;
  readonly flags: Readonly<Record<string, FlagSpec>>;
  readonly run: Run;
}

/**
 * The command that the word behind a group's name asks for.
 * @throws UnknownCommand, which names those that are there, or HelpRequested with a line on each
 */
export function commandOf<Run>(
  group: string,
  verb: string | undefined,
  commands: Readonly<Record<string, Command<Run>>>,
): Command<Run> {
  if (asksForHelp(verb)) throw new HelpRequested(helpLines(commands));
  const command = verb !== undefined && Object.hasOwn(commands, verb) ? commands[verb] : undefined;
  if (command !== undefined) return command;
  const wrong =
    verb === undefined || verb.trim() === ""
      ? `${group} needs a command`
      : `unknown command ${shown(`${group} ${verb}`)}`;
  throw new UnknownCommand(`${wrong}; there are: ${Object.keys(commands).join(", ")}`);
}

function helpLines(commands: Readonly<Record<string, { readonly what: string }>>): readonly string[] {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  return Object.entries(commands).map(([name, { what }]) => `  ${name.padEnd(width)}  ${what}`);
}
