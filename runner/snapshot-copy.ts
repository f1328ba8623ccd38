import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compareBytewise, sha256Digest, sha256Hex } from "../crds/canonical.ts";
import { ENV } from "../workload/environment.ts";
import type { Env } from "./env.ts";
import { Failed } from "./failure.ts";
import {
  SNAPSHOT_FILES_MAX,
  SNAPSHOT_MANIFEST_BYTES_MAX,
  SNAPSHOT_PATH_BYTES_MAX,
  SNAPSHOT_PATH_DEPTH_MAX,
  SNAPSHOT_SIZE_BYTES_MAX,
} from "./limits.ts";

interface Entry {
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/**
 * Copies the files of a mounted source snapshot under their own paths, after re-hashing every one of them and the manifest
 * against the content digest that the Job binds. Runs in a container of its own, before the one that holds the database URL.
 * @returns how many files were copied
 * @throws Failed when anything differs; nothing partial is used, because the Pod ends
 */
export function copySnapshot(env: Env): number {
  const from = directoryOf(env, ENV.snapshotDirectory);
  const to = directoryOf(env, ENV.sourceDirectory);
  const expected = env[ENV.sourceContentDigest] ?? "";
  const manifest = readManifest(from);
  if (sha256Digest(manifest) !== expected) {
    throw new Failed("snapshot_mismatch", "The source snapshot's manifest is not the one this operation is bound to.");
  }
  const entries = parseManifest(manifest.toString("utf8"));
  const files = readdirSync(from).filter((name) => /^f\d+$/.test(name));
  if (files.length !== entries.length) {
    throw new Failed("snapshot_mismatch", "The source snapshot does not hold exactly the files of its manifest.");
  }
  let totalBytes = 0;
  for (const [index, entry] of entries.entries()) {
    totalBytes += entry.sizeBytes;
    if (totalBytes > SNAPSHOT_SIZE_BYTES_MAX)
      throw new Failed("snapshot_mismatch", "The source snapshot is too large.");
    const bytes = readEntry(join(from, snapshotKey(index)), entry);
    const target = join(to, entry.path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, bytes, { mode: 0o444, flag: "wx" });
  }
  return entries.length;
}

/** Key of the n-th file of a manifest in the snapshot ConfigMap. */
export const snapshotKey = (index: number): string => `f${String(index).padStart(3, "0")}`;

function directoryOf(env: Env, name: string): string {
  const path = env[name] ?? "";
  if (!path.startsWith("/")) throw new Failed("invalid_configuration", `${name} is no absolute path.`);
  return path;
}

function readManifest(directory: string): Buffer {
  const path = join(directory, "manifest");
  try {
    if (statSync(path).size <= SNAPSHOT_MANIFEST_BYTES_MAX) return readFileSync(path);
  } catch {
    throw new Failed("snapshot_mismatch", "The source snapshot has no readable manifest.");
  }
  throw new Failed("snapshot_mismatch", "The source snapshot's manifest is too large.");
}

/** The manifest's lines `<path> <size> <sha256 hex>`: sorted, unique, relative paths that stay inside. */
function parseManifest(text: string): Entry[] {
  if (!text.endsWith("\n")) throw malformed();
  const lines = text.slice(0, -1).split("\n");
  if (lines.length > SNAPSHOT_FILES_MAX) throw malformed();
  const entries = lines.map((line): Entry => {
    const match = /^(.+) (0|[1-9]\d{0,9}) ([0-9a-f]{64})$/.exec(line);
    const path = match?.[1];
    if (match === null || path === undefined || !isSafe(path)) throw malformed();
    return { path, sizeBytes: Number(match[2]), sha256: match[3] ?? "" };
  });
  for (let i = 1; i < entries.length; i += 1) {
    if (compareBytewise(entries[i - 1]?.path ?? "", entries[i]?.path ?? "") >= 0) throw malformed();
  }
  return entries;
}

const malformed = (): Failed =>
  new Failed("snapshot_mismatch", "The source snapshot's manifest is not in the form the manager writes.");

function isSafe(path: string): boolean {
  if (Buffer.byteLength(path) > SNAPSHOT_PATH_BYTES_MAX || /[\\\p{Cc}]/u.test(path)) return false;
  const segments = path.split("/");
  return segments.length <= SNAPSHOT_PATH_DEPTH_MAX && segments.every((s) => s !== "" && s !== "." && s !== "..");
}

function readEntry(path: string, entry: Entry): Buffer {
  try {
    if (statSync(path).size === entry.sizeBytes) {
      const bytes = readFileSync(path);
      if (sha256Hex(bytes) === entry.sha256) return bytes;
    }
  } catch {
    throw new Failed("snapshot_mismatch", "The source snapshot lacks a file of its manifest.");
  }
  throw new Failed("snapshot_mismatch", "A file of the source snapshot is not the one of its manifest.");
}
