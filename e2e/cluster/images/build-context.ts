import { join } from "node:path";
import type { Progress } from "../progress.ts";

/** What every image is built with. */
export interface ImageBuild {
  cacheDir: string;
  progress: Progress;
}

export const REGISTRY = "docker.io/local";
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function layerFile(cacheDir: string, name: string): string {
  return join(cacheDir, "images", "layers", `${name}.tar.zst`);
}

export function archiveFile(cacheDir: string, name: string): string {
  return join(cacheDir, "images", `${name}.oci.tar`);
}
