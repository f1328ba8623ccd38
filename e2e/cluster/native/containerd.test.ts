import { expect, test } from "bun:test";
import { managedImages } from "./containerd.ts";

test("only images that the kubelet's interface has noted count as loaded", () => {
  const list = `REF TYPE DIGEST SIZE PLATFORMS LABELS
docker.io/local/a:1 application/vnd.oci.image.manifest.v1+json sha256:aaa 1.0 MiB linux/amd64 io.cri-containerd.image=managed
docker.io/local/b:1 application/vnd.oci.image.manifest.v1+json sha256:bbb 1.0 MiB linux/amd64 -
`;
  expect([...managedImages(list)]).toEqual([["docker.io/local/a:1", "sha256:aaa"]]);
});
