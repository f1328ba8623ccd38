import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Refused } from "../contract.ts";
import { parseTarget } from "./url.ts";

const codeOf = (url: string): string => {
  try {
    parseTarget(url, "PTAH_DB_URL");
    return "accepted";
  } catch (error) {
    return error instanceof Refused ? error.refusal.code : String(error);
  }
};

describe("database URLs", () => {
  test("reads host, port, user, password and database with their escapes", () => {
    const target = parseTarget("postgres://us%40er:p%3Aw@db.example:6432/my%20db?sslmode=disable", "u");
    expect([target.host, target.port, target.user, target.password, target.database]).toEqual([
      "db.example",
      6432,
      "us@er",
      "p:w",
      "my db",
    ]);
  });

  test("query parameters override the parts of the URL", () => {
    const target = parseTarget("postgres://a@h/x?host=/run/pg&port=5433&dbname=y&user=b", "u");
    expect([target.host, target.port, target.database, target.user, target.sslMode]).toEqual([
      "/run/pg",
      5433,
      "y",
      "b",
      "disable",
    ]);
  });

  test("require encrypts without checking, verify-ca checks the chain, verify-full the name too", () => {
    const ssl = (mode: string) => parseTarget(`postgres://a@db.example/x?sslmode=${mode}`, "u").ssl;
    expect(ssl("disable")).toBeUndefined();
    expect(ssl("require")).toEqual({ rejectUnauthorized: false });
    expect(ssl("verify-ca")?.rejectUnauthorized).toBe(true);
    expect(ssl("verify-ca")?.checkServerIdentity).toBeDefined();
    expect(ssl("verify-full")).toEqual({ rejectUnauthorized: true, servername: "db.example" });
  });

  test("with a CA bundle the certificate is checked whole, and what would not check it is refused", () => {
    const bundle = "sslrootcert=%2Fetc%2Fhostname";
    const target = parseTarget(`postgres://a@db.example/x?${bundle}`, "u");
    expect(target.sslMode).toBe("verify-full");
    expect(target.ssl).toMatchObject({ rejectUnauthorized: true, servername: "db.example" });
    expect(parseTarget(`postgres://a@h/x?sslmode=require&${bundle}`, "u").ssl?.rejectUnauthorized).toBe(true);
    for (const rest of ["h/x?sslmode=disable", "h/x?sslmode=prefer", "/x?host=/run/postgresql"])
      expect([rest, codeOf(`postgres://a@${rest}&${bundle}`)]).toEqual([rest, "invalid_target"]);
  });

  test("a certificate that is a pipe is refused, not waited for", () => {
    const directory = mkdtempSync(join(tmpdir(), "ptah-url-"));
    const pipe = join(directory, "ca.crt");
    execFileSync("mkfifo", [pipe]);
    try {
      expect(codeOf(`postgres://a@h/x?sslmode=verify-ca&sslrootcert=${pipe}`)).toBe("invalid_target");
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("what is not honoured is refused by its name", () => {
    for (const url of [
      "postgres://a@h,i/x",
      "postgres://a@h/x?sslmode=allow",
      "postgres://a@h/x?sslcrl=y",
      "postgres://a@h/",
      "postgres://h/x",
      "mysql://a@h/x",
      "postgres://a@h/x?user=b&user=c",
    ]) {
      expect([url, codeOf(url)]).toEqual([url, "invalid_target"]);
    }
  });

  test("a part of an unescaped password is never taken for a host, a parameter or a database, nor repeated", () => {
    for (const url of [
      "postgres://u:top@secret@h/x",
      "postgres://u:12?secret@h/x",
      "postgres://u:12/secret@h",
      "postgres://u:top#secret@h/x",
      "postgres://u:top/secret@h/x",
      "postgres://u:top:secret@@h/x",
      "postgres://u:p@h\u001b[31msecret/x",
    ]) {
      try {
        parseTarget(url, "PTAH_DB_URL");
        expect(url).toBe("refused");
      } catch (error) {
        expect(error).toBeInstanceOf(Refused);
        expect(String(error)).not.toContain("secret");
      }
    }
  });

  test("numbers that are none, or none that a timer holds, are refused", () => {
    for (const query of ["connect_timeout=abc", "connect_timeout=1e9", "connect_timeout=999999999", "port=0x10"])
      expect([query, codeOf(`postgres://a@h/x?${query}`)]).toEqual([query, "invalid_target"]);
    expect(parseTarget("postgres://a@h/x?connect_timeout=0", "u").connectTimeoutMs).toBeUndefined();
    expect(parseTarget("postgres://a@h/x?connect_timeout=7", "u").connectTimeoutMs).toBe(7_000);
  });

  test("what may be printed holds neither user nor password", () => {
    expect(parseTarget("postgres://someone:secret@h/x", "u").display).toBe("postgres://h:5432/x");
  });
});
