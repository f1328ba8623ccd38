/** One exploring process: takes the names of parts on stdin, one a line, and answers each with one line of JSON. */
import { createInterface } from "node:readline";
import { isDeep, limitsInForce } from "./limits.ts";
import { explorePart } from "./parts.ts";

const deep = isDeep(process.env);
const limits = limitsInForce(process.env);
const usedMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const measure = {
  memoryMB: () => process.memoryUsage().rss / 1e6,
  clockMs: () => performance.now(),
  usedMs,
  progress: (line: string) => process.stderr.write(`  ${line}\n`),
};

for await (const name of createInterface({ input: process.stdin })) {
  const before = usedMs();
  const run = explorePart(name, deep, limits, measure);
  process.stdout.write(`${JSON.stringify({ ...run, cpuSeconds: (usedMs() - before) / 1000 })}\n`);
}
