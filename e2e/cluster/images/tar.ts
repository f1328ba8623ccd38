/** A small, deterministic tar writer (POSIX ustar): same entries, same bytes; times are zero, owners are what is said. */
import { closeSync, openSync, readSync, statSync, writeSync } from "node:fs";

const BLOCK_BYTES = 512;
const COPY_BYTES = 1024 * 1024;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
/** Eleven octal digits. */
const MAX_FILE_BYTES = 8 ** 11 - 1;

interface EntryBase {
  /** Relative to the root, without leading or trailing slash. */
  path: string;
  mode: number;
  uid?: number;
  gid?: number;
}

export type TarEntry =
  | (EntryBase & { type: "directory" })
  | (EntryBase & { type: "symlink"; target: string })
  | (EntryBase & { type: "file"; content: Uint8Array | string })
  /** The content of a file on disk, read when it is written. */
  | (EntryBase & { type: "copy"; source: string });

/**
 * Writes the entries, sorted by path, to `file`. Missing parent directories are added (0755, root).
 * @throws Error for a path that ustar cannot hold, a path written twice, or a file of 8 GiB and more.
 */
export function writeTar(file: string, entries: readonly TarEntry[]): void {
  const complete = withParents(entries);
  const output = openSync(file, "w");
  try {
    for (const entry of complete) writeEntry(output, entry);
    writeAll(output, Buffer.alloc(2 * BLOCK_BYTES));
  } finally {
    closeSync(output);
  }
}

function withParents(entries: readonly TarEntry[]): TarEntry[] {
  const byPath = new Map<string, TarEntry>();
  for (const entry of entries) {
    if (byPath.has(entry.path)) throw new Error(`tar: ${entry.path} is there twice`);
    byPath.set(entry.path, entry);
  }
  for (const { path } of entries) {
    const parts = path.split("/").slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const parent = parts.slice(0, depth).join("/");
      if (!byPath.has(parent)) byPath.set(parent, { type: "directory", path: parent, mode: 0o755 });
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function writeEntry(output: number, entry: TarEntry): void {
  switch (entry.type) {
    case "directory":
      writeAll(output, header({ ...entry, path: `${entry.path}/` }, "5", 0, ""));
      break;
    case "symlink":
      writeAll(output, header(entry, "2", 0, entry.target));
      break;
    case "file": {
      const content = Buffer.from(entry.content);
      writeAll(output, header(entry, "0", content.length, ""));
      writeAll(output, content);
      writeAll(output, padding(content.length));
      break;
    }
    case "copy": {
      const sizeBytes = statSync(entry.source).size;
      writeAll(output, header(entry, "0", sizeBytes, ""));
      copyContent(output, entry.source, sizeBytes);
      writeAll(output, padding(sizeBytes));
      break;
    }
  }
}

function copyContent(output: number, source: string, sizeBytes: number): void {
  const input = openSync(source, "r");
  const buffer = Buffer.alloc(COPY_BYTES);
  try {
    let copied = 0;
    for (;;) {
      const count = readSync(input, buffer, 0, buffer.length, null);
      if (count === 0) break;
      writeAll(output, buffer.subarray(0, count));
      copied += count;
    }
    if (copied !== sizeBytes) throw new Error(`tar: ${source} changed while it was read`);
  } finally {
    closeSync(input);
  }
}

function header(entry: EntryBase, type: "0" | "2" | "5", sizeBytes: number, linkTarget: string): Buffer {
  if (sizeBytes > MAX_FILE_BYTES) throw new Error(`tar: ${entry.path} is too large`);
  if (Buffer.byteLength(linkTarget) > NAME_BYTES) throw new Error(`tar: the link target ${linkTarget} is too long`);
  const { name, prefix } = splitName(entry.path);
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  block.write(name, 0);
  block.write(octal(entry.mode, 7), 100);
  block.write(octal(entry.uid ?? 0, 7), 108);
  block.write(octal(entry.gid ?? 0, 7), 116);
  block.write(octal(sizeBytes, 11), 124);
  block.write(octal(0, 11), 136);
  block.fill(" ", 148, 156);
  block.write(type, 156);
  block.write(linkTarget, 157);
  block.write("ustar\0", 257);
  block.write("00", 263);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function splitName(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { name: path, prefix: "" };
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(name) <= NAME_BYTES;
    if (fits && name !== "") return { name, prefix };
  }
  throw new Error(`tar: the path ${path} is too long`);
}

function padding(sizeBytes: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** A write to a full pipe or disk may be partial. */
function writeAll(output: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at, bytes.length - at);
}
