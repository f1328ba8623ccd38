/** OCI image archives (image-spec v1.1): content-addressed, so that the same content is the same digest. */
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { mustRun } from "../command.ts";
import { LIMITS } from "../limits.ts";
import type { ImageArchive } from "../provider.ts";
import { type TarEntry, writeTar } from "./tar.ts";

const MEDIA_TYPES = {
  layer: "application/vnd.oci.image.layer.v1.tar+zstd",
  config: "application/vnd.oci.image.config.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
} as const;

/** A file system layer, compressed on disk. */
export interface Layer {
  file: string;
  /** `sha256:…` of the compressed bytes. */
  digest: string;
  /** `sha256:…` of the tar inside. */
  diffId: string;
  sizeBytes: number;
}

export interface ImageConfig {
  user: string;
  entrypoint: readonly string[];
  command?: readonly string[];
  env?: Record<string, string>;
  workingDir?: string;
}

export interface ImageSpec {
  /** Fully qualified, without tag: `docker.io/local/ptah`. */
  name: string;
  tag: string;
  layers: readonly Layer[];
  config: ImageConfig;
}

export interface BuiltImage extends ImageArchive {
  /** What a registry would hold and a node would fetch: the layers' compressed sizes. */
  compressedBytes: number;
  /** The server inside and its version, where there is one. */
  contents?: string;
}

/** Compresses a tar file and removes it; the result stands at `file`, written whole or not at all. */
export async function compressLayer(tar: string, file: string): Promise<Layer> {
  const staged = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  const diffId = await sha256OfFile(tar);
  await mustRun("zstd", ["-q", "-f", "-3", "-T0", tar, "-o", staged], { timeoutMs: LIMITS.rootfsMs });
  rmSync(tar);
  renameSync(staged, file);
  return { file, diffId, digest: await sha256OfFile(file), sizeBytes: statSync(file).size };
}

export async function layerOf(entries: readonly TarEntry[], file: string): Promise<Layer> {
  mkdirSync(dirname(file), { recursive: true });
  const tar = `${file}.${process.pid}.tar`;
  writeTar(tar, entries);
  return compressLayer(tar, file);
}

/** Writes the image as one archive that `ctr images import` and `kind load image-archive` read. */
export function writeImage(spec: ImageSpec, archive: string): BuiltImage {
  const config = Buffer.from(JSON.stringify(configDocument(spec)));
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: descriptor(MEDIA_TYPES.config, config),
      layers: spec.layers.map(({ digest, sizeBytes }) => ({ mediaType: MEDIA_TYPES.layer, digest, size: sizeBytes })),
    }),
  );
  const manifestDescriptor = descriptor(MEDIA_TYPES.manifest, manifest);
  const tag = `${spec.name}:${spec.tag}`;
  const annotations = { "io.containerd.image.name": tag, "org.opencontainers.image.ref.name": spec.tag };
  const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [{ ...manifestDescriptor, annotations }] };
  const blob = (content: Uint8Array): TarEntry => ({ ...blobAt(sha256(content)), type: "file", content });
  const layers = new Map(spec.layers.map((layer) => [layer.digest, layer.file]));
  mkdirSync(dirname(archive), { recursive: true });
  const staged = `${archive}.${process.pid}`;
  writeTar(staged, [
    { type: "file", path: "oci-layout", mode: 0o644, content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
    { type: "file", path: "index.json", mode: 0o644, content: JSON.stringify(index) },
    blob(config),
    blob(manifest),
    ...[...layers].map(([digest, source]): TarEntry => ({ ...blobAt(digest), type: "copy", source })),
  ]);
  renameSync(staged, archive);
  return {
    archive,
    tag,
    reference: `${spec.name}@${manifestDescriptor.digest}`,
    compressedBytes: spec.layers.reduce((sum, layer) => sum + layer.sizeBytes, 0),
  };
}

function configDocument({ layers, config }: ImageSpec): unknown {
  return {
    // OCI names processors as Go does.
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: {
      User: config.user,
      Entrypoint: config.entrypoint,
      ...(config.command ? { Cmd: config.command } : {}),
      ...(config.workingDir ? { WorkingDir: config.workingDir } : {}),
      Env: Object.entries(config.env ?? {}).map(([name, value]) => `${name}=${value}`),
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
  };
}

function descriptor(mediaType: string, content: Uint8Array): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest: sha256(content), size: content.length };
}

function blobAt(digest: string): { path: string; mode: number } {
  return { path: `blobs/${digest.replace(":", "/")}`, mode: 0o644 };
}

function sha256(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest("hex")}`;
}
