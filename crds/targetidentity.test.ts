import { describe, expect, test } from "bun:test";
import { sha256Digest } from "./canonical.ts";
import { coordinationDigest } from "./fingerprints.ts";
import { postgresTargetIdentity, targetIdentity } from "./targetidentity.ts";

describe("the identity of a PostgreSQL database URL", () => {
  const digestOf = (url: string, ca?: string) => {
    const identity = postgresTargetIdentity(url, ca);
    return identity.ok ? identity.digest : identity.code;
  };

  test.each([
    ["a rotated password", "postgres://u:one@h/db", "postgres://u:two@h/db"],
    ["the default port spelled out", "postgres://u@h/db", "postgres://u@h:05432/db"],
    ["another scheme of the engine", "pgx://u@h/db", "postgresql://u@h/db"],
    ["the host in capitals", "postgres://u@H.Example/db", "postgres://u@h.example/db"],
    ["a connect timeout", "postgres://u@h/db?connect_timeout=5", "postgres://u@h/db"],
    ["parameters in another order", "postgres://u@h/db?a=1&b=2", "postgres://u@h/db?b=2&a=1"],
    ["overrides instead of parts", "postgres://u@h:1234/db", "postgres://x@y/z?host=h&port=1234&dbname=db&user=u"],
    ["two spellings of an IPv6 address", "postgres://u@[::1]/db", "postgres://u@[0:0::0:1]/db"],
    ["a percent-encoded database", "postgres://u@h/d%62", "postgres://u@h/db"],
  ])("%s changes nothing", (_, one, two) => {
    expect(digestOf(one)).toMatch(/^sha256:/);
    expect(digestOf(one)).toBe(digestOf(two));
  });

  test.each([
    ["another host", "postgres://u@i/db"],
    ["another port", "postgres://u@h:5433/db"],
    ["another database, also by case", "postgres://u@h/DB"],
    ["another user", "postgres://v@h/db"],
    ["another search path", "postgres://u@h/db?search_path=x"],
    ["a socket", "postgres://u@/db?host=/var/run/postgresql"],
  ])("%s is another database", (_, url) => {
    expect(digestOf(url)).toMatch(/^sha256:/);
    expect(digestOf(url)).not.toBe(digestOf("postgres://u@h/db"));
  });

  test("the mounted CA's path is part of it", () => {
    expect(digestOf("postgres://u@h/db", "/ca/ca.crt")).toBe(digestOf("postgres://u@h/db?sslrootcert=%2Fca%2Fca.crt"));
    expect(digestOf("postgres://u@h/db?sslrootcert=a", "/ca/ca.crt")).toBe("ca_given_twice");
  });

  test.each([
    ["mysql://u@h/db", "scheme_not_supported"],
    ["not a url", "url_not_parsable"],
    ["postgres://u@h/db#x", "url_not_parsable"],
    ["postgres://u@h/%zz", "url_not_parsable"],
    ["postgres://u@/db", "host_missing"],
    ["postgres://u@a,b/db", "several_hosts"],
    ["postgres://u@h/db?host=a,b", "several_hosts"],
    ["postgres://u@h:0/db", "port_invalid"],
    ["postgres://u@h:65536/db", "port_invalid"],
    ["postgres://u@h", "database_missing"],
    ["postgres://u@h/a/b", "database_invalid"],
    ["postgres://u@h/db?a=1&a=2", "parameter_repeated"],
    ["postgres://u@h/db?dbname=a&database=a", "parameter_ambiguous"],
    ["postgres://u@h/db?host=", "parameter_empty"],
    ["postgres://u@[::zz]/db", "host_invalid"],
  ])("%s is refused as %s", (url, code) => {
    expect(digestOf(url)).toBe(code);
  });

  test("a refusal holds no part of the URL", () => {
    const refused = postgresTargetIdentity("postgres://svc:hunter2@h/db?a=1&a=2");
    expect(JSON.stringify(refused)).not.toContain("hunter2");
  });
});

