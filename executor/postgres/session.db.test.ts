import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueServing } from "../../certs/x509.ts";
import { type LocalServer, startServer } from "../cases/server.ts";
import { until } from "../cases/test-server.ts";
import { connect } from "./session.ts";
import { parseTarget } from "./url.ts";

const DAY_MS = 86_400_000;

let server: LocalServer;
let plain: LocalServer;
let work: string;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "ptah-tls-"));
  const authority = await createAuthority(Date.now(), DAY_MS);
  const other = await createAuthority(Date.now(), DAY_MS);
  writeFileSync(join(work, "ca.pem"), authority.certificate);
  writeFileSync(join(work, "other.pem"), other.certificate);
  const serving = await issueServing(authority, ["localhost"], Date.now(), DAY_MS);
  [server, plain] = await Promise.all([startServer({ tls: serving }), startServer()]);
});

afterAll(async () => {
  await Promise.all([server.stop(), plain.stop()]);
  rmSync(work, { recursive: true, force: true });
});

/** Whether the session is encrypted, or the code of the failure. */
async function reach(to: LocalServer, host: string, query: string): Promise<boolean | string> {
  const url = `postgres://ptah_test@${host}:${to.port}/postgres?${query}`;
  try {
    const session = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "the target" });
    const [row] = await session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    await session.end();
    return row?.["ssl"] === true;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe("TLS to the database", () => {
  const ca = (): string => `sslrootcert=${join(work, "ca.pem")}`;
  const wrongCa = (): string => `sslrootcert=${join(work, "other.pem")}`;

  test("disable does not encrypt, require does without checking", async () => {
    expect(await reach(server, "127.0.0.1", "sslmode=disable")).toBe(false);
    expect(await reach(server, "127.0.0.1", "sslmode=require")).toBe(true);
  });

  test("prefer encrypts where the server can and goes on where it cannot", async () => {
    expect(await reach(server, "127.0.0.1", "sslmode=prefer")).toBe(true);
    expect(await reach(plain, "127.0.0.1", "sslmode=prefer")).toBe(false);
    expect(await reach(plain, "127.0.0.1", "sslmode=require")).toBe("connection_failed");
  });

  test("verify-full accepts the right authority and name only", async () => {
    expect(await reach(server, "localhost", `sslmode=verify-full&${ca()}`)).toBe(true);
    expect(await reach(server, "127.0.0.1", `sslmode=verify-full&${ca()}`)).toBe("connection_failed");
    expect(await reach(server, "localhost", `sslmode=verify-full&${wrongCa()}`)).toBe("connection_failed");
    expect(await reach(server, "localhost", "sslmode=verify-full")).toBe("connection_failed");
  });

  test("a root certificate alone is checked like verify-full", async () => {
    expect(await reach(server, "localhost", ca())).toBe(true);
    expect(await reach(server, "127.0.0.1", ca())).toBe("connection_failed");
    expect(await reach(server, "localhost", wrongCa())).toBe("connection_failed");
    expect(await reach(plain, "localhost", ca())).toBe("connection_failed");
  });

  test("verify-ca checks the authority and not the name", async () => {
    expect(await reach(server, "127.0.0.1", `sslmode=verify-ca&${ca()}`)).toBe(true);
    expect(await reach(server, "127.0.0.1", `sslmode=verify-ca&${wrongCa()}`)).toBe("connection_failed");
  });

  test("require with a root certificate checks the authority, as libpq does", async () => {
    expect(await reach(server, "127.0.0.1", `sslmode=require&${wrongCa()}`)).toBe("connection_failed");
  });
});

describe("one statement alone", () => {
  test("that asks its client for rows is refused at once, and the session goes on", async () => {
    const url = `postgres://ptah_test@127.0.0.1:${plain.port}/postgres?sslmode=disable`;
    const session = await connect(parseTarget(url, "url"), { connectTimeoutMs: 5_000, role: "the target" });
    await session.query("CREATE TEMPORARY TABLE rows_wanted (id int)");
    const refused = await session.runOne("COPY rows_wanted FROM STDIN").catch((error: { code?: string }) => error.code);
    expect(refused).toBe("57014");
    expect(await session.runOne("SELECT 1")).toBe("SELECT");
    expect(await session.query("SELECT count(*)::int AS rows FROM rows_wanted")).toEqual([{ rows: 0 }]);
    await session.end();
  }, 30_000);
});

/** A peer that accepts and then says this, for ever. @returns its port, how many connections are still open, and its end */
async function peer(says: string): Promise<{ port: number; open: () => number; close: () => void }> {
  const sockets = new Set<Socket>();
  const listening: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.resume();
    if (says !== "") socket.write(says);
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const address = listening.address();
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  };
  return { port: typeof address === "object" && address !== null ? address.port : 0, open: () => sockets.size, close };
}

describe("a peer that is no database", () => {
  for (const [what, says] of [
    ["is silent", ""],
    ["speaks HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n<html>"],
  ] as const) {
    for (const sslmode of ["disable", "require", "prefer"]) {
      test(`and ${what} is left within the bound (${sslmode}), and no connection to it stays`, async () => {
        const { port, open, close } = await peer(says);
        const target = parseTarget(`postgres://u@127.0.0.1:${port}/x?sslmode=${sslmode}`, "url");
        const code = await connect(target, { connectTimeoutMs: 500, role: "the target" }).catch(
          (error: { code?: string }) => error.code,
        );
        expect(code as unknown).toBe("connection_failed");
        await until("the connection to be closed", async () => open() === 0, 5_000);
        close();
      });
    }
  }

  test("is not waited for once a stop is asked for", async () => {
    const { port, open, close } = await peer("");
    const stop = new AbortController();
    const target = parseTarget(`postgres://u@127.0.0.1:${port}/x?sslmode=disable`, "url");
    const ended = connect(target, { connectTimeoutMs: 600_000, role: "the target", signal: stop.signal }).catch(
      (error: Error) => error.name,
    );
    await until("the connection", async () => open() === 1, 5_000);
    stop.abort();
    expect(await ended).toBe("Canceled");
    close();
  });
});
