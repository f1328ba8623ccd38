import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueServing } from "../../certs/x509.ts";
import { type LocalServer, startServer } from "../cases/server.ts";
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

  test("verify-ca checks the authority and not the name", async () => {
    expect(await reach(server, "127.0.0.1", `sslmode=verify-ca&${ca()}`)).toBe(true);
    expect(await reach(server, "127.0.0.1", `sslmode=verify-ca&${wrongCa()}`)).toBe("connection_failed");
  });

  test("require with a root certificate checks the authority, as libpq does", async () => {
    expect(await reach(server, "127.0.0.1", `sslmode=require&${wrongCa()}`)).toBe("connection_failed");
  });
});
