import { describe, expect, test } from "bun:test";
import { canonicalQuantity } from "./quantity.ts";

/** Spellings and what kube-apiserver stores for them (k8s.io/apimachinery, api/resource, its own test tables). */
const STORED: readonly [string | number, string][] = [
  ["0", "0"],
  ["0Mi", "0"],
  ["0.5", "500m"],
  ["250m", "250m"],
  ["1000m", "1"],
  ["1", "1"],
  [2, "2"],
  [0.1, "100m"],
  ["100", "100"],
  ["1000", "1k"],
  ["1000k", "1M"],
  ["1500", "1500"],
  ["1024Mi", "1Gi"],
  ["1Gi", "1Gi"],
  ["1.5Gi", "1536Mi"],
  ["1024", "1024"],
  ["512Ki", "512Ki"],
  ["1Mi", "1Mi"],
  ["0.5Mi", "512Ki"],
  ["0.5Ki", "512"],
  ["1e3", "1e3"],
  ["1E3", "1e3"],
  ["12e6", "12e6"],
  ["100e-3", "100e-3"],
  ["1.2e3", "1200"],
  ["1n", "1n"],
  ["1u", "1u"],
  ["-1", "-1"],
  ["+1", "1"],
  [".5", "500m"],
  ["5.", "5"],
];

describe("a quantity", () => {
  for (const [given, stored] of STORED) {
    test(`${given} is stored as ${stored}`, () => expect(canonicalQuantity(given)).toBe(stored));
  }
  for (const wrong of ["", "m", "1 Gi", "1GiB", "--1", "1.2.3", "0x10", "1e", "Ki"]) {
    test(`${JSON.stringify(wrong)} is none`, () => expect(canonicalQuantity(wrong)).toBeUndefined());
  }
});
