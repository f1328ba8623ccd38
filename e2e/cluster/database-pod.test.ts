import { expect, test } from "bun:test";
import { databaseObjects, databaseUrl, ENGINES, type EngineName, isEngineName, serverImage } from "./database-pod.ts";

const server = (engine: EngineName, more: object = {}) => ({
  namespace: "shop",
  name: "storefront",
  engine,
  image: "docker.io/local/x@sha256:0",
  password: "secret",
  database: "app",
  ...more,
});

// biome-ignore lint/suspicious/noExplicitAny: objects of the API are looked into freely
const objectsOf = (engine: EngineName, more: object = {}): any[] => databaseObjects(server(engine, more));

test("a URL names the Service, the port and the account of its engine, and no TLS unless it is asked for", () => {
  expect(databaseUrl(server("postgresql"))).toBe(
    "postgres://postgres:secret@storefront.shop.svc:5432/app?sslmode=disable",
  );
  expect(databaseUrl(server("mariadb"))).toBe("mysql://root:secret@storefront.shop.svc:3306/app?tls=false");
  expect(databaseUrl(server("mysql", { parameters: "tls=true" }), "orders")).toBe(
    "mysql://root:secret@storefront.shop.svc:3306/orders?tls=true",
  );
});

test.each(["postgresql", "mariadb", "mysql"] as const)(
  "a %s Pod keeps the restricted standard, writes into volumes alone and takes its password from the Secret",
  (engine) => {
    const [secret, service, pod] = objectsOf(engine);
    const [container] = pod.spec.containers;
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.volumeMounts.map((one: { mountPath: string }) => one.mountPath)).toEqual(["/data", "/tmp"]);
    expect(JSON.stringify(pod)).not.toContain('"secret"');
    expect(secret.stringData).toEqual({ url: databaseUrl(server(engine)), password: "secret" });
    expect(container.env[0].valueFrom.secretKeyRef).toEqual({ name: secret.metadata.name, key: "password" });
    expect(pod.metadata.labels).toMatchObject(service.spec.selector);
    expect(service.spec.ports[0].port).toBe(ENGINES[engine].port);
  },
);

test("memory and TLS are asked for, and given to any engine", () => {
  const pod = objectsOf("mysql", { storage: "memory", tlsSecret: "storefront-tls" })[2];
  expect(pod.spec.volumes[0].emptyDir.medium).toBe("Memory");
  expect(pod.spec.volumes[2]).toEqual({ name: "tls", secret: { secretName: "storefront-tls" } });
  expect(pod.spec.containers[0].env.slice(2)).toEqual([
    { name: "MYSQL_TLS_CERT", value: "/tls/tls.crt" },
    { name: "MYSQL_TLS_KEY", value: "/tls/tls.key" },
  ]);
});

test("names are quoted as the engine reads them", () => {
  expect(ENGINES.postgresql.quoteName('a"b')).toBe('"a""b"');
  expect(ENGINES.mysql.quoteName("a`b")).toBe("`a``b`");
});

test("an engine is known by its own name, and PostgreSQL's image by its major too", () => {
  expect(isEngineName("mariadb")).toBe(true);
  expect(isEngineName("toString")).toBe(false);
  expect([serverImage("postgresql"), serverImage("postgresql", 17), serverImage("mysql", 17)]).toEqual([
    "postgres15",
    "postgres17",
    "mysql",
  ]);
});
