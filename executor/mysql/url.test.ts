import { describe, expect, test } from "bun:test";
import { Refused } from "../contract.ts";
import { PARAMETERS } from "./parameters.ts";
import { isMysqlUrl, parseMysqlTarget } from "./url.ts";

const parse = (url: string) => parseMysqlTarget(url, "the URL");

/** The sentence of a refusal; the target's display where there is none. */
function outcome(url: string): string {
  try {
    return parse(url).display;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

describe("a MySQL URL", () => {
  test("names the database in either form", () => {
    const inUrl = parse("mysql://app:p%40ss@db.example:3307/orders?timeout=2s&collation=utf8mb4_bin");
    expect(inUrl).toMatchObject({
      host: "db.example",
      port: 3307,
      user: "app",
      password: "p@ss",
      database: "orders",
      tls: "off",
      connectTimeoutMs: 2_000,
      collation: "utf8mb4_bin",
      display: "mysql://db.example:3307/orders",
    });
    expect(parse("app:p@ss@tcp(db.example:3307)/orders")).toMatchObject({
      host: "db.example",
      password: "p@ss",
      port: 3307,
    });
    expect(parse("mariadb://app@db.example/orders")).toMatchObject({ port: 3306, password: undefined });
    expect(parse("app@unix(/run/db.sock)/orders")).toMatchObject({ socketPath: "/run/db.sock", database: "orders" });
    expect(parse("mysql://app@[::1]:3306/orders")).toMatchObject({ host: "::1", port: 3306 });
  });

  test("is told from a PostgreSQL one", () => {
    expect(["mysql://h/d", "mariadb://h/d", "u@tcp(h)/d", "u:p@tcp(h:1"].map(isMysqlUrl)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(["postgres://u@h/d", "postgresql://h/d"].map(isMysqlUrl)).toEqual([false, false]);
  });

  test("that cannot be used is refused with a sentence that holds neither user nor password", () => {
    const wrong: Readonly<Record<string, string>> = {
      "mysql://secret:word@/db": "names no host",
      "mysql://@h/db": "names no user",
      "mysql://secret:word@h/": "names no single database",
      "mysql://secret:word@h/a/b": "is not of the form mysql://user@host:port/database or",
      "mysql://secret:word@h:0/db": "has an invalid port",
      "mysql://secret:word@h/db?timeout=0s": "without an end",
      "mysql://secret:word@h": "is not of the form",
      "secret:word@tcp(h:3306": "or user@tcp(host:port)/database",
      "mysql://secret:word@[::1]/db": "without a port",
      "mysql://secret:word@h/a%2fb": "encoded slash",
      "mysql://secret:word@a,b/db": "more than one host",
      "mysql://secret:%zz@h/db": "broken percent escape",
      "mysql://secret:word@h/db?tls=true&tls=false": "repeats",
      "mysql://secret:word@h/db?tls=mine": "may be true, false, skip-verify or preferred",
      "mysql://secret:word@h/db?multiStatements=true": "multiStatements",
      "mysql://secret:word@h/db?sql_mode=ANSI": 'parameter "sql_mode"',
      "mysql://secret:word@h/db?sslrootcert=/nowhere/ca.pem": "cannot be read",
      "mysql://secret:word@h/db?sslrootcert=/etc/hostname&tls=skip-verify": "would not check it",
      "secret:word@unix(/s)/db?tls=true": "TLS on a local socket",
    };
    for (const [url, part] of Object.entries(wrong)) {
      expect(outcome(url)).toContain(part);
      expect(outcome(url)).not.toContain("secret");
      expect(outcome(url)).not.toContain("word@");
    }
  });

  test("a CA bundle means a checked session", () => {
    const target = parse("mysql://u@h/db?sslrootcert=%2Fetc%2Fhostname");
    expect(target.tls).toBe("verified");
    expect(target.ca?.length).toBeGreaterThan(0);
    expect(["true", "skip-verify", "preferred", "false"].map((tls) => parse(`mysql://u@h/db?tls=${tls}`).tls)).toEqual([
      "verified",
      "unverified",
      "preferred",
      "off",
    ]);
  });

  test("every parameter of the reference's list is honoured, idle or refused by name", () => {
    const reference =
      "allowCleartextPasswords allowFallbackToPlaintext allowNativePasswords allowOldPasswords checkConnLiveness clientFoundRows collation columnsWithAlias compress connectionAttributes interpolateParams loc maxAllowedPacket parseTime readTimeout rejectReadOnly serverPubKey timeTruncate timeout tls writeTimeout".split(
        " ",
      );
    for (const name of reference) expect(Object.keys(PARAMETERS)).toContain(name);
    for (const [name, rule] of Object.entries(PARAMETERS)) {
      if (rule.kind === "refused") expect(outcome(`mysql://u@h/db?${name}=1`)).toContain(`"${name}"`);
    }
  });
});
