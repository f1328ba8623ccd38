import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildImages } from "./images/build.ts";
import { IMAGES, type ImageName } from "./images/catalog.ts";
import { canRunKind, createKindProvider } from "./kind/provider.ts";
import { createNativeProvider } from "./native/provider.ts";
import { cacheDir, clusterDir, imagesFile, versionsFile } from "./paths.ts";
import type { Progress } from "./progress.ts";
import type { ClusterProvider } from "./provider.ts";

export interface OpenOptions {
  progress: Progress;
  apiOnly?: boolean;
  /** Where its state is kept; by default the directory that `paths.ts` names. */
  stateDir?: string;
}

/**
 * The cluster that commands act on. Which provider: the one named by PROVIDER, else the one that this state directory
 * was made with, else kind where it can run within its bound, else native. An API server alone is always native.
 */
export async function openCluster({
  progress,
  apiOnly = false,
  stateDir = clusterDir(apiOnly),
}: OpenOptions): Promise<ClusterProvider> {
  const context = { stateDir, progress };
  if (apiOnly) return createNativeProvider(context, true);
  const marker = join(stateDir, "provider");
  const chosen = process.env["PROVIDER"] || (existsSync(marker) ? readFileSync(marker, "utf8").trim() : await detect());
  if (chosen !== "native" && chosen !== "kind") throw new Error(`PROVIDER must be native or kind, not ${chosen}`);
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(marker, `${chosen}\n`);
  return chosen === "kind" ? createKindProvider(context) : createNativeProvider(context, false);
}

async function detect(): Promise<"native" | "kind"> {
  return (await canRunKind()) ? "kind" : "native";
}

/** A word per image: its reference by digest, as scenarios, the demo and the benches use it; or the server in it. */
export type ImageReferences = Partial<Record<ImageName, string>>;

/**
 * Builds the named images (all by default), loads them into the running cluster, and notes them in images.json and, where
 * they have a server in them, its version in versions.json.
 */
export async function provideImages(
  cluster: ClusterProvider,
  progress: Progress,
  names: readonly ImageName[] = Object.keys(IMAGES) as ImageName[],
): Promise<ImageReferences> {
  const built = await buildImages(names, { cacheDir: cacheDir(), progress });
  await cluster.loadImages([...built.values()]);
  const directory = clusterDir(false);
  note(
    versionsFile(directory),
    [...built].flatMap(([name, { contents }]) => (contents ? [[name, contents]] : [])),
  );
  return note(
    imagesFile(directory),
    [...built].map(([name, { reference }]) => [name, reference]),
  );
}

/** Adds to what a file of this form says already. */
function note(file: string, words: readonly [ImageName, string][]): ImageReferences {
  const all: ImageReferences = { ...readReferences(file), ...Object.fromEntries(words) };
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
  return all;
}

/** The servers in the images that `provideImages` loaded, each with its package, version and release. */
export function serverVersions(): ImageReferences {
  return readReferences(versionsFile(clusterDir(false)));
}

/** What `provideImages` noted last. @throws Error when no image was loaded yet. */
export function imageReferences(): ImageReferences {
  const file = imagesFile(clusterDir(false));
  if (!existsSync(file))
    throw new Error(`no images are loaded: run "make lab", or "e2e/cluster/main.ts images" (${file} is missing)`);
  return readReferences(file);
}

function readReferences(file: string): ImageReferences {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ImageReferences) : {};
}
