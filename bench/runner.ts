/** What the runner costs over the executor that it starts: two processes where the child alone is one. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../executor/cases/server.ts";
import { ENV } from "../workload/environment.ts";
import { readFrame } from "../workload/frame.ts";
import type { Measure } from "./bench.ts";
import { median } from "./figure.ts";
import { limits } from "./limits.ts";
import { timed } from "./process.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

/**
 * Both run `ptah schema drift --format json` for the server's version against the same local PostgreSQL, in turns; the one under
 * the runner, which adds its own start, the bindings, the child's control, the report's reading and the frame.
 */
export const runner: Measure = async (bench) => {
  const server = await startServer();
  const work = mkdtempSync(join(tmpdir(), "ptah-bench-runner-"));
  try {
    const env = {
      HOME: work,
      TMPDIR: work,
      [ENV.databaseURL]: server.url("postgres"),
      [ENV.connectTimeout]: "10s",
      [ENV.lockTimeout]: "30s",
    };
    const bound = {
      ...env,
      [ENV.operationID]: DIGEST,
      [ENV.protocolVersion]: "1",
      [ENV.coordinationDigest]: DIGEST,
      [ENV.expectedEngine]: "PostgreSQL",
      [ENV.versionOnly]: "true",
    };
    const log = join(work, "termination-log");
    const over = ["runner", "--operation", "observe", "--ptah-binary", bench.ptah, "--termination-log", log];
    const bare = ["schema", "drift", "--format", "json"];
    mustSucceed(bench.ptah, over, bound);
    timed(bench.ptah, bare, env);
    const overMs: number[] = [];
    const bareMs: number[] = [];
    for (let run = 0; run < limits.runnerSamples; run += 1) {
      bareMs.push(timed(bench.ptah, bare, env));
      overMs.push(timed(bench.ptah, over, bound));
    }
    const child = median(bareMs);
    return [
      {
        name: "runner",
        what: `the runner's time over its child's, medians of ${overMs.length} runs each in turns`,
        unit: "ms",
        value: median(overMs) - child,
        controls: [{ what: "the child alone, against the same server", value: child }],
        targets: [{ of: "value", atMost: 150 }],
      },
    ];
  } finally {
    await server.stop();
    rmSync(work, { recursive: true, force: true });
  }
};

/** A runner that refused its work would be quick: its frame must hold the server's version. */
function mustSucceed(ptah: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
  const { stdout, stderr } = spawnSync(ptah, args, { env, timeout: limits.processMsMax });
  const reading = readFrame(stdout, { operation: "observe", operationID: DIGEST });
  if (reading.kind === "Found" && reading.result.serverMajor !== undefined) return;
  throw new Error(
    `the runner did not read the server's version: ${JSON.stringify(reading)} ${stderr.toString().trim()}`,
  );
}
