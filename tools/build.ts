/**
 * Compiles the one executable, build/ptah, or the file that is named (docs/decisions/0005-single-executable.md).
 * What only Bun has (the compiler) stands here; the product itself runs under Deno's rules.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

const root = dirname(import.meta.dir);
const outfile = resolve(process.argv[2] ?? join(root, "build", "ptah"));
/** kubectl finds its plugins by this name; the executable plays the part it is called by. */
const pluginLink = join(dirname(outfile), "kubectl-ptah");

/** The parser finds its WebAssembly beside its own file, a path that exists only on the build machine. */
const ASSET_LOOKUP = 'function findWasmBinary(){return locateFile("libpg-query.wasm")}';
const EMBEDDED_LOOKUP = 'function findWasmBinary(){var p=require("./libpg-query.wasm");return p&&p.default||p}';

let embedded = false;
const embedParser: Bun.BunPlugin = {
  name: "embed-sql-parser",
  setup(build) {
    build.onLoad({ filter: /libpg-query[/\\]wasm[/\\]libpg-query\.js$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      const contents = source.replace(ASSET_LOOKUP, EMBEDDED_LOOKUP);
      if (contents === source) throw new Error("libpg-query changed its asset lookup: mend tools/build.ts");
      embedded = true;
      return { contents, loader: "js" };
    });
  },
};

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return "unknown";
  }
}

async function build(): Promise<void> {
  mkdirSync(dirname(outfile), { recursive: true });
  // The executable holds its own file's name: under a name that changes, the same tree would give another image each time,
  // and an operator that is installed again would retire every plan that waits.
  const staging = mkdtempSync(join(dirname(outfile), "staging-"));
  try {
    await compile(join(staging, "ptah"));
    renameSync(join(staging, "ptah"), outfile);
    // Who runs either while it is made anew finds one, the old or the new.
    symlinkSync(basename(outfile), join(staging, "link"));
    renameSync(join(staging, "link"), pluginLink);
  } finally {
    rmSync(staging, { recursive: true });
  }
  process.stdout.write(`${relative(root, outfile)}: ${(statSync(outfile).size / 1024 / 1024).toFixed(1)} MiB\n`);
}

async function compile(staged: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const result = await Bun.build({
    entrypoints: [join(root, "main.ts")],
    compile: { outfile: staged },
    target: "bun",
    // Bytecode, and a chunk for each part: a part starts in half the processor time and holds 8 MB less (manager: 0.27 to 0.11 s).
    format: "esm",
    minify: true,
    bytecode: true,
    splitting: true,
    external: ["@supabase/pg-topo"],
    loader: { ".wasm": "file" },
    plugins: [embedParser],
    define: {
      "process.env.PTAH_BUILD_VERSION": JSON.stringify(version),
      "process.env.PTAH_BUILD_COMMIT": JSON.stringify(commit()),
    },
  });
  for (const log of result.logs) process.stderr.write(`${String(log)}\n`);
  if (!result.success) throw new Error("the build failed");
  if (!embedded) throw new Error("the SQL parser was not embedded: the executable would fail on every other machine");
}

await build();
