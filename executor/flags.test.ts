import { describe, expect, test } from "bun:test";
import { UsageError } from "./contract.ts";
import { parseBoundMs, parseCsvRecord, parseDurationMs, readFlags } from "./flags.ts";

const SPECS = {
  json: { kind: "switch", env: false, what: "one report" },
  output: { kind: "text", what: "where it goes" },
  exclude: { kind: "list", what: "what is left out" },
  "dry-run": { kind: "switch", what: "changes nothing" },
} as const;

describe("flags", () => {
  test("a flag wins over its environment variable", () => {
    const flags = readFlags(["--output", "a"], { PTAH_OUTPUT: "b" }, SPECS);
    expect(flags.text("output")).toBe("a");
    expect(readFlags([], { PTAH_OUTPUT: "b" }, SPECS).text("output")).toBe("b");
  });

  test("an empty variable is unset, but for a switch it is an error", () => {
    expect(readFlags([], { PTAH_OUTPUT: "" }, SPECS).text("output")).toBeUndefined();
    expect(() => readFlags([], { PTAH_DRY_RUN: "" }, SPECS)).toThrow(UsageError);
  });

  test("a flag without an environment default ignores the variable", () => {
    expect(readFlags([], { PTAH_JSON: "true" }, SPECS).on("json")).toBe(false);
  });

  test("repeated flags are a list, a variable is one CSV record", () => {
    expect(readFlags(["--exclude=a", "--exclude", "b"], {}, SPECS).list("exclude")).toEqual(["a", "b"]);
    expect(readFlags([], { PTAH_EXCLUDE: '"a,b",c' }, SPECS).list("exclude")).toEqual(["a,b", "c"]);
  });

  test("unknown flags, stray arguments and missing values are usage errors", () => {
    for (const argv of [["--what"], ["what"], ["--output"]])
      expect(() => readFlags(argv, {}, SPECS)).toThrow(UsageError);
  });

  test("what every object inherits is no flag, and takes no argument away", () => {
    for (const name of ["valueOf", "constructor", "__proto__", "toString", "hasOwnProperty"]) {
      expect(() => readFlags([`--${name}`, "--dry-run"], {}, SPECS)).toThrow(`unknown flag --${name}`);
      expect(() => readFlags([`--${name}=x`], {}, SPECS)).toThrow(`unknown flag --${name}`);
    }
  });

  test("a value that begins with -- is written after =", () => {
    expect(() => readFlags(["--output", "--dry-run"], {}, SPECS)).toThrow("--output=VALUE");
    const flags = readFlags(["--output=--dry-run"], {}, SPECS);
    expect([flags.text("output"), flags.on("dry-run")]).toEqual(["--dry-run", false]);
  });

  test("an empty value is a usage error that names the flag", () => {
    for (const argv of [["--output", ""], ["--output="], ["--exclude", ""], ["--exclude=a", "--exclude="]])
      expect(() => readFlags(argv, {}, SPECS)).toThrow(/flag --(output|exclude) needs a value that is not empty/);
    for (const record of [",", "a,,b", "a,", '""'])
      expect(() => readFlags([], { PTAH_EXCLUDE: record }, SPECS)).toThrow("PTAH_EXCLUDE");
  });

  test("a bound of nothing is a usage error", () => {
    for (const text of ["0s", "0ms", "0.1ms"])
      expect(() => parseBoundMs(text, "lock-timeout")).toThrow("--lock-timeout");
    expect(parseBoundMs("1s", "lock-timeout")).toBe(1_000);
  });

  test("an argument that may be a URL with a password is not repeated", () => {
    for (const argv of [["postgres://u:hunter2@h/d"], ["--db-urlpostgres://u:hunter2@h/d"], ["--hunter2@h", "x"]]) {
      try {
        readFlags(argv, {}, SPECS);
        throw new Error("nothing was refused");
      } catch (error) {
        expect((error as Error).message).toMatch(/^(?:unexpected argument|unknown flag) \(not repeated/);
      }
    }
  });

  test("a malformed CSV record is an error", () => {
    expect(() => parseCsvRecord('"a', "X")).toThrow(UsageError);
    expect(parseCsvRecord('a,"say ""hi""",', "X")).toEqual(["a", 'say "hi"', ""]);
  });

  test("a duration that no timer holds is a usage error", () => {
    for (const text of ["169h", "99999999999999999999s"]) expect(() => parseDurationMs(text, "x")).toThrow("168h");
    expect(parseDurationMs("168h", "x")).toBe(604_800_000);
  });

  test("durations are read as Go writes them", () => {
    expect([parseDurationMs("1m30s", "t"), parseDurationMs("250ms", "t"), parseDurationMs("1.5s", "t")]).toEqual([
      90_000, 250, 1_500,
    ]);
    for (const wrong of ["10", "", "s", "5 s"]) expect(() => parseDurationMs(wrong, "t")).toThrow(UsageError);
  });
});
