import { expect, test } from "bun:test";
import { isImageName, sharedLibraries } from "./catalog.ts";
import { debianMirror } from "./rootfs.ts";

test("libraries are those that ldd names by file, the loader among them, each once", () => {
  const ldd = `\tlinux-vdso.so.1 (0x00007ffd)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f3)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)
`;
  expect(sharedLibraries(ldd)).toEqual([
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/x86_64-linux-gnu/libm.so.6",
  ]);
});

test("the mirror is the main archive, not the security archive and not a vendor's", () => {
  const targets =
    "http://vendor.example/deb Vendor\nhttp://m.example/debian-security Debian-Security\nhttp://m.example/debian Debian\n";
  expect(debianMirror(targets)).toBe("http://m.example/debian");
  expect(debianMirror("http://vendor.example/deb Vendor\n")).toBeUndefined();
});

test("an image is known by its own name alone", () => {
  expect(isImageName("ptah")).toBe(true);
  expect(isImageName("toString")).toBe(false);
});
