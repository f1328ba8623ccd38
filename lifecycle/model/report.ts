/** What a run prints. */
import { RULE_IDS } from "../rules.ts";
import { CANARIES } from "./all-canaries.ts";
import { type Coverage, EFFECTS, FAMILY_NAMES, FAULTS, IMPOSSIBLE, inFamily, UNREACHED } from "./coverage.ts";
import type { Run } from "./explore.ts";
import { LIMITS } from "./limits.ts";
import { SCENARIOS } from "./scenarios.ts";

export const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

export function printRun(run: Run, cpuSeconds: number): void {
  const canary = CANARIES.find((c) => run.name === `canary-${c.name}`);
  if (canary !== undefined) printCanary(run, canary.breaks, canary.name);
  else {
    const plays = SCENARIOS.find((s) => s.name === run.name)?.plays ?? "";
    const figures = `${run.states} states, ${run.transitions} transitions, depth ${run.depth}`;
    const cost = `${run.seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of processor), ${run.memoryMB} MB`;
    const rate = Math.round(run.states / Math.max(cpuSeconds, 0.001));
    say(`${run.name.padEnd(10)} ${figures}, ${cost}, ${rate} states/s${run.cut ? ", CUT" : ""}: ${plays}`);
    for (const violation of run.violations) printViolation(violation.property, violation.sentence, violation.trace);
  }
}

function printCanary(run: Run, breaks: string, name: string): void {
  const caught = run.violations[0];
  if (caught === undefined) {
    say(`canary ${name}: NOT CAUGHT in ${run.states} states: ${breaks}`);
    return;
  }
  say(
    `canary ${name}: "${breaks}" is caught after ${run.states} states by property ${caught.property}: ${caught.sentence}`,
  );
  printTrace(caught.trace);
}

function printViolation(property: number, sentence: string, trace: readonly string[]): void {
  say(property === 0 ? `  THE MODEL IS WRONG: ${sentence}` : `  VIOLATION of property ${property}: ${sentence}`);
  printTrace(trace);
}

function printTrace(trace: readonly string[]): void {
  const shown = trace.slice(0, LIMITS.traceLines);
  for (const [index, line] of shown.entries()) say(`    ${String(index + 1).padStart(3)}. ${line}`);
  if (trace.length > shown.length) say(`         (and ${trace.length - shown.length} more steps)`);
}

export function printCoverage(coverage: Coverage): void {
  for (const family of FAMILY_NAMES) {
    const hit = RULE_IDS.filter((id) => coverage.rules.has(inFamily(family, id)));
    const cannot = RULE_IDS.filter((id) => inFamily(family, id) in UNREACHED);
    say(`rules of a ${family}: ${hit.length} of ${RULE_IDS.length} rows decided something; ${cannot.length} cannot`);
  }
  for (const [id, why] of Object.entries(UNREACHED)) say(`  ${id}: ${why}`);
  say(
    `Move × fault: ${coverage.pairs.size} of ${FAMILY_NAMES.length * EFFECTS.length * FAULTS.length} pairs hit; ${Object.keys(IMPOSSIBLE).length} cannot be`,
  );
  for (const [pair, why] of Object.entries(IMPOSSIBLE)) say(`  ${pair}: ${why}`);
  say(`double moves: ${[...coverage.courses].map(([course, n]) => `${course} ${n}`).join(", ")}`);
}

/** Rows and pairs that were not hit and are not declared unreachable, or were hit though they are. */
export function coverageProblems(coverage: Coverage): string[] {
  const rows = FAMILY_NAMES.flatMap((family) => RULE_IDS.map((id) => inFamily(family, id)));
  const known = new Set<string>(rows);
  const problems = coverage.problems();
  for (const id of rows) {
    if (!coverage.rules.has(id) && !(id in UNREACHED)) problems.push(`rule ${id} decided nothing`);
    if (coverage.rules.has(id) && id in UNREACHED) problems.push(`rule ${id} is declared out of reach, and decided`);
  }
  for (const id of coverage.rules.keys()) if (!known.has(id)) problems.push(`rule ${id} is not in the table`);
  return problems;
}
