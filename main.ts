import { basename } from "node:path";

/** What a room that can be started exports from its `main.ts`: takes the arguments after its name, gives the exit status. */
interface Part {
  readonly main: (argv: readonly string[]) => Promise<number>;
}

/** The parts by first argument. Each is imported only when it is asked for, so that no part pays for another's start. */
const PARTS: Readonly<Record<string, () => Promise<Part>>> = {
  manager: () => import("./manager/main.ts"),
  webhook: () => import("./webhook/main.ts"),
  certs: () => import("./certs/main.ts"),
  runner: () => import("./runner/main.ts"),
  plugin: () => import("./plugin/main.ts"),
  schema: () => import("./executor/main.ts"),
  migrations: () => import("./executor/main.ts"),
  version: () => import("./executor/main.ts"),
};

/** Parts that read their own verb: the executor's commands are top-level (`ptah schema plan`). */
const OWN_VERB: ReadonlySet<string> = new Set(["schema", "migrations", "version"]);

/** The part played when the executable is called by this name (a link to it, as kubectl's plugin lookup wants). */
const PARTS_BY_NAME: Readonly<Record<string, () => Promise<Part>>> = {
  "kubectl-ptah": () => import("./plugin/main.ts"),
};

const USAGE_ERROR = 2;

/** Picks the part by the executable's name, else by the first argument, and runs it. */
async function run(argv0: string, argv: readonly string[]): Promise<number> {
  const byName = PARTS_BY_NAME[basename(argv0)];
  if (byName !== undefined) return (await byName()).main(argv);
  const [name = "", ...rest] = argv;
  const part = PARTS[name];
  if (part === undefined) {
    process.stderr.write(`error: ptah has no part named "${name}"; it has: ${Object.keys(PARTS).join(", ")}\n`);
    return USAGE_ERROR;
  }
  return (await part()).main(OWN_VERB.has(name) ? argv : rest);
}

process.exitCode = await run(process.argv0, process.argv.slice(2));
