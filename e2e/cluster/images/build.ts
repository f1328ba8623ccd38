import { ensureImagePackages } from "../native/packages.ts";
import type { ImageBuild } from "./build-context.ts";
import { IMAGES, type ImageName } from "./catalog.ts";
import type { BuiltImage } from "./oci.ts";

/** Builds the named images one after the other (each uses all cores when it compresses) and says their sizes. */
export async function buildImages(names: readonly ImageName[], build: ImageBuild): Promise<Map<ImageName, BuiltImage>> {
  await ensureImagePackages(build.progress);
  const built = new Map<ImageName, BuiltImage>();
  for (const name of names) {
    const image = await IMAGES[name](build);
    built.set(name, image);
    const contents = image.contents === undefined ? "" : `${image.contents}, `;
    build.progress.note(
      `image ${name}: ${contents}${(image.compressedBytes / 1024 / 1024).toFixed(1)} MiB compressed, ${image.reference}`,
    );
  }
  return built;
}
