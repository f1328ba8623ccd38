/**
 * The cluster's command line:
 *   up [--api-only [--controllers]] | down [--api-only] | status [--api-only] | prepare | images [names] | check | kubectl -- args
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { runAs } from "./command-line.ts";
import { buildImages } from "./images/build.ts";
import { IMAGES, type ImageName, isImageName } from "./images/catalog.ts";
import { openCluster, provideImages } from "./open.ts";
import { cacheDir } from "./paths.ts";
import { createProgress } from "./progress.ts";
import type { ClusterProvider } from "./provider.ts";
import { selfCheck } from "./selfcheck.ts";
import { shellLines } from "./shell.ts";

const USAGE = `usage: main.ts up [--api-only [--controllers]]
       main.ts down|status [--api-only]
       main.ts prepare              build and cache programs and root file systems, start nothing
       main.ts images [names]       build and load images; their references go to standard output and images.json
       main.ts check                show on the running cluster that what scenarios rest on holds
       main.ts kubectl -- args      the cluster's own kubectl
`;

async function main(argv: readonly string[]): Promise<number> {
  const [verb, ...rest] = argv;
  const apiOnly = rest.includes("--api-only");
  const progress = createProgress();
  const open = () => openCluster({ progress, apiOnly });
  switch (verb) {
    case "up": {
      const cluster = await open();
      await cluster.up({ apiOnly, controllers: rest.includes("--controllers") });
      say(shellLines(cluster));
      return 0;
    }
    case "down":
      await (await open()).down();
      return 0;
    case "status":
      return showStatus(await open());
    case "prepare": {
      const cluster = await open();
      await cluster.prepare();
      const bases = (Object.keys(IMAGES) as ImageName[]).filter((name) => name !== "ptah");
      await buildImages(bases, { cacheDir: cacheDir(), progress });
      return 0;
    }
    case "images": {
      const unknown = rest.filter((name) => !isImageName(name));
      if (unknown.length > 0)
        throw new Error(`no such image: ${unknown.join(", ")}; there are ${Object.keys(IMAGES).join(", ")}`);
      const names = rest.filter(isImageName);
      const references = await provideImages(await open(), progress, names.length > 0 ? names : undefined);
      say(JSON.stringify(references, null, 2));
      return 0;
    }
    case "check": {
      const target = await open();
      const { ptah: _, ...bases } = IMAGES;
      const images = await provideImages(target, progress, Object.keys(bases).filter(isImageName));
      await selfCheck({ target, images, progress });
      return 0;
    }
    case "kubectl":
      return passThrough(await open(), rest[0] === "--" ? rest.slice(1) : rest);
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

async function showStatus(cluster: ClusterProvider): Promise<number> {
  const { healthy, parts } = await cluster.status();
  for (const { name, running, detail } of parts) say(`${running ? "ok  " : "DOWN"} ${name.padEnd(26)} ${detail}`);
  say(`${cluster.name} cluster: ${healthy ? "healthy" : "not running"}`);
  if (healthy) say(shellLines(cluster));
  return healthy ? 0 : 1;
}

/** Interactive commands (exec -it, logs -f) need the terminal itself, and no time limit. */
async function passThrough(cluster: ClusterProvider, args: readonly string[]): Promise<number> {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
  const child = spawn(cluster.kubectl, args, { stdio: "inherit", env });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

await runAs("cluster", () => main(process.argv.slice(2)));
