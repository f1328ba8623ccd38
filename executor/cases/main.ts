/** `make cases`: every pair through the compiled executable against a real server. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Pair, readPairs } from "./pair.ts";
import { type Bench, createRoles, runPair, type Verdict } from "./run.ts";
import { say, startServer } from "./server.ts";

const here = import.meta.dirname;
const executable = join(dirname(dirname(here)), "build", "ptah");
const DEFAULT_FILES = ["postgres-pairs.json", "hard-postgres.json"].map((name) => join(here, name));
/** The machine is shared and a case waits more than it computes. */
const CONCURRENCY = 3;

interface Result {
  readonly pair: Pair;
  readonly verdict: Verdict;
}

async function runAll(bench: Bench, pairs: readonly Pair[]): Promise<readonly Result[]> {
  const waiting = pairs.map((pair, at) => ({ pair, at }));
  const results: Result[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const started = performance.now();
      const verdict = await runPair(bench, next.pair, next.at);
      results[next.at] = { pair: next.pair, verdict };
      say(lineOf(next.pair, verdict, (performance.now() - started) / 1000));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return results;
}

function lineOf(pair: Pair, verdict: Verdict, seconds: number): string {
  const time = `${seconds.toFixed(1)} s`;
  if (verdict.kind === "converged") return `converged  ${pair.name} (${verdict.statements} statements, ${time})`;
  if (verdict.kind === "refused") return `refused    ${pair.name}: ${verdict.code}: ${verdict.sentence} (${time})`;
  return `WRONG      ${pair.name}: ${verdict.why} (${time})`;
}

async function cases(files: readonly string[]): Promise<number> {
  if (!existsSync(executable)) throw new Error("build/ptah is missing: run `make build` first");
  const pairs = files.flatMap(readPairs);
  const started = performance.now();
  say(`${pairs.length} cases; starting two servers (target and scratch)`);
  const [target, scratch] = await Promise.all([startServer(), startServer({ superuser: "scratch_admin" })]);
  const work = mkdtempSync(join(tmpdir(), "ptah-cases-"));
  try {
    say(`PostgreSQL ${target.major} is ready`);
    await createRoles(target, [...new Set(pairs.flatMap((p) => p.roles ?? []))]);
    const results = await runAll({ executable, target, scratch, work }, pairs);
    const count = (kind: Verdict["kind"]): number => results.filter((r) => r.verdict.kind === kind).length;
    say(`${((performance.now() - started) / 1000).toFixed(0)} s`);
    say(`${count("converged")} converged, ${count("refused")} refused, ${count("wrong")} wrong`);
    return count("wrong") > 0 ? 1 : 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
    await Promise.all([target.stop(), scratch.stop()]);
  }
}

const given = process.argv.slice(2).map((path) => resolve(path));
process.exitCode = await cases(given.length > 0 ? given : DEFAULT_FILES.filter((path) => existsSync(path)));
