/** Empty data directories of database servers, made once and copied: to make one takes seconds of a processor. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The kept directory, made where it is not there yet.
 * @param kept where it is; what another process put there meanwhile is as good
 * @param make makes one and returns where
 */
export function keptData(kept: string, make: () => { readonly home: string; readonly data: string }): string {
  if (existsSync(kept)) return kept;
  const { home, data } = make();
  const staged = `${kept}.${process.pid}`;
  mkdirSync(dirname(kept), { recursive: true });
  execFileSync("cp", ["-a", data, staged]);
  rmSync(home, { recursive: true, force: true });
  try {
    renameSync(staged, kept);
  } catch (error) {
    rmSync(staged, { recursive: true, force: true });
    if (!existsSync(kept)) throw error;
  }
  return kept;
}

/** A server's own `data` directory in its home, as the kept one is. */
export function copyData(kept: string, home: string): void {
  execFileSync("cp", ["-a", kept, join(home, "data")]);
}
