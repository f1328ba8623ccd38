import { expect, test } from "bun:test";
import { run, waitingWorld } from "./testing.ts";

const EXAMPLE = /^ {2}kubectl ptah (.+)$/gm;

const helpOf = async (...verb: readonly string[]) => (await run(waitingWorld(), [...verb, "--help"])).stdout;

/** Every command that the help lists, with its own help and the examples in it, each as its words. */
const commands = async () => {
  const [, listed = ""] = (await helpOf()).split("\nCommands:\n");
  const verbs = [...listed.matchAll(/^ {2}([a-z]+) /gm)].map(([, verb = ""]) => verb).filter((verb) => verb !== "help");
  return Promise.all(
    verbs.map(async (verb) => {
      const help = await helpOf(verb);
      return { verb, help, examples: [...help.matchAll(EXAMPLE)].map(([, line = ""]) => line.split(" ")) };
    }),
  );
};

test("the help of every command ends with one or two examples of that command", async () => {
  const all = await commands();
  expect(all.length).toBeGreaterThan(10);
  for (const { verb, help, examples } of all) {
    expect(help).toMatch(/\n\nExamples?:\n(?: {2}kubectl ptah .+\n){1,2}$/);
    expect(examples.map(([first]) => first)).toEqual(examples.map(() => verb));
  }
});

test("every flag of an example is one that the help of its command lists", async () => {
  const unknown = (await commands()).flatMap(({ help, examples }) => {
    const known = new Set([...help.matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)/gm)].flatMap(([, ...names]) => names));
    return examples.flatMap((words) => words.filter((word) => word.startsWith("-") && !known.has(word)));
  });
  expect(unknown).toEqual([]);
});

test("no example is wrong usage", async () => {
  const wrong: string[] = [];
  for (const argv of (await commands()).flatMap(({ examples }) => examples)) {
    const { code, stderr } = await run(waitingWorld(), argv, { answers: [] });
    if (code === 2) wrong.push(`${argv.join(" ")}: ${stderr}`);
  }
  expect(wrong).toEqual([]);
});
