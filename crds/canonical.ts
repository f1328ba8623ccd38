/** Canonical JSON and the digests made of it. One function each; every digest of the project goes through here. */
import { createHash } from "node:crypto";

/** A value that JSON can hold; `undefined` entries of objects are left out, as JSON.stringify does. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** `sha256:` + hex of the bytes' SHA-256. */
export function sha256Digest(bytes: string | Uint8Array): string {
  return `sha256:${sha256Hex(bytes)}`;
}

/** Hex of the bytes' SHA-256; strings are UTF-8. */
export function sha256Hex(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Order of UTF-8 bytes, which is the order of code points (and not that of UTF-16 units). */
export function compareBytewise(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

/**
 * Canonical JSON of ours: UTF-8, keys sorted bytewise, no spaces, nothing escaped that JSON does not demand.
 * @throws RangeError for a number that is not finite
 */
export function canonicalJson(value: Json): string {
  return encode(value, (object) => Object.keys(object).sort(compareBytewise), JSON.stringify);
}

/** Digest of the canonical JSON. */
export function canonicalDigest(value: Json): string {
  return sha256Digest(canonicalJson(value));
}

const GO_ESCAPES: Readonly<Record<string, string>> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/**
 * JSON as Go's `json.Marshal` writes a struct: keys in the order given, HTML characters escaped. Only for digests whose
 * value other implementations share (coordination digest, policy fingerprint).
 */
export function goStructJson(value: Json): string {
  return encode(value, Object.keys, (text) =>
    JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (c) => GO_ESCAPES[c] ?? c),
  );
}

/** Digest of Go's struct JSON. */
export function goStructDigest(value: Json): string {
  return sha256Digest(goStructJson(value));
}

type JsonObject = { readonly [key: string]: Json | undefined };

function encode(value: Json, keysOf: (object: JsonObject) => string[], quote: (text: string) => string): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) throw new RangeError("a number that is not finite has no JSON form");
      return JSON.stringify(value);
    case "string":
      return quote(value);
  }
  if (isList(value)) return `[${value.map((item) => encode(item, keysOf, quote)).join(",")}]`;
  const members: string[] = [];
  for (const key of keysOf(value)) {
    const member = value[key];
    if (member !== undefined) members.push(`${quote(key)}:${encode(member, keysOf, quote)}`);
  }
  return `{${members.join(",")}}`;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

/** Trimmed, without empties and repeats, sorted: how a set enters a fingerprint. */
export function normalizedSet(items: readonly string[] | undefined): string[] {
  return [...new Set((items ?? []).map((item) => item.trim()).filter((item) => item !== ""))].sort(compareBytewise);
}
