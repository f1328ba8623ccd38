import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "..", "main.ts");

const UNTIL_CLOSED = `trap "" PIPE; while printf . 2>/dev/null; do :; done`;

/** Runs a command whose standard output is a full device, or a pipe that nobody reads from. */
function ptah(output: "full" | "closed", words: string): { status: number | null; stderr: string } {
  const run = `"${process.execPath}" "${MAIN}" ${words}`;
  const script = output === "full" ? `${run} > /dev/full` : `(${UNTIL_CLOSED}; ${run}; echo "status $?" >&2) | true`;
  const { status, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8", env: { PATH: process.env["PATH"] } });
  if (output === "full") return { status, stderr };
  const [, told = "", ended] = /^([\s\S]*)status (\d+)\n$/.exec(stderr) ?? [];
  return { status: Number(ended), stderr: told };
}

describe("standard output that takes nothing", () => {
  for (const command of ["schema drift", "schema plan --output x", "migrations status", "migrations hash"]) {
    test.each([
      ["full", "ENOSPC"],
      ["closed", "EPIPE"],
    ] as const)(`ends ${command} with 2 and one sentence (%s)`, (output, code) => {
      const { status, stderr } = ptah(output, command);
      expect(stderr).toBe(
        `error: the report could not be written to standard output (${code}); what the command did stands, so read the state before it is run again\n`,
      );
      expect(status).toBe(2);
    });
  }

  test.each(["schema --help", "migrations up --help", "version", "version --json", "--help", "runner --help"])(
    "ends ptah %s quietly where nobody reads on, and with a sentence where there is no room",
    (command) => {
      expect(ptah("closed", command)).toEqual({ status: 0, stderr: "" });
      const { status, stderr } = ptah("full", command);
      expect(stderr).toMatch(/^error: the text could not be written to standard output \(ENOSPC\); [^\n]*\n$/);
      expect(status).toBe(2);
    },
  );

  test("and a standard error that takes nothing changes no ending", () => {
    expect(ptah("closed", "version --wrong 2> /dev/full")).toEqual({ status: 2, stderr: "" });
  });
});
