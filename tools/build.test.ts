import { afterAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directory = mkdtempSync(join(tmpdir(), "ptah-build-"));
afterAll(() => rmSync(directory, { recursive: true }));

function built(name: string): string {
  const outfile = join(directory, name);
  execFileSync(process.execPath, [join(import.meta.dir, "build.ts"), outfile], { stdio: "pipe" });
  return createHash("sha256").update(readFileSync(outfile)).digest("hex");
}

// An operator whose image changes retires every plan that waits: installing the same tree again must not.
test("the same tree builds the same executable, whatever it is called", () => {
  expect(built("once")).toBe(built("again"));
}, 60_000);
