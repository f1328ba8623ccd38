/** `migrations hash`: writes `ptah.sum` for a directory as it is. */
import { randomUUID } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../contract.ts";
import { computeSumText } from "./directory.ts";
import { refusedBy } from "./refuse.ts";
import { SUM_FILE } from "./sum.ts";

export interface WrittenSum {
  readonly path: string;
  readonly directory_hash: string;
  readonly files: number;
}

/** Writes the file beside itself and renames it, so that no reader sees half of it. @throws Refused */
export function writeSum(directory: string): WrittenSum {
  const computed = computeSumText(directory);
  if ("refusal" in computed) throw refusedBy(computed.refusal);
  const path = join(directory, SUM_FILE);
  const beside = join(directory, `.${SUM_FILE}.${randomUUID()}`);
  try {
    writeFileSync(beside, computed.text, { flag: "wx" });
    renameSync(beside, path);
  } catch {
    rmSync(beside, { force: true });
    throw new Refused(
      "migration_sum_unwritable",
      `${SUM_FILE} cannot be written into the directory; let the directory be written to (its mode, a read-only volume, a full disk), then run migrations hash again`,
    );
  }
  const [directoryHash = "", ...entries] = computed.text.trimEnd().split("\n");
  return { path, directory_hash: directoryHash, files: entries.length };
}
