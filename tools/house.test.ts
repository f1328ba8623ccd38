import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, normalize, relative } from "node:path";

/** The rooms of the house by level; an import may only go to a lower level (ARCHITECTURE.md, "Rules of the house"). */
const LEVELS: Record<string, number> = {
  crds: 0,
  workload: 1,
  sql: 1,
  lifecycle: 2,
  kube: 3,
  manager: 4,
  webhook: 4,
  certs: 4,
  runner: 4,
  executor: 4,
  plugin: 4,
};
/** Rooms that know nothing of Kubernetes at all. */
const NO_KUBERNETES = new Set(["executor", "runner"]);
/** Rooms without I/O: no node: module that touches the world, no Bun global. */
const PURE = new Set(["lifecycle", "workload", "sql", "crds"]);
const PURE_ALLOWED_NODE = new Set(["node:crypto", "node:zlib", "node:buffer"]);

const root = normalize(`${import.meta.dir}/..`);
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts"], { cwd: root })
  .toString()
  .split("\n")
  .filter((f) => f !== "");

interface Import {
  readonly from: string;
  readonly specifier: string;
}

function importsOf(file: string): Import[] {
  let text: string;
  try {
    text = readFileSync(`${root}/${file}`, "utf8");
  } catch {
    return [];
  }
  const found: Import[] = [];
  for (const m of text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)\s*import\s*["']([^"']+)["']/g,
  )) {
    found.push({ from: file, specifier: m[1] ?? m[2] ?? m[3] ?? "" });
  }
  return found;
}

const room = (file: string): string => file.split("/")[0] ?? "";
const isProduct = (file: string): boolean =>
  room(file) in LEVELS && !file.endsWith(".test.ts") && !file.includes("/model/");
const target = (i: Import): string | undefined =>
  i.specifier.startsWith(".") ? relative(root, normalize(`${root}/${dirname(i.from)}/${i.specifier}`)) : undefined;

const namesFamily = (file: string): boolean => /schema|migration/i.test(readFileSync(`${root}/${file}`, "utf8"));

describe("the house", () => {
  const imports = files.filter(isProduct).flatMap(importsOf);

  test("arrows between rooms point one way", () => {
    const wrong = imports.filter((i) => {
      const to = target(i);
      if (to === undefined || room(to) === room(i.from)) return false;
      const level = LEVELS[room(to)];
      if (level === undefined) return true;
      if (NO_KUBERNETES.has(room(i.from)) && room(to) === "kube") return true;
      return level >= (LEVELS[room(i.from)] ?? 0);
    });
    expect(wrong).toEqual([]);
  });

  test("a room is entered by its front door or a named file of it, with its extension", () => {
    const wrong = imports.filter((i) => i.specifier.startsWith(".") && !/\.(ts|json)$/.test(i.specifier));
    expect(wrong).toEqual([]);
  });

  test("pure rooms do no input or output", () => {
    const wrong = imports.filter((i) => {
      if (!PURE.has(room(i.from))) return false;
      if (i.specifier.startsWith("node:")) return !PURE_ALLOWED_NODE.has(i.specifier);
      return i.specifier === "bun" || i.specifier === "pino" || i.specifier === "@kubernetes/client-node";
    });
    expect(wrong).toEqual([]);
  });

  test("executor and runner know nothing of Kubernetes", () => {
    const wrong = imports.filter((i) => NO_KUBERNETES.has(room(i.from)) && i.specifier === "@kubernetes/client-node");
    expect(wrong).toEqual([]);
  });

  test("the pure core reads no clock and no randomness", () => {
    const wrong = files
      .filter((f) => room(f) === "lifecycle" && isProduct(f))
      .filter((f) =>
        /Date\.now\(|Math\.random\(|randomUUID|randomBytes|performance\.now|new Date\(\)/.test(
          readFileSync(`${root}/${f}`, "utf8"),
        ),
      );
    expect(wrong).toEqual([]);
  });

  test("only the families' descriptors name a family or its kinds in the lifecycle", () => {
    const shared = files.filter((f) => room(f) === "lifecycle" && isProduct(f) && !/\/(families|testing)/.test(f));
    expect(shared.length).toBeGreaterThan(20);
    expect(shared.filter(namesFamily)).toEqual([]);
  });

  test("only the families' descriptors name a family or its kinds in the manager", () => {
    const naming = files.filter((f) => room(f) === "manager" && isProduct(f)).filter(namesFamily);
    expect(naming).toEqual(["manager/families.ts"]);
  });

  test("no file is longer than 500 lines and none carries an unfinished mark", () => {
    const unfinished = new RegExp(["TO", "DO|FIX", "ME|XX", "X"].join(""));
    const wrong = files.filter((f) => {
      const text = readFileSync(`${root}/${f}`, "utf8");
      return text.split("\n").length > 501 || unfinished.test(text);
    });
    expect(wrong).toEqual([]);
  });
});
