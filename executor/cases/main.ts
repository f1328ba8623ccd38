/** `make cases`: every pair through the compiled executable against a real server. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { databaseTests } from "./db-tests.ts";
import { type Pair, readPairs } from "./pair.ts";
import { BUILT, ROOT } from "./paths.ts";
import { refusedPage } from "./refused-page.ts";
import { type Bench, createRoles, runPair, type Verdict } from "./run.ts";
import { say, startServer } from "./server.ts";
import { sideBySide, type Task } from "./side-by-side.ts";

const here = import.meta.dirname;
const OWN_FILES = ["postgres-pairs.json", "hard-postgres.json"].map((name) => join(here, name));
const PAGE = join(ROOT, "docs", "refused-postgresql.md");
/** A task is one process after the other, and waits for servers in between: two cores are kept busy by three. */
const AT_ONCE = 3;

interface Result {
  readonly pair: Pair;
  readonly verdict: Verdict;
}

/** One task for each pair, which puts its verdict at the pair's place. */
function tasksOf(bench: Bench, pairs: readonly Pair[], results: Result[]): readonly Task[] {
  return pairs.map((pair, at) => async () => {
    const started = performance.now();
    const verdict = await runPair(bench, pair, at);
    results[at] = { pair, verdict };
    say(lineOf(pair, verdict, (performance.now() - started) / 1000));
  });
}

function lineOf(pair: Pair, verdict: Verdict, seconds: number): string {
  const time = `${seconds.toFixed(1)} s`;
  if (verdict.kind === "converged") return `converged  ${pair.name} (${verdict.statements} statements, ${time})`;
  if (verdict.kind === "refused") return `refused    ${pair.name}: ${verdict.code}: ${verdict.sentence} (${time})`;
  return `WRONG      ${pair.name}: ${verdict.why} (${time})`;
}

/** Whether the page of refusals says what this run saw; `WRITE=1` writes it instead. */
function pageHolds(results: readonly Result[]): boolean {
  const refused = results.flatMap(({ pair, verdict }) =>
    verdict.kind === "refused" ? [{ name: pair.name, code: verdict.code }] : [],
  );
  const page = refusedPage(refused);
  if (process.env["WRITE"] === "1") writeFileSync(PAGE, page);
  const holds = existsSync(PAGE) && readFileSync(PAGE, "utf8") === page;
  if (!holds)
    say(
      "docs/refused-postgresql.md does not say what this run saw: run `WRITE=1 make cases` and look at the difference",
    );
  return holds;
}

/** @param before tasks begun before the pairs' own, in the same queue: what is left of a core then is not idle */
async function withServers(
  files: readonly string[],
  before: readonly Task[],
  use: (results: readonly Result[]) => boolean,
): Promise<number> {
  const pairs = files.flatMap(readPairs);
  const started = performance.now();
  say(`${pairs.length} cases; starting two servers (target and scratch)`);
  const [target, scratch] = await Promise.all([startServer(), startServer({ superuser: "scratch_admin" })]);
  const work = mkdtempSync(join(tmpdir(), "ptah-cases-"));
  const end = async (): Promise<void> => {
    rmSync(work, { recursive: true, force: true });
    await Promise.all([target.stop(), scratch.stop()]);
  };
  const interrupted = (): void => {
    void end().finally(() => process.exit(130));
  };
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  try {
    say(`PostgreSQL ${target.major} is ready`);
    await createRoles(target, [...new Set(pairs.flatMap((p) => p.roles ?? []))]);
    const results: Result[] = [];
    await sideBySide([...before, ...tasksOf({ executable: BUILT, target, scratch, work }, pairs, results)], AT_ONCE);
    const held = use(results);
    const count = (kind: Verdict["kind"]): number => results.filter((r) => r.verdict.kind === kind).length;
    say(`${((performance.now() - started) / 1000).toFixed(0)} s`);
    say(`${count("converged")} converged, ${count("refused")} refused, ${count("wrong")} wrong`);
    return count("wrong") > 0 || !held ? 1 : 0;
  } finally {
    await end();
  }
}

/** The repository's own pairs with the database tests, or the files that are named instead. */
async function cases(given: readonly string[]): Promise<number> {
  if (!existsSync(BUILT)) throw new Error("build/ptah is missing: run `make build` first");
  if (given.length > 0) return withServers(given, [], () => true);
  const tests = databaseTests();
  say(`${tests.tasks.length} files of database tests`);
  const pairs = await withServers(OWN_FILES, tests.tasks, pageHolds);
  return tests.passed() ? pairs : 1;
}

process.exitCode = await cases(process.argv.slice(2).map((path) => resolve(path)));
