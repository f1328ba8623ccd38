/**
 * `make e2e`: a real cluster, the operator installed from its manifests, and every scenario. Scenarios that share the
 * cluster peacefully run in a few processes side by side; those that break a part of it (`alone/`) run after them, one by one.
 * ONLY=word runs the files whose name contains it; KEEP=1 leaves the cluster.
 */
import { readdirSync } from "node:fs";
import { sideBySide } from "../executor/cases/side-by-side.ts";
import { type Ran, runTestFile, sayWhatFailed } from "../executor/cases/test-file.ts";
import { runAs } from "./cluster/command-line.ts";
import { serverVersions } from "./cluster/open.ts";
import { repositoryRoot } from "./cluster/paths.ts";
import { ensureCluster, leaveCluster } from "./lab/cluster.ts";
import { installOperator } from "./lab/install.ts";
import { openLab } from "./lab/lab.ts";

/** Processes side by side: the node has two cores, and an operation mostly waits for the kubelet. */
const SIDE_BY_SIDE = 3;
const SCENARIO_MS = 900_000;

function scenarioFiles(folder: string): string[] {
  const only = process.env["ONLY"] ?? "";
  return readdirSync(`${repositoryRoot}/e2e/scenarios/${folder}`)
    .filter((name) => name.endsWith(".test.ts") && name.includes(only))
    .sort()
    .map((name) => `e2e/scenarios/${folder}${folder === "" ? "" : "/"}${name}`);
}

/** @returns the scenarios that did not hold */
async function runAll(files: readonly string[], atOnce: number): Promise<Ran[]> {
  const failed: Ran[] = [];
  const task = (file: string) => async () => {
    const ran = await runTestFile(file, SCENARIO_MS);
    if (!ran.passed) failed.push(ran);
  };
  await sideBySide(files.map(task), atOnce);
  return failed;
}

async function main(): Promise<number> {
  const [shared, alone] = [scenarioFiles(""), scenarioFiles("alone")];
  if (shared.length + alone.length === 0) {
    process.stdout.write(`e2e: ONLY=${process.env["ONLY"]} names no scenario file\n`);
    return 2;
  }
  const cluster = await ensureCluster();
  await installOperator(await openLab());
  const failed = [...(await runAll(shared, SIDE_BY_SIDE)), ...(await runAll(alone, 1))];
  const versions = Object.values(serverVersions()).join(", ");
  await leaveCluster(cluster);
  process.stdout.write(`\ndatabase servers: ${versions}\n`);
  if (failed.length === 0) {
    process.stdout.write("e2e: every scenario held\n");
    return 0;
  }
  sayWhatFailed(failed);
  process.stdout.write(`\ne2e: failed: ${failed.map(({ file }) => file).join(", ")}\n`);
  return 1;
}

await runAs("e2e", main);
// What a client of the cluster still holds open keeps nobody waiting.
process.exit();
