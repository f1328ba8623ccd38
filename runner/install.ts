import { chmodSync, copyFileSync, renameSync } from "node:fs";
import { UsageError } from "./failure.ts";

/**
 * Copies this executable, for a Pod whose executor comes from another image. Whole or not at all: under its own name only
 * once it is complete.
 * @throws UsageError for a path that is not absolute
 */
export function installTo(path: string): void {
  if (!path.startsWith("/")) throw new UsageError("--install-to needs an absolute path");
  const partial = `${path}.partial`;
  copyFileSync(process.execPath, partial);
  chmodSync(partial, 0o555);
  renameSync(partial, path);
}
