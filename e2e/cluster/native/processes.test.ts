import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withLock } from "./lock.ts";
import {
  logTail,
  readRecord,
  recordedNames,
  runningProcess,
  startProcess,
  startTicks,
  stopProcess,
} from "./processes.ts";

const directory = mkdtempSync(join(tmpdir(), "ptah-processes-"));
const dirs = { run: join(directory, "run"), logs: join(directory, "logs") };
mkdirSync(dirs.run);
mkdirSync(dirs.logs);
afterAll(async () => {
  for (const name of recordedNames(dirs)) await stopProcess(dirs, name);
  rmSync(directory, { recursive: true, force: true });
});

test("a started process is found by its record, and is gone after the stop", async () => {
  await startProcess(dirs, { name: "sleeper", program: "/bin/sleep", args: ["300"] });
  const record = runningProcess(dirs, "sleeper");
  expect(record?.program).toBe("/bin/sleep");
  await stopProcess(dirs, "sleeper");
  expect(startTicks(record!.pid)).not.toBe(record!.startTicks);
  expect(recordedNames(dirs)).not.toContain("sleeper");
});

test("a record whose number now belongs to another process does not match it, and its stop ends nothing", async () => {
  await startProcess(dirs, { name: "bystander", program: "/bin/sleep", args: ["300"] });
  const bystander = readRecord(dirs, "bystander")!;
  writeFileSync(join(dirs.run, "stale.pid"), JSON.stringify({ ...bystander, startTicks: "1" }));
  writeFileSync(join(dirs.run, "renamed.pid"), JSON.stringify({ ...bystander, program: "/bin/other" }));
  for (const name of ["stale", "renamed"]) {
    expect(runningProcess(dirs, name)).toBeUndefined();
    await stopProcess(dirs, name);
  }
  expect(runningProcess(dirs, "bystander")).toEqual(bystander);
});

test("what a process said last can be shown after its end", async () => {
  await startProcess(dirs, {
    name: "speaker",
    program: "/bin/sh",
    args: ["-c", "echo last words >&2"],
  });
  const deadline = Date.now() + 5_000;
  while (logTail(dirs, "speaker") === "" && Date.now() < deadline) await Bun.sleep(5);
  expect(logTail(dirs, "speaker")).toBe("last words");
});

test("a lock is exclusive, and one whose owner is gone is taken over", async () => {
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} in`);
    await Bun.sleep(20);
    order.push(`${name} out`);
  };
  await Promise.all([withLock(directory, work("a")), withLock(directory, work("b"))]);
  expect(order[1]).toBe(order[0]!.replace("in", "out"));
  expect(order[3]).toBe(order[2]!.replace("in", "out"));
  writeFileSync(join(directory, "lock"), JSON.stringify({ pid: process.pid, startTicks: "1" }));
  expect(await withLock(directory, async () => "taken over")).toBe("taken over");
});
