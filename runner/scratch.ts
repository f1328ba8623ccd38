import { statSync } from "node:fs";
import { join } from "node:path";
import { ENV } from "../workload/environment.ts";
import { Failed } from "./failure.ts";
import { SCRATCH_POLL_MS, SCRATCH_WAIT_MS } from "./limits.ts";
import type { Operation } from "./operation.ts";

/** The socket PostgreSQL makes in its directory; it appears when the server begins to listen. */
const SOCKET = ".s.PGSQL.5432";

/**
 * Waits until the scratch server beside this container listens. Without a sidecar there is nothing to wait for.
 * @throws Failed `scratch_not_ready` after the bound
 */
export async function awaitScratch(operation: Operation): Promise<void> {
  const directory = operation.env[ENV.scratchDirectory] ?? "";
  if (directory === "") return;
  const until = operation.nowMs() + SCRATCH_WAIT_MS;
  while (!isSocket(join(directory, SOCKET))) {
    if (operation.supervisor.terminating()) {
      throw new Failed("execution_error", "The Pod was asked to end before the scratch server was ready.");
    }
    if (operation.nowMs() > until) {
      throw new Failed(
        "scratch_not_ready",
        `The scratch server did not start within ${SCRATCH_WAIT_MS / 1_000} s. Look at the log of the Pod's container "scratch".`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, SCRATCH_POLL_MS));
  }
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}
