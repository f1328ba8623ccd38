import { chmodSync, constants, copyFileSync, lstatSync, renameSync, rmSync } from "node:fs";
import { UsageError } from "./failure.ts";

/**
 * Copies this executable, for a Pod whose executor comes from another image. Whole or not at all: under its own name only
 * once it is complete, and nothing of it is left where it cannot be.
 * @throws UsageError for a path that is not absolute, or where something else than a file stands
 */
export function installTo(path: string): void {
  if (!path.startsWith("/")) throw new UsageError("--install-to needs an absolute path");
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) {
    throw new UsageError(
      "--install-to names something that is no regular file; name a file, or one that is not there yet",
    );
  }
  const partial = `${path}.partial`;
  // What a run that was killed left behind cannot be written again: it is read-only.
  rmSync(partial, { force: true });
  try {
    copyFileSync(process.execPath, partial, constants.COPYFILE_EXCL);
    chmodSync(partial, 0o555);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}
