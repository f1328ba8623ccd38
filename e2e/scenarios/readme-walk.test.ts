import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../cluster/paths.ts";
import { shellLines } from "../cluster/shell.ts";
import { LAB_LIMITS, type Lab, openLab, removeNamespace } from "../lab/lab.ts";
import { conditionOf } from "../lab/subject.ts";
import { typed } from "../lab/terminal.ts";
import { type WalkCommand, walkOf } from "../lab/walk.ts";

/** The walks of the README, typed as they stand there, on the lab. */

const NAMESPACE = "shop";
const POSTGRES_NAMESPACE = "shop-pg";
const COMMAND_MS = 240_000;
const README = readFileSync(join(repositoryRoot, "README.md"), "utf8");

let lab: Lab;
let checkout: string;
let exports: string;

beforeAll(async () => {
  lab = await openLab();
  checkout = mkdtempSync(join(tmpdir(), "ptah-walk-"));
  mkdirSync(join(checkout, "build"));
  symlinkSync(join(repositoryRoot, "manifests"), join(checkout, "manifests"));
  exports = shellLines({ kubeconfig: lab.kubeconfig, kubectl: lab.kubectlPath });
  for (const namespace of [NAMESPACE, POSTGRES_NAMESPACE]) await removeNamespace(lab, namespace);
}, LAB_LIMITS.setUpMs);

afterAll(() => rmSync(checkout, { recursive: true, force: true }));

/** Types one command in the walk's directory, where `make` is the checkout's own. */
async function type(text: string): Promise<{ code: number; shown: string }> {
  const make = `make() { command make --no-print-directory -C '${repositoryRoot}' "$@"; }`;
  const script = `${exports}\n${make}\n${text}`;
  const env = { ...process.env, NO_COLOR: "1", SHELL: "/bin/bash" };
  const result = await typed(script, { cwd: checkout, env, limitMs: COMMAND_MS });
  // `export PTAH_DB_URL=$(…)` is printed by lab-database, to be pasted.
  for (const [line] of result.shown.matchAll(/^ *export PTAH_DB_URL=.*$/gm)) exports += `\n${line.trim()}`;
  return result;
}

/** Types every command and holds each to the exit status that the page promises. @returns all that was shown */
async function walk(commands: readonly WalkCommand[]): Promise<string> {
  let shown = "";
  for (const { text, exits } of commands) {
    if (
      /^export \w+=…$/.test(text) ||
      (text === `kubectl create namespace ${NAMESPACE}` && (await lab.get("namespace", NAMESPACE)) !== undefined)
    )
      continue;
    const result = await type(text);
    expect([text, result.code, result.shown]).toEqual([text, exits, result.shown]);
    shown += result.shown;
  }
  return shown;
}

/** The walk under a heading, by its steps' numbers. @throws Error where the page has no such step */
function walkUnder(heading: string) {
  const steps = walkOf(README, heading);
  const step = (number: number): Promise<string> => {
    const found = steps.find((one) => one.number === number);
    if (found === undefined) throw new Error(`"${heading}" has no step ${number}`);
    return walk(found.commands);
  };
  return { numbers: steps.map(({ number }) => number), step };
}

describe("the README's first schema", () => {
  const { numbers, step } = walkUnder("Your first schema");

  test("a database, a declaration, and a plan that waits", async () => {
    expect(numbers).toEqual([1, 2, 3, 4, 5]);
    await step(1);
    expect(await step(2)).toContain("kubectl ptah approve storefront");
  });

  test("is approved, proved, and its approval spent", async () => {
    const shown = await step(3);
    expect(shown).toContain("in sync");
    expect(shown).toContain('Table "public.orders"');
    const [approval] = await lab.list("ptahschemaapproval", NAMESPACE);
    expect(conditionOf(approval, "Consumed")?.status).toBe("True");
    expect(conditionOf(approval, "Stale")?.status).toBe("True");
  });

  test("a column more waits for an approval of its own", async () => {
    expect(await step(4)).toContain("note");
  });

  test("losing data is refused until policy allows it, and asks for the name", async () => {
    const shown = await step(5);
    expect(shown).toContain("PolicyBlocked");
    expect(shown).toContain("Type storefront to go on");
    const explained = await type("kubectl ptah explain PolicyBlocked");
    expect(explained.shown).toContain("allowDestructive");
  });
});

describe("the README's first migration", () => {
  const { numbers, step } = walkUnder("Your first migration");

  test("a server, two versions, and nothing has run", async () => {
    expect(numbers).toEqual([1, 2, 3, 4, 5]);
    expect(await step(1)).toContain("PTAH_DB_URL");
    expect(await step(2)).toContain("kubectl ptah approve");
  });

  test("one approved run applies both", async () => {
    expect(await step(3)).toContain("applied");
  });

  test("a third one fails half-way and is held", async () => {
    const shown = await step(4);
    expect(shown).toContain("Partial");
    expect(shown).toContain("1452");
  });

  test("is completed by hand, and a reading settles the run", async () => {
    await step(5);
    const ledger = await lab.get("ptahmigration", "ledger", NAMESPACE);
    expect(ledger?.status.unresolvedRun).toBeUndefined();
    expect(conditionOf(ledger, "Ready")?.status).toBe("True");
  });
});

describe("the same on PostgreSQL", () => {
  const { numbers, step } = walkUnder("The same on PostgreSQL");

  test("two versions wait, and one approved run applies them", async () => {
    expect(numbers).toEqual([1, 2, 3, 4, 5]);
    await step(1);
    await step(2);
    expect(await step(3)).toContain("applied");
  });

  test("the third one fails with nothing of it kept, and runs again from its first statement", async () => {
    const shown = await step(4);
    expect(shown).toContain("Failed");
    expect(shown).toContain("23503");
    await step(5);
    const ledger = await lab.get("ptahmigration", "ledger", POSTGRES_NAMESPACE);
    expect(ledger?.status.unresolvedRun).toBeUndefined();
    expect(conditionOf(ledger, "Ready")?.status).toBe("True");
  });
});
