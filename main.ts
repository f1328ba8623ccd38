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

/** What each part is, for a person who asks. */
const PURPOSES: Readonly<Record<string, string>> = {
  manager: "decides and keeps the resources (in the cluster)",
  webhook: "serves admission (in the cluster)",
  certs: "keeps the webhooks' certificate (in the cluster)",
  runner: "runs one operation in its Pod (in the cluster)",
  plugin: "kubectl ptah: read, approve and follow changes",
  schema: "compare, plan and apply a declared schema, on the database of a URL",
  migrations: "run and mend versioned migrations, on the database of a URL",
  version: "what this executable is",
};

/** Parts that read their own verb: the executor's commands are top-level (`ptah schema plan`). */
const OWN_VERB: ReadonlySet<string> = new Set(["schema", "migrations", "version"]);

/** The part played when the executable is called by this name (a link to it, as kubectl's plugin lookup wants). */
const PARTS_BY_NAME: Readonly<Record<string, () => Promise<Part>>> = {
  "kubectl-ptah": () => import("./plugin/main.ts"),
};

/** Parts that write their own help by themselves and wait for it. */
const OWN_HELP: ReadonlySet<string> = new Set(["plugin", ...OWN_VERB]);

const USAGE_ERROR = 2;

/** Picks the part by the executable's name, else by the first argument, and runs it. */
async function run(argv0: string, argv: readonly string[]): Promise<number> {
  const called = basename(argv0);
  const byName = Object.hasOwn(PARTS_BY_NAME, called) ? PARTS_BY_NAME[called] : undefined;
  if (byName !== undefined) return (await byName()).main(argv);
  const [name, ...rest] = argv;
  if ((name === "help" || argv.some(asksForHelp)) && !OWN_HELP.has(name ?? "")) mindHelp();
  if (name === undefined || name === "help" || asksForHelp(name)) {
    (name === undefined ? process.stderr : process.stdout).write(usage());
    return name === undefined ? USAGE_ERROR : 0;
  }
  const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  if (part === undefined) {
    // What is no plain word may be a URL with a password.
    const named = /^[\w.-]{0,40}$/.test(name) ? `part named "${name}"` : "such part";
    process.stderr.write(`error: ptah has no ${named}; it has: ${Object.keys(PARTS).join(", ")}\n`);
    return USAGE_ERROR;
  }
  return (await part()).main(OWN_VERB.has(name) ? argv : rest);
}

const asksForHelp = (argument: string): boolean => argument === "--help" || argument === "-h";

/** A help whose reader has gone (`| head`) ends quietly, and one that has no room with a sentence; neither with a stack. */
function mindHelp(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.stderr.write(
      `error: the text could not be written to standard output (${error.code}); send it elsewhere\n`,
    );
    process.exitCode = USAGE_ERROR;
  });
}

function usage(): string {
  const lines = Object.keys(PARTS).map((name) => `  ${name.padEnd(10)}  ${PURPOSES[name] ?? ""}`);
  return `usage: ptah PART [arguments]\n${lines.join("\n")}\nptah PART --help says what a part takes.\n`;
}

const status = await run(process.argv0, process.argv.slice(2));
// A help that could not be written has said so by now, or will.
process.exitCode ??= status;
