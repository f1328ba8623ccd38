/**
 * `make explore`: every scenario to its fixpoint and every canary to its catch, in two processes; then states, coverage and
 * canaries. Ends with `N states, V violations`; exit 1 on a violation, a scenario that was cut, a canary that lived,
 * or a rule or a pair of Move and fault that nothing hit. SCENARIO=name runs one; DEEP=1 goes further.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CANARIES } from "./all-canaries.ts";
import { Coverage } from "./coverage.ts";
import type { Run } from "./explore.ts";
import { LIMITS, limitsInForce } from "./limits.ts";
import { partNames } from "./parts.ts";
import { coverageProblems, printCoverage, printRun, say } from "./report.ts";

type Timed = Run & { readonly cpuSeconds: number };

const began = performance.now();
const only = process.env["SCENARIO"];
const limits = limitsInForce(process.env);
const { scenarios, canaries } = partNames();
const wanted = only === undefined ? [...scenarios, ...canaries] : [only];
const runs = await exploreAll(wanted);
process.exit(judge(runs));

/** Hands the parts to the workers, the next to whoever is free. */
async function exploreAll(names: readonly string[]): Promise<Timed[]> {
  const queue = [...names];
  const done: Timed[] = [];
  const workers = Array.from({ length: Math.min(LIMITS.workers, names.length) }, () => work(queue, done));
  await Promise.all(workers);
  return names.flatMap((name) => done.filter((run) => run.name === name));
}

/** One exploring process after another until the queue is empty: what a large part leaves behind must not cut the next. */
async function work(queue: string[], done: Timed[]): Promise<void> {
  while (queue.length > 0) await workInOneProcess(queue, done);
}

function workInOneProcess(queue: string[], done: Timed[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(process.execPath, [fileURLToPath(new URL("worker.ts", import.meta.url).href)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const next = (usedMB: number): void => {
      const name = usedMB > limits.memoryMB * LIMITS.keptMemoryPart ? undefined : queue.shift();
      if (name === undefined) child.stdin?.end();
      else child.stdin?.write(`${name}\n`);
    };
    if (child.stdout === null) throw new Error("the exploring process has no output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const run = JSON.parse(line) as Timed;
      done.push(run);
      printRun(run, run.cpuSeconds);
      next(run.memoryMB);
    });
    child.on("error", reject);
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`an exploring process ended with ${code}`))));
    next(0);
  });
}

/** Prints what the run comes to; the exit status. */
function judge(runs: readonly Timed[]): number {
  const isCanary = (run: Timed): boolean => run.name.startsWith("canary-");
  const played = runs.filter((run) => !isCanary(run));
  const coverage = new Coverage();
  for (const run of played) coverage.merge(run.coverage);
  const problems: string[] = [];
  if (only === undefined) {
    printCoverage(coverage);
    problems.push(...coverageProblems(coverage));
  }
  for (const run of played) if (run.cut) problems.push(`scenario ${run.name} was cut before its fixpoint`);
  problems.push(...judgeCanaries(runs.filter(isCanary)));
  if (only === undefined && runs.length < wanted.length) problems.push("not every part was explored");
  const states = played.reduce((sum, run) => sum + run.states, 0);
  const violations = played.reduce((sum, run) => sum + run.violations.length, 0);
  for (const problem of problems) say(`PROBLEM ${problem}`);
  say(`${Math.round((performance.now() - began) / 1000)} s in all`);
  say(`${states} states, ${violations} violations`);
  return violations > 0 || problems.length > 0 ? 1 : 0;
}

function judgeCanaries(runs: readonly Timed[]): string[] {
  const problems: string[] = [];
  for (const run of runs) {
    const canary = CANARIES.find((c) => run.name === `canary-${c.name}`);
    const caught = run.violations[0];
    if (canary === undefined) continue;
    if (caught === undefined) problems.push(`canary ${canary.name} lived: ${canary.breaks}`);
    else if (caught.property !== canary.property) {
      problems.push(`canary ${canary.name} was caught by property ${caught.property}: ${caught.sentence}`);
    }
  }
  return problems;
}
