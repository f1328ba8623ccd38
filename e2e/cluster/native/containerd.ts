import { existsSync } from "node:fs";
import { mustRun } from "../command.ts";
import { LIMITS } from "../limits.ts";
import type { Progress } from "../progress.ts";
import type { ImageArchive } from "../provider.ts";
import { waitFor } from "../wait.ts";
import type { Layout } from "./settings.ts";

/**
 * Makes images known to the kubelet by tag and by digest. The name by digest is an image record of its own, which is
 * how a Pod that names `…@sha256:…` finds it without asking a registry.
 */
export async function loadIntoContainerd(
  layout: Layout,
  images: readonly ImageArchive[],
  progress: Progress,
): Promise<void> {
  if (!existsSync(layout.containerdSocket)) {
    throw new Error("the cluster is not running, so there is no node to load images into: run up first");
  }
  const ctr = (...args: string[]) =>
    mustRun("ctr", ["--address", layout.containerdSocket, "--namespace", "k8s.io", ...args], {
      timeoutMs: LIMITS.imageLoadMs,
    });
  const known = managedImages(await ctr("images", "list"));
  for (const { archive, tag, reference } of images) {
    if (known.get(reference) && known.get(tag) === digestOf(reference)) continue;
    await progress.step(`load ${reference}`, async () => {
      await ctr("images", "import", "--snapshotter", "overlayfs", archive);
      await ctr("images", "tag", "--force", tag, reference);
      await waitFor(
        `${reference} known to the kubelet`,
        async () => managedImages(await ctr("images", "list")).has(reference),
        { timeoutMs: LIMITS.imageVisibleMs },
      );
    });
  }
}

/** From `ctr images list`: the images that the kubelet's interface has taken note of, with the digest each names. */
export function managedImages(list: string): Map<string, string> {
  const rows = list.split("\n").filter((line) => line.includes("io.cri-containerd.image=managed"));
  return new Map(
    rows.flatMap((line) => {
      const [name, , digest] = line.split(/\s+/);
      return name && digest ? [[name, digest] as const] : [];
    }),
  );
}

function digestOf(reference: string): string {
  return reference.slice(reference.indexOf("@") + 1);
}
