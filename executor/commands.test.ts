import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { commandOf } from "./commands.ts";
import { type HelpRequested, UnknownCommand } from "./contract.ts";

const MAIN = join(import.meta.dir, "..", "main.ts");
const COMMANDS = {
  look: { what: "looks", flags: {}, run: 1 },
  change: { what: "changes", flags: {}, run: 2 },
};

function thrownBy(verb: string | undefined): unknown {
  try {
    return commandOf("group", verb, COMMANDS);
  } catch (error) {
    return error;
  }
}

test("a command is found by its name alone", () => {
  expect(commandOf("group", "change", COMMANDS).run).toBe(2);
  for (const [verb, sentence] of [
    [undefined, "group needs a command; there are: look, change"],
    ["", "group needs a command; there are: look, change"],
    [" ", "group needs a command; there are: look, change"],
    ["chang", 'unknown command "group chang"; there are: look, change'],
    ["toString", 'unknown command "group toString"; there are: look, change'],
    ["a:b@c", "unknown command (not repeated, it may hold a secret); there are: look, change"],
  ] as const) {
    const error = thrownBy(verb);
    expect(error).toBeInstanceOf(UnknownCommand);
    expect((error as Error).message).toBe(sentence);
  }
});

test("whoever asks for help is told a word on every command", () => {
  for (const verb of ["--help", "-h"])
    expect((thrownBy(verb) as HelpRequested).lines).toEqual(["  look    looks", "  change  changes"]);
});

test.each(["schema", "migrations"])("ptah %s says what each of its commands is for, and which there are", (group) => {
  const ptah = (...argv: string[]) => spawnSync(process.execPath, [MAIN, group, ...argv], { encoding: "utf8" });
  const { stdout } = ptah("--help");
  const [usage, ...lines] = stdout.trimEnd().split("\n");
  expect(usage).toBe(`usage: ptah ${group} COMMAND [flags]`);
  for (const line of lines) expect(line).toMatch(/^ {2}[a-z]+ {2,}\w.{10,}$/);
  const names = lines.map((line) => line.trim().split(" ")[0]).join(", ");
  expect(ptah()).toMatchObject({ status: 2, stderr: `error: ${group} needs a command; there are: ${names}\n` });
});
