import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { run, waitingWorld } from "./testing.ts";

test("output that nobody gets is told, and the command counts as not done", async () => {
  for (const unwritable of ["EPIPE", "ENOSPC"]) {
    for (const argv of [["schema"], ["schema", "orders"], ["plan", "orders"], ["journal", "orders"]]) {
      const ran = await run(waitingWorld(), argv, { unwritable });
      expect(ran.stderr).toContain(`the output could not be written to standard output (${unwritable})`);
      expect(ran.code).toBe(1);
    }
  }
});

test("what the plugin itself knows may be read in part, but not be cut by a full disk", async () => {
  for (const argv of [["explain"], ["explain", "Blocked"], ["version"], ["--help"], ["help", "plan"], ["--version"]]) {
    expect((await run(waitingWorld(), argv, { unwritable: "EPIPE" })).code).toBe(0);
    expect((await run(waitingWorld(), argv, { unwritable: "ENOSPC" })).code).toBe(1);
  }
});

test("nobody is asked about a plan that could not be shown", async () => {
  const ran = await run(waitingWorld(), ["approve", "orders"], { unwritable: "EPIPE", answers: ["yes"] });
  expect(ran.questions).toEqual([]);
  expect(ran.stderr).toContain("could not be shown (EPIPE); nothing was changed");
  expect(ran.code).toBe(1);
  expect(ran.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

test("the process itself ends with a sentence and no stack", () => {
  const main = `"${process.execPath}" "${join(import.meta.dir, "..", "main.ts")}" plugin`;
  const closed = `(trap "" PIPE; while printf . 2>/dev/null; do :; done; ${main} explain; echo "status $?" >&2) | true`;
  for (const [script, said] of [
    [closed, /^status 0\n$/],
    [
      `${main} explain > /dev/full; echo "status $?" >&2`,
      /^kubectl-ptah: the output [^\n]* \(ENOSPC\);[^\n]*\nstatus 1\n$/,
    ],
  ] as const) {
    expect(spawnSync("sh", ["-c", script], { encoding: "utf8" }).stderr).toMatch(said);
  }
});
