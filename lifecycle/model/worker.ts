/** One exploring process: takes the names of parts on stdin, one a line, and answers each with one line of JSON. */
import { createInterface } from "node:readline";
import { LIMITS } from "./limits.ts";
import { explorePart } from "./parts.ts";

const deep = process.env["DEEP"] === "1";
const measure = {
  memoryMB: () => process.memoryUsage().rss / 1e6,
  clockMs: () => performance.now(),
  progress: (line: string) => process.stderr.write(`  ${line}\n`),
};

for await (const name of createInterface({ input: process.stdin })) {
  const before = process.cpuUsage();
  const run = explorePart(name, deep, deep ? LIMITS.deep : LIMITS.usual, measure);
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${JSON.stringify({ ...run, cpuSeconds: (user + system) / 1e6 })}\n`);
}
