import { expect, test } from "bun:test";
import { packageVersion } from "./rootfs.ts";

const STATUS = `Package: libmysqlclient24
Status: install ok installed
Version: 9.7.4-2

Package: mariadb-server-core
Status: install ok installed
Version: 1:10.11.18-0+deb12u1
Description: server
 Version: not this one
`;

test("the version told of a root is its package's own, without the epoch", () => {
  expect(packageVersion(STATUS, "mariadb-server-core")).toBe("10.11.18-0+deb12u1");
  expect(packageVersion(STATUS, "libmysqlclient24")).toBe("9.7.4-2");
});

test("a root without the package is refused, also where another's name begins alike", () => {
  expect(() => packageVersion(STATUS, "libmysqlclient")).toThrow("no package libmysqlclient");
});
