import { expect, test } from "bun:test";
import { databaseObjects, type EngineName, type PostgresMajor, serverImage } from "../cluster/database-pod.ts";
import type { KubeObject } from "./lab.ts";
import { answerTo, type ServerRequest, type Standing } from "./standing-server.ts";

const IMAGES = {
  postgres15: "docker.io/local/postgres@sha256:15",
  postgres17: "docker.io/local/postgres@sha256:17",
  mariadb: "docker.io/local/mariadb@sha256:a",
  mysql: "docker.io/local/mysql@sha256:b",
};
const request = (engine: EngineName, major?: PostgresMajor): ServerRequest => ({
  namespace: "shop",
  name: "storefront",
  engine,
  ...(major === undefined ? {} : { major }),
});
const namespace: KubeObject = { metadata: { name: "shop" } };
const NOTHING: Standing = { namespace, pod: undefined, secret: undefined };

/** What the API server would show of a server that was started before. */
function started(engine: EngineName, image = IMAGES[serverImage(engine) as keyof typeof IMAGES]): Standing {
  const server = { ...request(engine), image, password: "first", database: "app" };
  // biome-ignore lint/suspicious/noExplicitAny: objects of the API are looked into freely
  const [secret, , pod] = databaseObjects(server) as any[];
  const data = Object.fromEntries(
    Object.entries(secret.stringData as Record<string, string>).map(([key, text]) => [key, btoa(text)]),
  );
  return { namespace, pod, secret: { ...secret, data } };
}

test("where nothing stands, a new password may be made", () => {
  expect(answerTo(request("mysql"), IMAGES, NOTHING)).toEqual({ password: undefined, podStands: false });
});

test("asked for again, a server keeps the password it was started with", () => {
  for (const engine of ["postgresql", "mariadb", "mysql"] as const) {
    expect(answerTo(request(engine), IMAGES, started(engine))).toEqual({ password: "first", podStands: true });
  }
});

test("a server of an earlier build's image is the same server", () => {
  const found = started("mariadb", "docker.io/local/mariadb@sha256:old");
  expect(answerTo(request("mariadb"), IMAGES, found)).toEqual({ password: "first", podStands: true });
});

test("a Secret whose Pod is gone keeps its password: what reads it need not be told another", () => {
  const found = { ...started("postgresql"), pod: undefined };
  expect(answerTo(request("postgresql"), IMAGES, found)).toEqual({ password: "first", podStands: false });
});

const END = "kubectl delete -n shop pod/storefront service/storefront secret/storefront-url --ignore-not-found";

test.each<[string, ServerRequest, Standing, string]>([
  [
    "a namespace that is not there, with the command that makes it",
    request("postgresql"),
    { ...NOTHING, namespace: undefined },
    "there is no namespace shop; make it first: kubectl create namespace shop",
  ],
  [
    "another engine under the name",
    request("mysql"),
    started("postgresql"),
    `shop/storefront is a PostgreSQL 15 server already; take another NAME, or end that one with its data: ${END}`,
  ],
  [
    "another major under the name",
    request("postgresql", 17),
    started("postgresql"),
    `shop/storefront is a PostgreSQL 15 server already; take another NAME, or end that one with its data: ${END}`,
  ],
  [
    "a sibling engine of an earlier build",
    request("mysql"),
    started("mariadb", "docker.io/local/mariadb@sha256:old"),
    `shop/storefront is a MariaDB server already; take another NAME, or end that one with its data: ${END}`,
  ],
  [
    "a Pod that is no server",
    request("mysql"),
    started("mysql", "docker.io/library/nginx:1"),
    `shop/storefront is something else than a server of the lab already; take another NAME, or end that one with its data: ${END}`,
  ],
  [
    "a server whose Secret is gone",
    request("mysql"),
    { ...started("mysql"), secret: undefined },
    `the server shop/storefront runs, and Secret storefront-url does not hold its password; take another NAME, or end that one with its data: ${END}`,
  ],
  [
    "somebody's own Secret",
    request("mysql"),
    { ...NOTHING, secret: { metadata: { name: "storefront-url" }, data: { url: btoa("mysql://a:b@c/d") } } },
    "Secret shop/storefront-url is there and not of such a server; take another NAME, or delete it",
  ],
  [
    "a Secret of another engine's server that is gone",
    request("mysql"),
    { ...started("postgresql"), pod: undefined },
    "Secret shop/storefront-url is there and not of such a server; take another NAME, or delete it",
  ],
])("refused in one sentence: %s", (_, asked, found, refusal) => {
  expect(answerTo(asked, IMAGES, found)).toEqual({ refusal });
});
