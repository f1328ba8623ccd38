import { dirname } from "node:path";
import { runCommand } from "../e2e/cluster/command.ts";
import { repositoryRoot } from "../e2e/cluster/paths.ts";
import type { Lab } from "../e2e/lab/lab.ts";
import { conditionOf } from "../e2e/lab/subject.ts";

/** One thing that has to hold on the live objects before the story may go on. */
export interface Check {
  /** A sentence that is true when the check holds. */
  readonly claim: string;
  readonly holds: () => Promise<boolean>;
}

export interface Step {
  readonly note: string;
  /** What a person would type, in a POSIX shell; shown and run as it stands. Absent for a step that only waits. */
  readonly run?: string;
  /** Text the command must print, and text it must not. */
  readonly prints?: readonly string[];
  readonly neverPrints?: readonly string[];
  readonly checks?: readonly Check[];
  /** How long the checks may take to hold. */
  readonly withinMs?: number;
}

export interface Verdict {
  readonly step: number;
  readonly claim: string;
  readonly held: boolean;
}

const COMMAND_MS = 200_000;
const POLL_MS = 500;
const CHECK_MS = 10_000;

/** Where a condition of an object has to stand, read from the live object and never from printed text. */
export function condition(
  lab: Lab,
  kind: string,
  name: string,
  namespace: string,
  type: string,
  reason: string,
): Check {
  return {
    claim: `${kind}/${name}: ${type}=True (${reason})`,
    holds: async () => {
      const c = conditionOf(await lab.get(kind, name, namespace), type);
      return c?.status === "True" && c.reason === reason;
    },
  };
}

/** The environment in which the story's commands run: this cluster's kubeconfig, its kubectl, our plugin. */
export function storyEnvironment(lab: Lab, namespace: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    KUBECONFIG: lab.kubeconfig,
    NAMESPACE: namespace,
    NO_COLOR: "1",
    PATH: `${dirname(lab.kubectlPath)}:${repositoryRoot}/build:${process.env["PATH"] ?? ""}`,
  };
}

/**
 * Plays one step: prints the note and the command, runs it, then waits until every check holds.
 * @returns a verdict per claim; the first that does not hold ends the step.
 */
export async function play(step: Step, index: number, env: NodeJS.ProcessEnv): Promise<Verdict[]> {
  say(`\n# ${index}. ${step.note}`);
  const verdicts: Verdict[] = [];
  if (step.run !== undefined) {
    say(`$ ${step.run.trim().split("\n").join("\n  ")}`);
    const result = await runCommand("sh", ["-c", step.run], { env, timeoutMs: COMMAND_MS, cwd: repositoryRoot });
    say((result.stdout + result.stderr).trimEnd());
    verdicts.push({ step: index, claim: "the command exits 0", held: result.code === 0 });
    const printed = result.stdout + result.stderr;
    for (const text of step.prints ?? []) {
      verdicts.push({ step: index, claim: `prints ${JSON.stringify(text)}`, held: printed.includes(text) });
    }
    for (const text of step.neverPrints ?? []) {
      verdicts.push({ step: index, claim: `never prints ${JSON.stringify(text)}`, held: !printed.includes(text) });
    }
  }
  for (const check of step.checks ?? []) {
    if (verdicts.some((v) => !v.held)) break;
    verdicts.push({ step: index, claim: check.claim, held: await becomesTrue(check, step.withinMs ?? CHECK_MS) });
  }
  for (const verdict of verdicts) say(`  ${verdict.held ? "holds" : "DOES NOT HOLD"}: ${verdict.claim}`);
  return verdicts;
}

async function becomesTrue(check: Check, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    if (await check.holds()) return true;
    if (performance.now() >= deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function say(text: string): void {
  if (text !== "") process.stdout.write(`${text}\n`);
}
