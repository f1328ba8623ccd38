import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { settingsFrom } from "./settings.ts";

const image = (name: string): string => `example.test/${name}@sha256:${"a".repeat(64)}`;
const REQUIRED = [`--executor-image=${image("e")}`, `--runner-image=${image("r")}`, `--controller-image=${image("c")}`];

afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith("PTAH_MANAGER_")) delete process.env[name];
});

function refused(argv: readonly string[]): string {
  const said: string[] = [];
  const spy = spyOn(process.stderr, "write").mockImplementation((text) => {
    said.push(String(text));
    return true;
  });
  try {
    expect(() => settingsFrom(argv)).toThrow();
  } finally {
    spy.mockRestore();
  }
  return said.join("");
}

describe("the manager's command line", () => {
  test("images are needed; everything else has a default", () => {
    const settings = settingsFrom(REQUIRED);
    expect(settings).toMatchObject({
      executorImage: image("e"),
      leaderElect: true,
      metricsBindAddress: ":8080",
      healthProbeBindAddress: ":8081",
      concurrency: 8,
      scratchImages: {},
      logLevel: "info",
    });
    expect(settings.admission.defaultNotReadyTolerationSeconds).toBe(300);
  });

  test("an image without a digest is refused with the form it must have", () => {
    expect(refused(["--executor-image=example.test/e:latest", ...REQUIRED.slice(1)])).toContain("pinned by digest");
  });

  test("a missing image is named", () => {
    expect(refused(REQUIRED.slice(1))).toContain("--executor-image");
  });

  test("each flag is also an environment variable", () => {
    process.env["PTAH_MANAGER_EXECUTOR_IMAGE"] = image("env");
    process.env["PTAH_MANAGER_CONCURRENCY"] = "3";
    process.env["PTAH_MANAGER_LEADER_ELECT"] = "false";
    const settings = settingsFrom(REQUIRED.slice(1));
    expect([settings.executorImage, settings.concurrency, settings.leaderElect]).toEqual([image("env"), 3, false]);
  });

  test("scratch images are given by engine and major, repeatably, with the uid of their server", () => {
    const settings = settingsFrom([
      ...REQUIRED,
      `--scratch-image=postgresql-15=${image("p15")},uid=1000`,
      "--scratch-image",
      `postgresql-17=${image("p17")}`,
    ]);
    expect(settings.scratchImages).toEqual({
      "postgresql-15": { image: image("p15"), uid: 1000 },
      "postgresql-17": { image: image("p17"), uid: 999 },
    });
  });

  test.each([
    ["--scratch-image=postgresql=x", "scratch image"],
    ["--concurrency=0", "whole number"],
    ["--metrics-bind-address=8080", "address"],
    ["--leader-elect=maybe", "true or false"],
    ["--log-level=loud", "Allowed choices"],
  ])("%s is refused", (flag, words) => {
    expect(refused([...REQUIRED, flag])).toContain(words);
  });

  test("a bare --leader-elect means yes, whatever follows", () => {
    expect(settingsFrom(["--leader-elect", ...REQUIRED]).leaderElect).toBe(true);
  });
});
