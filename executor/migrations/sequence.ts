/** The sequence of migrations a run was approved for: read from a file, compared with the run's own selection. */
import * as v from "valibot";
import { Refused } from "../contract.ts";
import { readRegularFile } from "../regular-file.ts";
import type { Migration } from "./migration.ts";
import { MAX_PENDING, named } from "./select.ts";

const Entry = v.strictObject({
  version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  version_key: v.optional(v.pipe(v.string(), v.maxLength(256)), ""),
  /** The next three go beyond the reference: what they name is compared too where the caller gives it. */
  checksum: v.optional(v.pipe(v.string(), v.maxLength(128))),
  checkpoint: v.optional(v.boolean()),
  transaction_mode: v.optional(v.pipe(v.string(), v.maxLength(16))),
});
const Sequence = v.strictObject({ migrations: v.pipe(v.array(Entry), v.maxLength(MAX_PENDING)) });

export type ExpectedSequence = v.InferOutput<typeof Sequence>;

const MAX_SEQUENCE_BYTES = 1024 * 1024;

/** Reads an `--expect-sequence` file. @throws Refused `invalid_sequence` */
export function readSequence(path: string): ExpectedSequence {
  try {
    return v.parse(Sequence, JSON.parse(readRegularFile(path, MAX_SEQUENCE_BYTES).toString("utf8")));
  } catch {
    throw new Refused(
      "invalid_sequence",
      'the file of the expected sequence cannot be read or is not one; write it as {"migrations": [{"version": 1}]} with the versions that may run, and check its path and mode',
    );
  }
}

/**
 * Compares what is pending now with what was approved, entry by entry and in order.
 * @returns a sentence that says how they differ, undefined where they are the same
 */
export function sequenceDifference(expected: ExpectedSequence, pending: readonly Migration[]): string | undefined {
  const wanted = expected.migrations.map((m) => m.version);
  const found = pending.map((m) => m.version);
  if (wanted.length !== found.length || wanted.some((version, at) => version !== found[at])) {
    return `the run was approved for ${list(wanted)}, but ${list(found)} would be applied now; read the history again`;
  }
  const changed = expected.migrations.filter((entry, at) => !sameFile(entry, pending[at]));
  if (changed.length === 0) return undefined;
  return `the file of ${named(changed.map((m) => m.version))} is not the one that was approved; read the history again`;
}

const list = (versions: readonly number[]): string => (versions.length === 0 ? "nothing" : named(versions));

function sameFile(entry: ExpectedSequence["migrations"][number], migration: Migration | undefined): boolean {
  if (migration === undefined || entry.version_key !== (migration.versionKey ?? "")) return false;
  if (entry.checksum !== undefined && entry.checksum !== migration.checksum) return false;
  if (entry.checkpoint !== undefined && entry.checkpoint !== migration.checkpoint) return false;
  return entry.transaction_mode === undefined || entry.transaction_mode === declaredMode(migration);
}

/** The transaction mode a file's header declares, as the status document gives it; empty where it declares none. */
export function declaredMode(migration: Migration): string {
  const { noTransaction, transactionMode } = migration.directives;
  return transactionMode ?? (noTransaction ? "none" : "");
}
