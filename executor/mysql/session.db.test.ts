import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueServing } from "../../certs/x509.ts";
import { type MysqlServer, runMysql, startMysqlServer } from "../cases/mysql-server.ts";
import { holdsMysqlLock, releaseMysqlLock, takeMysqlLock } from "./lock.ts";
import { connectMysql, type MysqlSession } from "./session.ts";
import { parseMysqlTarget } from "./url.ts";

const DAY_MS = 86_400_000;

let servers: Readonly<Record<"MariaDB" | "MySQL", MysqlServer>>;
let plain: MysqlServer;
let work: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "ptah-my-tls-"));
  const authority = await createAuthority(Date.now(), DAY_MS);
  const other = await createAuthority(Date.now(), DAY_MS);
  writeFileSync(join(work, "ca.pem"), authority.certificate);
  writeFileSync(join(work, "other.pem"), other.certificate);
  const tls = await issueServing(authority, ["localhost"], Date.now(), DAY_MS);
  const [MariaDB, MySQL, third] = await Promise.all([
    startMysqlServer({ tls }),
    startMysqlServer({ flavor: "mysql", tls }),
    startMysqlServer(),
  ]);
  servers = { MariaDB, MySQL };
  plain = third;
});

afterAll(async () => {
  await Promise.all([servers.MariaDB.stop(), servers.MySQL.stop(), plain.stop()]);
  rmSync(work, { recursive: true, force: true });
});

const open = (url: string): Promise<MysqlSession> =>
  connectMysql(parseMysqlTarget(url, "the URL"), { connectTimeoutMs: 5_000, role: "the target" });

/** Whether the session is encrypted, or the code of the failure. */
async function reach(server: MysqlServer, host: string, query: string): Promise<boolean | string> {
  const url = server.url("mysql", query).replace("127.0.0.1", host);
  try {
    const session = await open(url);
    const [row] = await session.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    await session.end();
    return row?.["Value"] !== "";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

for (const name of ["MariaDB", "MySQL"] as const) {
  describe(`TLS to ${name}`, () => {
    const ca = (): string => `sslrootcert=${encodeURIComponent(join(work, "ca.pem"))}`;
    const wrongCa = (): string => `sslrootcert=${encodeURIComponent(join(work, "other.pem"))}`;

    test("a CA bundle accepts the right authority and name only", async () => {
      expect(await reach(servers[name], "localhost", ca())).toBe(true);
      expect(await reach(servers[name], "127.0.0.1", ca())).toBe("connection_failed");
      expect(await reach(servers[name], "localhost", wrongCa())).toBe("connection_failed");
      expect(await reach(servers[name], "localhost", "tls=true")).toBe("connection_failed");
    });

    test("without checking it encrypts, and without being asked it does not", async () => {
      expect(await reach(servers[name], "127.0.0.1", "tls=skip-verify")).toBe(true);
      expect(await reach(servers[name], "127.0.0.1", "tls=preferred")).toBe(true);
      expect(await reach(servers[name], "127.0.0.1", "tls=false")).toBe(false);
    });
  });

  describe(`a session on ${name}`, () => {
    test("adds nothing to the server's sql_mode and sends one statement at a time", async () => {
      const session = await open(servers[name].url("mysql"));
      const [row] = await session.query("SELECT @@SESSION.sql_mode = @@GLOBAL.sql_mode AS same");
      expect(Number(row?.["same"])).toBe(1);
      await expect(session.send("SELECT 1; SELECT 2")).rejects.toMatchObject({ errno: 1064 });
      await session.end();
    });

    test("binds values whatever sql_mode says of backslashes", async () => {
      const session = await open(servers[name].url("mysql"));
      await session.send("SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
      const value = "it's a \\ back\\'slash";
      expect(await session.query("SELECT ? AS v", [value])).toEqual([{ v: value }]);
      await session.end();
    });

    test("is lost when the server ends it, and never replaced", async () => {
      const session = await open(servers[name].url("mysql"));
      await runMysql(servers[name].url("mysql"), `KILL ${session.id}`);
      await expect(session.query("SELECT 1")).rejects.toThrow();
      expect(session.lost()).toBe(true);
      await expect(session.query("SELECT 1")).rejects.toThrow();
      await session.end();
    });

    test("holds the migration lock until it gives it back, and a shared one is refused", async () => {
      const url = servers[name].url("mysql");
      const [first, second] = [await open(url), await open(url)];
      const none = (): void => undefined;
      await takeMysqlLock(first, () => open(url), 1_000, none);
      expect(await holdsMysqlLock(first)).toBe(true);
      const waiting = takeMysqlLock(second, () => open(url), 100, none);
      await expect(waiting).rejects.toMatchObject({ refusal: { code: "lock_timeout" } });
      await releaseMysqlLock(first);
      const shared = { ...second, end: async () => undefined };
      const proxied = takeMysqlLock(second, async () => shared, 1_000, none);
      await expect(proxied).rejects.toMatchObject({ refusal: { code: "lock_not_exclusive" } });
      await Promise.all([first.end(), second.end()]);
    });
  });
}

test("a server without TLS is reached where that is preferred and not where it is asked for", async () => {
  expect(await reach(plain, "127.0.0.1", "tls=preferred")).toBe(false);
  expect(await reach(plain, "127.0.0.1", "tls=skip-verify")).toBe("connection_failed");
});

test("what is wrong with a connection is told by its kind, without user or password", async () => {
  const failure = (url: string): Promise<unknown> =>
    open(url).then(
      () => undefined,
      (error: { code: string; message: string }) => [error.code, error.message.includes("hunter2")],
    );
  expect(await failure(plain.url("mysql").replace("root@", "nobody:hunter2@"))).toEqual([
    "authentication_failed",
    false,
  ]);
  expect(await failure(plain.url("missing"))).toEqual(["database_missing", false]);
  expect(await failure("mysql://u:hunter2@127.0.0.1:1/db")).toEqual(["connection_failed", false]);
});
