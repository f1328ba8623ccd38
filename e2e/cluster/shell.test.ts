import { afterAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shellLines } from "./shell.ts";

const root = mkdtempSync(join(tmpdir(), "ptah shell-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** An executable that answers with its own path. */
function program(directory: string, name: string): string {
  mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, directory, name), `#!/bin/sh\nprintf %s "$0"\n`, { mode: 0o755 });
  return join(root, directory, name);
}

test("pasted, the lines name the cluster and find its kubectl and the plugin that is built", () => {
  const kubectl = program("bin", "kubectl");
  const plugin = program("build", "kubectl-ptah");
  const lines = shellLines({ kubeconfig: join(root, "kubeconfig"), kubectl }, join(root, "build"));
  expect(lines.split("\n")).toHaveLength(2);
  const pasted = execFileSync("sh", ["-c", `${lines}\nprintf '%s\n' "$KUBECONFIG" "$(kubectl)" "$(kubectl-ptah)"`]);
  expect(pasted.toString()).toBe(`${join(root, "kubeconfig")}\n${kubectl}\n${plugin}\n`);
});

test("what is not built, and a kubectl that is on the PATH already, add nothing to it", () => {
  expect(shellLines({ kubeconfig: "/k", kubectl: "kubectl" }, join(root, "nothing"))).toBe(
    'export KUBECONFIG="/k"\nexport PATH="$PATH"',
  );
});
