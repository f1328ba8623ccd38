/** What the names of files in a migration directory say (reference, runner §6.1). */

export interface MigrationName {
  readonly version: number;
  /** The middle part as written. */
  readonly name: string;
  readonly checkpoint: boolean;
  readonly direction: "up" | "down";
}

const NATIVE = /^(\d{10})_([^\p{Cc}]+?)(\.checkpoint)?\.(up|down)\.sql$/u;
const REPEATABLE = /^(R__|\d+R_)/;
/** A timestamp to the second with no half of a pair behind it: nobody writes that meaning a name of ours. */
const ATLAS = /^\d{14}(?:_.*)?(?<!\.(?:up|down))\.sql$/;

/** @returns what a native file name says; undefined for any other name */
export function nativeName(fileName: string): MigrationName | undefined {
  const match = NATIVE.exec(fileName);
  if (match === null) return undefined;
  const [, digits = "", name = "", checkpoint, direction] = match;
  // `_.checkpoint` and `.CHECKPOINT` are a checkpoint misspelt: as an ordinary version it would run on every database.
  if (/\.checkpoint$/i.test(name)) return undefined;
  return {
    version: Number(digits),
    name,
    checkpoint: checkpoint !== undefined,
    direction: direction === "down" ? "down" : "up",
  };
}

/**
 * What kind of foreign migration a `.sql` file is that no native name fits. Other digits than ten, or one part missing, are
 * more likely a slip of who meant a native name, who is told what that needs.
 */
export function foreignKind(fileName: string): "repeatable" | "atlas" | "unknown" {
  if (REPEATABLE.test(fileName)) return "repeatable";
  return ATLAS.test(fileName) ? "atlas" : "unknown";
}

/** `create_orders` as a person reads it, and as the history row holds it: `Create Orders`. */
export function describe(name: string): string {
  return name
    .replaceAll("_", " ")
    .replaceAll(
      /[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}'’]|[.:](?=[\p{L}\p{N}]))*/gu,
      (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase(),
    );
}

const SURROGATE = /[\uD800-\uDFFF]/;

/** Orders paths by their UTF-8 bytes, as the integrity file lists them; code units have that order but for surrogates. */
export function byPath(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
