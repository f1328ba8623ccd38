/** What a node fetches, and what it is made of. */
import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { buildImages } from "../e2e/cluster/images/build.ts";
import { sharedLibraries } from "../e2e/cluster/images/catalog.ts";
import { cacheDir } from "../e2e/cluster/paths.ts";
import type { Measure } from "./bench.ts";
import { MB } from "./figure.ts";

const CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

export const image: Measure = async (bench) => {
  const built = await buildImages(["ptah"], { cacheDir: cacheDir(), progress: bench.progress });
  const compressedBytes = built.get("ptah")?.compressedBytes;
  if (compressedBytes === undefined) throw new Error("the image was not built");
  const libraries = sharedLibraries(execFileSync("ldd", [bench.ptah]).toString()).map((path) => realpathSync(path));
  const executable = part("executable", [bench.ptah]);
  return [
    {
      name: "image",
      what: "compressed size of the image (zstd), its layers as a node fetches them",
      unit: "MB",
      value: compressedBytes / MB,
      controls: [{ what: "its executable alone, zstd", value: executable.zstdBytes / MB }],
      targets: [],
      notes: [executable, part("system libraries", libraries), part("CA bundle", [CA_BUNDLE])].map(
        ({ what, sizeBytes, zstdBytes, gzipBytes }) =>
          `${what}: ${megabytes(sizeBytes)} as it is, ${megabytes(zstdBytes)} zstd, ${megabytes(gzipBytes)} gzip`,
      ),
    },
  ];
};

function part(
  what: string,
  files: readonly string[],
): { what: string; sizeBytes: number; zstdBytes: number; gzipBytes: number } {
  const bytes = Buffer.concat(files.map((file) => readFileSync(file)));
  const sizeBytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  return { what, sizeBytes, zstdBytes: zstdCompressSync(bytes).length, gzipBytes: gzipSync(bytes).length };
}

function megabytes(bytes: number): string {
  return `${(bytes / MB).toFixed(bytes < MB ? 2 : 1)} MB`;
}
