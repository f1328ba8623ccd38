import { describe, expect, test } from "bun:test";
import { sequenceDigest } from "../crds/fingerprints.ts";
import { encodeSequence, parseSequence } from "./sequence.ts";

const step = { version: 3, version_key: "", checksum: "h1:orders-0003", checkpoint: false, transaction_mode: "" };
const text = (...steps: object[]): string => JSON.stringify(steps);

describe("an approved sequence", () => {
  test("has the digest that other implementations compute", () => {
    expect(sequenceDigest([{ version: 3, checksum: "h1:orders-0003" }])).toBe(
      "sha256:d63511bc70fe1b0e03b83c586c1d41b97848fe3e8ad3d8d8c9200de2e7ce2d60",
    );
  });

  test("has another digest in another order or with another step", () => {
    const a = { version: 1, checksum: "a" };
    const b = { version: 2, checksum: "b" };
    const digests = [
      [a, b],
      [b, a],
      [a],
      [a, { ...b, checkpoint: true }],
      [a, { ...b, transactionMode: "none" as const }],
      [a, { ...b, versionKey: "2" }],
      [a, { ...b, checksum: "c" }],
    ].map(sequenceDigest);
    expect(new Set(digests).size).toBe(digests.length);
  });

  test("comes back from its text as it went in", () => {
    const steps = [
      { version: 1, checksum: "a" },
      { version: 2, versionKey: "k", checksum: "<&>", checkpoint: true, transactionMode: "none" as const },
    ];
    expect(parseSequence(encodeSequence(steps))).toEqual(steps);
    expect(encodeSequence([{ version: 3, checksum: "h1:orders-0003" }])).toBe(text(step));
  });

  const bad: Readonly<Record<string, string>> = {
    "no JSON": "[",
    "no list": "{}",
    "without a step": "[]",
    "with an unknown field": text({ ...step, sql: "x" }),
    "with a field missing": text({ version: 3, checksum: "a" }),
    "with version zero": text({ ...step, version: 0 }),
    "with a version no number can hold": text({ ...step, version: 2 ** 60 }),
    "with a version twice": text(step, step),
    "without a checksum": text({ ...step, checksum: "" }),
    "with another mode": text({ ...step, transaction_mode: "all" }),
    "of more than a plan's versions": text(...Array.from({ length: 257 }, (_, i) => ({ ...step, version: i + 1 }))),
  };
  for (const [name, value] of Object.entries(bad)) {
    test(`is not text ${name}`, () => expect(parseSequence(value)).toBeUndefined());
  }
});
