import { afterAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Layer, writeImage } from "./oci.ts";
import { type TarEntry, writeTar } from "./tar.ts";

const directory = mkdtempSync(join(tmpdir(), "ptah-oci-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const at = (name: string) => join(directory, name);
const readOut = (archive: string, path: string) => execFileSync("tar", ["-xOf", archive, path]);

const entries: TarEntry[] = [
  { type: "file", path: "etc/passwd", mode: 0o644, content: "root:x:0:0::/:\n" },
  { type: "symlink", path: "bin/sh", mode: 0o777, target: "busybox" },
  { type: "directory", path: "tmp", mode: 0o1777 },
  { type: "file", path: "srv/secret", mode: 0o600, uid: 999, gid: 999, content: "x".repeat(1000) },
];

test("the system's tar reads what was written: names, modes, owners, links and content", () => {
  writeTar(at("a.tar"), entries);
  const listing = execFileSync("tar", ["-tvf", at("a.tar"), "--numeric-owner", "--full-time", "--utc"]).toString();
  const lines = listing
    .trim()
    .split("\n")
    .map((line) => line.replace(/ +/g, " "));
  expect(lines).toEqual([
    "drwxr-xr-x 0/0 0 1970-01-01 00:00:00 bin/",
    "lrwxrwxrwx 0/0 0 1970-01-01 00:00:00 bin/sh -> busybox",
    "drwxr-xr-x 0/0 0 1970-01-01 00:00:00 etc/",
    "-rw-r--r-- 0/0 15 1970-01-01 00:00:00 etc/passwd",
    "drwxr-xr-x 0/0 0 1970-01-01 00:00:00 srv/",
    "-rw------- 999/999 1000 1970-01-01 00:00:00 srv/secret",
    "drwxrwxrwt 0/0 0 1970-01-01 00:00:00 tmp/",
  ]);
  expect(readOut(at("a.tar"), "srv/secret").toString()).toBe("x".repeat(1000));
});

test("the order in which entries are given does not change a byte", () => {
  writeTar(at("one.tar"), entries);
  writeTar(at("two.tar"), [...entries].reverse());
  expect(readFileSync(at("two.tar")).equals(readFileSync(at("one.tar")))).toBe(true);
});

test("a long path is split as ustar wants, one that cannot be is refused", () => {
  const long = `${"d".repeat(90)}/${"e".repeat(90)}`;
  writeTar(at("long.tar"), [{ type: "file", path: long, mode: 0o644, content: "deep" }]);
  expect(readOut(at("long.tar"), long).toString()).toBe("deep");
  const file = { type: "file", mode: 0o644, content: "" } as const;
  expect(() => writeTar(at("no.tar"), [{ ...file, path: "x".repeat(101) }])).toThrow("too long");
  expect(() =>
    writeTar(at("no.tar"), [
      { ...file, path: "x" },
      { ...file, path: "x" },
    ]),
  ).toThrow("twice");
});

function fakeLayer(content: string): Layer {
  const file = at(`${content}.layer`);
  writeFileSync(file, content);
  return {
    file,
    digest: sha256(Buffer.from(content)),
    diffId: sha256(Buffer.from(`tar of ${content}`)),
    sizeBytes: content.length,
  };
}

test("an image's reference is the digest of its manifest, and every blob stands under its own digest", () => {
  const layers = [fakeLayer("base"), fakeLayer("top")];
  const config = { user: "65532:65532", entrypoint: ["/bin/x"], env: { PATH: "/bin" } };
  const image = writeImage({ name: "docker.io/local/x", tag: "1", layers, config }, at("x.tar"));
  const index = JSON.parse(readOut(image.archive, "index.json").toString());
  const [entry] = index.manifests;
  expect(image.reference).toBe(`docker.io/local/x@${entry.digest}`);
  expect(entry.annotations["io.containerd.image.name"]).toBe("docker.io/local/x:1");
  const read = (digest: string) => readOut(image.archive, `blobs/${digest.replace(":", "/")}`);
  const manifestBytes = read(entry.digest);
  expect(sha256(manifestBytes)).toBe(entry.digest);
  const manifest = JSON.parse(manifestBytes.toString());
  for (const blob of [manifest.config, ...manifest.layers]) {
    expect(sha256(read(blob.digest))).toBe(blob.digest);
    expect(read(blob.digest).length).toBe(blob.size);
  }
  expect(JSON.parse(read(manifest.config.digest).toString()).rootfs.diff_ids).toEqual(
    layers.map(({ diffId }) => diffId),
  );
  expect(image.compressedBytes).toBe(7);
});

test("the same content has the same digest, other content another", () => {
  const build = (content: string, file: string) =>
    writeImage(
      { name: "docker.io/local/y", tag: "1", layers: [fakeLayer(content)], config: { user: "0", entrypoint: ["/x"] } },
      at(file),
    );
  expect(build("same", "y1.tar").reference).toBe(build("same", "y2.tar").reference);
  expect(build("other", "y3.tar").reference).not.toBe(build("same", "y4.tar").reference);
  expect(statSync(at("y1.tar")).size % 512).toBe(0);
});