describe("the identity of a MySQL database URL", () => {
  const digestOf = (url: string, ca?: string) => {
    const identity = targetIdentity("mysql", url, ca);
    return identity.ok ? identity.digest : identity.code;
  };

  test("is made of scheme, route, database and context", () => {
    expect(
      targetIdentity("mysql", "mariadb://svc:pw@DB.example:3307/App?parseTime=true&tls=true&timeout=5s"),
    ).toMatchObject({
      parts: {
        scheme: "mysql",
        route: "db.example:3307",
        database: "App",
        context: "user=svc&parseTime=true&tls=true",
      },
    });
    expect(targetIdentity("mysql", "svc:pw@unix(/run/mysqld.sock)/app")).toMatchObject({
      parts: { scheme: "mysql", route: "unix:/run/mysqld.sock", database: "app", context: "user=svc&" },
    });
  });

  test.each([
    ["a rotated password", "mysql://u:one@h/db", "mysql://u:two@h/db"],
    ["the default port spelled out", "mysql://u@h/db", "mysql://u@h:3306/db"],
    ["the family's other scheme", "mariadb://u@h/db", "mysql://u@h/db"],
    ["the host in capitals", "mysql://u@H.Example/db", "mysql://u@h.example/db"],
    ["waits and sizes", "mysql://u@h/db?timeout=5s&readTimeout=1s&maxAllowedPacket=0", "mysql://u@h/db"],
    ["parameters in another order", "mysql://u@h/db?loc=UTC&tls=true", "mysql://u@h/db?tls=true&loc=UTC"],
    ["the driver's form", "mysql://u:p@h:3307/db?tls=true", "u:p@tcp(h:3307)/db?tls=true"],
    ["the driver's form with a scheme", "mysql://u@h/db", "mysql://u@tcp(h:3306)/db"],
    ["a password with an @ in the driver's form", "mysql://u:x@h/db", "u:p@tcp(a)/x@tcp(h)/db"],
    ["two spellings of an IPv6 address", "mysql://u@[::1]:3306/db", "u@tcp([0:0::0:1])/db"],
    ["a percent-encoded database", "mysql://u@h/d%62", "mysql://u@h/db"],
  ])("%s changes nothing", (_, one, two) => {
    expect(digestOf(one)).toMatch(/^sha256:/);
    expect(digestOf(one)).toBe(digestOf(two));
  });

  test.each([
    ["another host", "mysql://u@i/db"],
    ["another port", "mysql://u@h:3307/db"],
    ["another database, also by case", "mysql://u@h/DB"],
    ["another user", "mysql://v@h/db"],
    ["another collation", "mysql://u@h/db?collation=utf8mb4_bin"],
    ["another transport", "mysql://u@h/db?tls=skip-verify"],
    ["a socket", "u@unix(/run/mysqld.sock)/db"],
  ])("%s is another database", (_, url) => {
    expect(digestOf(url)).toMatch(/^sha256:/);
    expect(digestOf(url)).not.toBe(digestOf("mysql://u@h/db"));
  });

  test("is never that of another engine", () => {
    const other = postgresTargetIdentity("postgres://u@h:3306/db");
    expect(other.ok && other.digest).not.toBe(digestOf("mysql://u@h:3306/db"));
    expect(targetIdentity("postgresql", "postgres://u@h/db")).toEqual(postgresTargetIdentity("postgres://u@h/db"));
  });

  test("the mounted CA's path is part of it", () => {
    expect(digestOf("mysql://u@h/db", "/ca/ca.crt")).toBe(digestOf("mysql://u@h/db?sslrootcert=%2Fca%2Fca.crt"));
    expect(digestOf("mysql://u@h/db", "/ca/ca.crt")).not.toBe(digestOf("mysql://u@h/db"));
    expect(digestOf("mysql://u@h/db?sslrootcert=/a", "/ca/ca.crt")).toBe("ca_given_twice");
  });

  test.each([
    ["postgres://u@h/db", "scheme_not_supported"],
    ["h/db", "url_not_parsable"],
    ["mysql://u@h/db?tls=true#x", "url_not_parsable"],
    ["mysql://u@h/d%zz", "url_not_parsable"],
    ["mysql://u@/db", "host_missing"],
    ["u@tcp()/db", "host_missing"],
    ["u@unix(run/mysqld.sock)/db", "host_invalid"],
    ["mysql://u@a,b/db", "several_hosts"],
    ["u@tcp(a:1,b:2)/db", "several_hosts"],
    ["mysql://u@h:0/db", "port_invalid"],
    ["mysql://u@h:65536/db", "port_invalid"],
    ["mysql://u@[::1]/db", "port_missing"],
    ["mysql://u@[::zz]:3306/db", "host_invalid"],
    ["mysql://u@h", "database_missing"],
    ["mysql://u@h/", "database_missing"],
    ["mysql://u@h/a/b", "database_invalid"],
    ["mysql://u@h/a%2Fb", "database_invalid"],
    ["mysql://u@h/a%3fb", "database_invalid"],
    ["mysql://u@h/a%25b", "database_invalid"],
    ["mysql://u@h/db?tls=true&tls=false", "parameter_repeated"],
    ["mysql://u@h/db?multiStatements=true", "multi_statements"],
    ["mysql://u@h/db?sql_mode=ANSI", "parameter_not_supported"],
  ])("%s is refused as %s", (url, code) => {
    expect(digestOf(url)).toBe(code);
  });

  test("a refusal holds no part of the URL", () => {
    for (const url of [
      "mysql://svc:hunter2@h/db?sql_mode=hunter2",
      "svc:hunter?2@tcp(h)/db",
      "mysql://svc:hunter2@a,b/db",
    ]) {
      const refused = targetIdentity("mysql", url);
      expect(refused.ok).toBe(false);
      expect(JSON.stringify(refused)).not.toContain("hunter");
    }
  });

  test("the realm of a MySQL database is its own, whichever way the engine is spelled", () => {
    const of = (engine: string) =>
      coordinationDigest("shop", {
        engine,
        coordinationKey: "orders",
        sharedRealm: false,
        urlFrom: { name: "db", key: "url" },
      });
    expect(of("MySQL")).toBe(of("MariaDB") ?? "");
    expect(of("MySQL")).not.toBe(of("PostgreSQL") ?? "");
    expect(of("MySQL")).toBe(
      sha256Digest('{"contract_version":1,"engine":"mysql","namespace":"shop","coordination_key":"orders"}'),
    );
  });
});
