import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../limits.ts";
import { waitFor } from "../wait.ts";
import { startTicks } from "./processes.ts";

/** Runs `work` while no other process brings the same cluster up or down. A lock whose owner is gone is taken over. */
export async function withLock<T>(stateDir: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(stateDir, { recursive: true });
  const file = join(stateDir, "lock");
  await waitFor(`the lock ${file}`, () => acquire(file), { timeoutMs: LIMITS.goBuildMs });
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function acquire(file: string): boolean {
  const staged = `${file}.${process.pid}`;
  writeFileSync(staged, JSON.stringify({ pid: process.pid, startTicks: startTicks(process.pid) }));
  try {
    // A link is made whole or not at all, so that a reader never sees a lock without its owner.
    linkSync(staged, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(staged, { force: true });
  }
  if (!ownerLives(file)) rmSync(file, { force: true });
  return false;
}

function ownerLives(file: string): boolean {
  try {
    const owner = JSON.parse(readFileSync(file, "utf8")) as { pid: number; startTicks: string };
    return startTicks(owner.pid) === owner.startTicks;
  } catch {
    return false;
  }
}
