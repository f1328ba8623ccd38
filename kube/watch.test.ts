import { afterEach, describe, expect, test } from "bun:test";
import { KubeClient } from "./client.ts";
import { bunFetch } from "./fetch.bun.ts";
import { kinds } from "./kinds.ts";
import type { ConfigMap } from "./objects.ts";
import { type Change, Store } from "./store.ts";
import { serve } from "./testing.bun.ts";
import { configMap, event, type Handler, json, quickPorts, refusal, type Served, streamed, until } from "./testing.ts";
import { transportTo } from "./transport.ts";

const running: Served[] = [];
const stoppers: AbortController[] = [];
afterEach(async () => {
  for (const stopper of stoppers.splice(0)) stopper.abort();
  for (const served of running.splice(0)) await served.stop();
});

interface Followed {
  readonly store: Store<ConfigMap, string>;
  readonly changes: Change<string>[];
  readonly errors: string[];
  readonly served: Served;
}

/** Follows config maps of a server whose lists and watches are given; keeps of each the value of `v`. */
function followed(list: Handler, watch: Handler, idleMsMax?: number): Followed {
  let lists = 0;
  let watches = 0;
  const served = serve((request) =>
    request.query.get("watch") === "true" ? watch(request, watches++) : list(request, lists++),
  );
  running.push(served);
  const connection = {
    server: served.url,
    namespace: "default",
    credentials: async () => ({ headers: {}, tls: { verify: true } }),
  };
  const client = new KubeClient(transportTo(connection, bunFetch, "ptah-test/1", quickPorts()));
  const changes: Change<string>[] = [];
  const errors: string[] = [];
  const store = new Store<ConfigMap, string>(
    kinds.ConfigMap,
    { namespace: "shop" },
    {
      keep: (object) => object.data?.["v"] ?? "",
      onChange: (change) => changes.push(change),
      onError: (error) => errors.push(error.code),
      idleMsMax,
    },
  );
  const stopper = new AbortController();
  stoppers.push(stopper);
  store.run(client, stopper.signal, quickPorts()).catch((error: unknown) => errors.push(String(error)));
  return { store, changes, errors, served };
}

const bookmark = (version: string): string =>
  event("BOOKMARK", { kind: "ConfigMap", metadata: { resourceVersion: version } });
const listOf = (version: string, ...items: object[]): Response =>
  json({ metadata: { resourceVersion: version }, items });
const hold = (): Response => streamed([], true);

describe("following a collection", () => {
  test("what was listed and what the watch brings is held; the watch starts at the list's version", async () => {
    const { store, served } = followed(
      () => listOf("5", configMap("a", "1", { v: "one" })),
      () =>
        streamed(
          [event("ADDED", configMap("b", "6", { v: "two" })), event("MODIFIED", configMap("a", "7", { v: "three" }))],
          true,
        ),
    );
    await store.ready;
    await until(() => store.get("shop/a") === "three" && store.get("shop/b") === "two", "both are held");
    const watch = served.requests.find((request) => request.query.get("watch") === "true");
    expect(watch?.query.get("resourceVersion")).toBe("5");
    expect(watch?.query.get("allowWatchBookmarks")).toBe("true");
  });

  test("a deleted object goes", async () => {
    const { store } = followed(
      () => listOf("5", configMap("a", "1")),
      () => streamed([event("DELETED", configMap("a", "6"))], true),
    );
    await store.ready;
    await until(() => store.size === 0, "the object is gone");
  });

  test("a watch that ends in order goes on from the last bookmark", async () => {
    const { served } = followed(
      () => listOf("5"),
      (_, index) => (index === 0 ? streamed([bookmark("42")], false) : hold()),
    );
    await until(() => served.requests.length >= 3, "a second watch");
    expect(served.requests[2]?.query.get("resourceVersion")).toBe("42");
  });

  test("a stream cut inside a line loses nothing that was whole and repeats from there", async () => {
    const half = event("ADDED", configMap("b", "7", { v: "half" })).slice(0, 40);
    const { store, served } = followed(
      () => listOf("5"),
      (_, index) =>
        index === 0 ? streamed([event("ADDED", configMap("a", "6", { v: "whole" })), half], false) : hold(),
    );
    await until(() => served.requests.length >= 3, "a second watch");
    expect(served.requests[2]?.query.get("resourceVersion")).toBe("6");
    expect(store.get("shop/a")).toBe("whole");
    expect(store.get("shop/b")).toBeUndefined();
  });

  test("a line that arrives byte by byte is one event", async () => {
    const { store } = followed(
      () => listOf("5"),
      () => streamed([...event("ADDED", configMap("a", "6", { v: "ü" }))], true),
    );
    await until(() => store.get("shop/a") === "ü", "the event");
  });

  test.each([
    ["as an HTTP status", () => refusal(410, "Expired")],
    [
      "as an event of the stream",
      () => streamed([event("ERROR", { kind: "Status", code: 410, reason: "Expired" })], false),
    ],
  ])("a version that is gone, told %s, lists again and drops what is no more", async (_, gone) => {
    const { store, errors } = followed(
      (_request, index) =>
        index === 0
          ? listOf("5", configMap("a", "1"), configMap("b", "2"))
          : listOf("90", configMap("b", "80", { v: "new" })),
      (_request, index) => (index === 0 ? gone() : hold()),
    );
    await until(() => store.get("shop/b") === "new", "the second list");
    expect(store.get("shop/a")).toBeUndefined();
    expect(errors).toEqual(["Gone"]);
  });

  test("a silent stream is taken for dead and resumed without a new list", async () => {
    const { served, errors } = followed(
      () => listOf("5"),
      () => hold(),
      30,
    );
    await until(() => errors.includes("Timeout") && served.requests.length >= 3, "a second watch");
    expect(served.requests.filter((request) => request.query.get("watch") !== "true").length).toBe(1);
  });

  test("a list that is refused is tried again until it works", async () => {
    const { store, errors } = followed(
      (_, index) => (index < 3 ? refusal(500, "InternalError") : listOf("5", configMap("a", "1"))),
      () => hold(),
    );
    await store.ready;
    expect(errors).toEqual(["Unavailable", "Unavailable", "Unavailable"]);
    expect(store.size).toBe(1);
  });

  test("an unchanged object of a second list is no change", async () => {
    const { changes, served } = followed(
      () => listOf("5", configMap("a", "1")),
      (_, index) => (index === 0 ? refusal(410, "Expired") : hold()),
    );
    await until(() => served.requests.length >= 4, "a second list and watch");
    expect(changes.length).toBe(1);
  });

  test("an answer to a write of ours is held until the watch tells something newer", async () => {
    const { store } = followed(
      () => listOf("5", configMap("a", "5", { v: "listed" })),
      () => hold(),
    );
    await store.ready;
    store.learn(configMap("a", "8", { v: "written" }) as ConfigMap);
    expect(store.get("shop/a")).toBe("written");
    store.learn(configMap("a", "7", { v: "older" }) as ConfigMap);
    expect(store.get("shop/a")).toBe("written");
  });

  test("an older answer does not bring a deleted object back", async () => {
    const { store } = followed(
      () => listOf("5", configMap("a", "5")),
      () => streamed([event("DELETED", configMap("a", "9"))], true),
    );
    await until(() => store.isReady && store.size === 0, "the object is gone");
    store.learn(configMap("a", "8") as ConfigMap);
    expect(store.size).toBe(0);
  });
});
