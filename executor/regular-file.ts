import { readFileSync, statSync } from "node:fs";

/** What cannot be read as a file: not there, not allowed, a pipe, a device, a directory, or larger than it may be. */
export type Unreadable = "unreadable" | "irregular" | "too_large";

export class UnreadableFile extends Error {
  readonly why: Unreadable;

  constructor(why: Unreadable) {
    super(why);
    this.name = "UnreadableFile";
    this.why = why;
  }
}

/**
 * The bytes of a regular file. It is asked before it is read: a pipe or a device has no size, and reading one may never end;
 * not even a stop would be heard meanwhile.
 * @param sizeBytesMax what the file may have
 * @throws UnreadableFile
 */
export function readRegularFile(path: string, sizeBytesMax: number): Buffer {
  try {
    const found = statSync(path);
    if (!found.isFile()) throw new UnreadableFile("irregular");
    if (found.size > sizeBytesMax) throw new UnreadableFile("too_large");
    return readFileSync(path);
  } catch (error) {
    throw error instanceof UnreadableFile ? error : new UnreadableFile("unreadable");
  }
}
