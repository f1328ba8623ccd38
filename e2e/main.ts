/**
 * `make e2e`: a real cluster, the operator installed from its manifests, and every scenario. Scenarios that share the
 * cluster peacefully run in a few processes side by side; those that break a part of it (`alone/`) run after them, one by one.
 * ONLY=word runs the files whose name contains it; KEEP=1 leaves the cluster.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
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
    .map((name) => `./e2e/scenarios/${folder}${folder === "" ? "" : "/"}${name}`);
}

/** How much of a failed scenario's output is printed once more at the end. */
const SAID_AGAIN_CHARS = 6_000;

interface Ran {
  readonly file: string;
  readonly held: boolean;
  readonly said: string;
}

/** Runs one scenario file in a process of its own; what it says is printed whole when it ends. */
function runFile(file: string): Promise<Ran> {
  const began = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["test", "--timeout", String(SCENARIO_MS), file], { cwd: repositoryRoot });
    let said = "";
    const keep = (chunk: Buffer) => {
      said += chunk.toString("utf8");
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("close", (code) => {
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      process.stdout.write(`\n==> ${file}: ${code === 0 ? "ok" : `failed (${code})`}, ${seconds} s\n${said.trim()}\n`);
      resolve({ file, held: code === 0, said });
    });
  });
}

/** @returns the scenarios that did not hold */
async function runAll(files: readonly string[], sideBySide: number): Promise<Ran[]> {
  const waiting = [...files];
  const failed: Ran[] = [];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const ran = await runFile(file);
      if (!ran.held) failed.push(ran);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, worker));
  return failed;
}

/** A scenario's output without the tests that passed, up to a bound. */
const whatFailed = (said: string): string =>
  said
    .split("\n")
    .filter((line) => !line.startsWith("(pass)"))
    .join("\n")
    .trim()
    .slice(-SAID_AGAIN_CHARS);

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
  // A log is often kept by its end alone: what failed is said there too.
  for (const { file, said } of failed) process.stdout.write(`\n==> ${file} failed:\n${whatFailed(said)}\n`);
  process.stdout.write(`\ne2e: failed: ${failed.map(({ file }) => file).join(", ")}\n`);
  return 1;
}

await runAs("e2e", main);
// What a client of the cluster still holds open keeps nobody waiting.
process.exit();
