import { afterEach, describe, expect, test } from "bun:test";
import { KubeClient, metadataOf } from "./client.ts";
import { isKubeError, type KubeError, orAbsent } from "./errors.ts";
import { bunFetch } from "./fetch.bun.ts";
import { kinds } from "./kinds.ts";
import { serve } from "./testing.bun.ts";
import { configMap, type Handler, json, quickPorts, refusal, type Served, streamed } from "./testing.ts";
import { transportTo } from "./transport.ts";

const running: Served[] = [];
afterEach(async () => {
  for (const served of running.splice(0)) await served.stop();
});

function clientFor(
  handler: Handler,
  waits: number[] = [],
  token: () => string = () => "t",
  more: { readonly unpacked?: boolean } = {},
): { client: KubeClient; served: Served } {
  const served = serve(handler);
  running.push(served);
  const connection = {
    server: served.url,
    namespace: "default",
    ...more,
    credentials: async () => ({ headers: { authorization: `Bearer ${token()}` }, tls: { verify: true } }),
  };
  return { client: new KubeClient(transportTo(connection, bunFetch, "ptah-test/1", quickPorts(waits))), served };
}

async function failure(call: Promise<unknown>): Promise<KubeError> {
  try {
    await call;
  } catch (error) {
    if (isKubeError(error)) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}

const at = { namespace: "shop", name: "files" };

describe("reading", () => {
  test("an object is asked for under its path, with user agent and credentials, and comes back typed", async () => {
    const { client, served } = clientFor(() => json(configMap("files", "7", { a: "1" })));
    const found = await client.get(kinds.ConfigMap, at);
    expect(found.data).toEqual({ a: "1" });
    expect(served.requests[0]?.path).toBe("/api/v1/namespaces/shop/configmaps/files");
    expect(served.requests[0]?.headers.get("user-agent")).toBe("ptah-test/1");
    expect(served.requests[0]?.headers.get("authorization")).toBe("Bearer t");
  });

  test("a server that is near is asked not to pack its answers, another is left free to", async () => {
    const answer = () => json(configMap("files", "7", {}));
    const near = clientFor(answer, [], () => "t", { unpacked: true });
    const far = clientFor(answer);
    await Promise.all([near.client.get(kinds.ConfigMap, at), far.client.get(kinds.ConfigMap, at)]);
    expect(near.served.requests[0]?.headers.get("accept-encoding")).toBe("identity");
    expect(far.served.requests[0]?.headers.get("accept-encoding")).toContain("gzip");
  });

  test("an object that does not exist is NotFound, or absent for who asks so", async () => {
    const { client } = clientFor(() => refusal(404, "NotFound"));
    expect((await failure(client.get(kinds.ConfigMap, at))).code).toBe("NotFound");
    expect(await orAbsent(client.get(kinds.ConfigMap, at))).toBeUndefined();
  });

  test("an object of another shape is Malformed and names the place", async () => {
    const { client } = clientFor(() => json({ metadata: { name: "files" } }));
    const error = await failure(client.get(kinds.ConfigMap, at));
    expect(error.code).toBe("Malformed");
    expect(error.message).toContain("metadata.uid");
  });

  test("a list follows its continue tokens and gives each object its kind", async () => {
    const { client, served } = clientFor((request) =>
      request.query.get("continue") === null
        ? json({ metadata: { resourceVersion: "9", continue: "next" }, items: [configMap("a", "1")] })
        : json({ metadata: { resourceVersion: "9" }, items: [configMap("b", "2")] }),
    );
    const list = await client.list(kinds.ConfigMap, { labelSelector: "x=y" }, { pageItems: 1 });
    expect(list.items.map((item) => item.metadata.name)).toEqual(["a", "b"]);
    expect(list.items[0]?.kind).toBe("ConfigMap");
    expect(list.resourceVersion).toBe("9");
    expect(served.requests[0]?.query.get("limit")).toBe("1");
    expect(served.requests[1]?.query.get("labelSelector")).toBe("x=y");
  });

  test("a page token that expired starts the list over, once", async () => {
    let expired = 0;
    const { client } = clientFor((request) => {
      if (request.query.get("continue") === null)
        return json({ metadata: { continue: "old" }, items: [configMap("a", "1")] });
      expired += 1;
      return expired === 1 ? refusal(410, "Expired") : json({ metadata: { resourceVersion: "3" }, items: [] });
    });
    expect((await client.list(kinds.ConfigMap, {})).items.map((item) => item.metadata.name)).toEqual(["a"]);
  });

  test("more objects than the caller can bear are refused", async () => {
    const { client } = clientFor(() => json({ metadata: {}, items: [configMap("a", "1"), configMap("b", "1")] }));
    expect((await failure(client.list(kinds.ConfigMap, {}, { itemsMax: 1 }))).code).toBe("TooLarge");
  });

  test("metadata-only reads ask the server to leave the content out", async () => {
    const { client, served } = clientFor(() => json(configMap("files", "7")));
    await client.get(metadataOf(kinds.ConfigMap), at);
    expect(served.requests[0]?.headers.get("accept")).toContain("as=PartialObjectMetadata;");
  });

  test("an answer that does not come in time is a Timeout that stored nothing", async () => {
    const { client } = clientFor(() => new Promise<Response>(() => undefined));
    const error = await failure(client.get(kinds.ConfigMap, at, { timeoutMs: 30 }));
    expect([error.code, error.committed]).toEqual(["Timeout", "no"]);
  });

  test("a body that stops in the middle is a Timeout, too", async () => {
    const { client } = clientFor(() => streamed(["{"], true));
    expect((await failure(client.get(kinds.ConfigMap, at, { timeoutMs: 50 }))).code).toBe("Timeout");
  });

  test("a caller that stops ends its call as Aborted", async () => {
    const stopper = new AbortController();
    const { client } = clientFor(() => new Promise<Response>(() => undefined));
    const call = failure(client.get(kinds.ConfigMap, at, { signal: stopper.signal }));
    stopper.abort();
    expect((await call).code).toBe("Aborted");
  });
});

describe("refusals that are safe to repeat", () => {
  test("429 is repeated after Retry-After, and the write happens once", async () => {
    const waits: number[] = [];
    const { client, served } = clientFor(
      (_, index) =>
        index === 0 ? refusal(429, "TooManyRequests", { "retry-after": "2" }) : json(configMap("files", "1"), 201),
      waits,
    );
    await client.create(kinds.ConfigMap, "shop", { metadata: { name: "files" } });
    expect(waits).toEqual([2000]);
    expect(served.requests.length).toBe(2);
  });

  test("a Retry-After beyond our bound is reported with its wait instead of followed", async () => {
    const { client, served } = clientFor(() => refusal(429, "TooManyRequests", { "retry-after": "60" }));
    const error = await failure(client.create(kinds.ConfigMap, "shop", {}));
    expect([error.code, error.committed, error.retryAfterMs]).toEqual(["TooManyRequests", "no", 60_000]);
    expect(served.requests.length).toBe(1);
  });

  test("401 is repeated once with credentials read anew", async () => {
    let token = "old";
    const { client, served } = clientFor(
      (request) =>
        request.headers.get("authorization") === "Bearer new"
          ? json(configMap("files", "1"))
          : refusal(401, "Unauthorized"),
      [],
      () => {
        const now = token;
        token = "new";
        return now;
      },
    );
    await client.get(kinds.ConfigMap, at);
    expect(served.requests.length).toBe(2);
  });

  test("401 with fresh credentials is Unauthorized", async () => {
    const { client, served } = clientFor(() => refusal(401, "Unauthorized"));
    expect((await failure(client.get(kinds.ConfigMap, at))).code).toBe("Unauthorized");
    expect(served.requests.length).toBe(2);
  });
});

describe("writing", () => {
  test("a merge patch carries its preconditions to the server", async () => {
    const { client, served } = clientFor(() => json(configMap("files", "8")));
    const patch = { type: "merge", body: { status: { a: null } }, resourceVersion: "7", uid: "u" } as const;
    await client.patch(kinds.ConfigMap, at, patch, { subresource: "status" });
    expect(served.requests[0]?.path.endsWith("/configmaps/files/status")).toBe(true);
    expect(served.requests[0]?.headers.get("content-type")).toBe("application/merge-patch+json");
    expect(JSON.parse(served.requests[0]?.body ?? "")).toEqual({
      status: { a: null },
      metadata: { resourceVersion: "7", uid: "u" },
    });
  });

  test("another UID than the patch names is a conflict, as the API server words it", async () => {
    const message = 'ConfigMap "files" is invalid: metadata.uid: Invalid value: "u": field is immutable';
    const { client } = clientFor(() => json({ kind: "Status", reason: "Invalid", code: 422, message }, 422));
    const error = await failure(client.patch(kinds.ConfigMap, at, { type: "merge", body: {}, uid: "u" }));
    expect([error.code, error.committed]).toEqual(["Conflict", "no"]);
  });

  test("a delete carries UID and version as preconditions", async () => {
    const { client, served } = clientFor(() => json({ kind: "Status" }));
    await client.delete(kinds.ConfigMap, at, { uid: "u", resourceVersion: "7" });
    expect(JSON.parse(served.requests[0]?.body ?? "").preconditions).toEqual({ uid: "u", resourceVersion: "7" });
  });

  test.each([
    [409, "Conflict", "Conflict", "no"],
    [409, "AlreadyExists", "AlreadyExists", "no"],
    [403, "Forbidden", "Forbidden", "no"],
    [422, "Invalid", "Invalid", "no"],
    [413, "RequestEntityTooLarge", "TooLarge", "no"],
    [500, "InternalError", "Unavailable", "maybe"],
    [503, "ServiceUnavailable", "Unavailable", "maybe"],
    [504, "Timeout", "Timeout", "maybe"],
  ] as const)("%d %s is %s and stored: %s", async (status, reason, code, committed) => {
    const { client } = clientFor(() => refusal(status, reason));
    const error = await failure(client.create(kinds.ConfigMap, "shop", {}));
    expect([error.code, error.committed]).toEqual([code, committed]);
  });

  test("a write that a webhook's failure kept out was not stored, although the server calls it its own error", async () => {
    const message = 'Internal error occurred: failed calling webhook "v.example": no endpoints available';
    const { client } = clientFor(() => json({ kind: "Status", reason: "InternalError", code: 500, message }, 500));
    const error = await failure(client.create(kinds.ConfigMap, "shop", {}));
    expect([error.code, error.committed]).toEqual(["Unavailable", "no"]);
  });

  test("a write whose answer never came may have happened", async () => {
    const { client } = clientFor(() => new Promise<Response>(() => undefined));
    const error = await failure(client.create(kinds.ConfigMap, "shop", {}, { timeoutMs: 30 }));
    expect([error.code, error.committed]).toEqual(["Timeout", "maybe"]);
  });

  test("a write to a server that cannot be reached did not happen", async () => {
    const { client, served } = clientFor(() => json({}));
    await served.stop();
    const error = await failure(client.create(kinds.ConfigMap, "shop", {}));
    expect([error.code, error.committed]).toEqual(["Unavailable", "no"]);
  });

  test("a write that was taken but whose answer cannot be read may have happened", async () => {
    const { client } = clientFor(() => new Response("gone with the wind", { status: 201 }));
    const error = await failure(client.create(kinds.ConfigMap, "shop", {}));
    expect([error.code, error.committed]).toEqual(["Malformed", "maybe"]);
  });
});

describe("logs", () => {
  const pod = { namespace: "shop", name: "p" };

  test("the last bytes of a log are kept, whatever pieces it arrives in", async () => {
    const { client, served } = clientFor(() => streamed(["abc", "defg", "h"], false));
    const tail = await client.logTail(pod, { container: "ptah", tailBytes: 4, timeoutMs: 5_000 });
    expect(new TextDecoder().decode(tail)).toBe("efgh");
    expect(served.requests[0]?.query.get("container")).toBe("ptah");
  });

  test("a log that stops arriving ends at its deadline", async () => {
    const { client } = clientFor(() => streamed(["abc"], true));
    const error = await failure(client.logTail(pod, { container: "ptah", tailBytes: 4, timeoutMs: 40 }));
    expect(error.code).toBe("Timeout");
  });
});
