import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createAuthority, issueServing } from "../certs/x509.ts";
import { KubeClient } from "./client.ts";
import { isKubeError } from "./errors.ts";
import { bunFetch, type TlsMaterial } from "./fetch.bun.ts";
import { serve } from "./testing.bun.ts";
import { json, quickPorts, type Served } from "./testing.ts";
import { transportTo } from "./transport.ts";

const DAY_MS = 86_400_000;
let served: Served;
let ca = "";
let otherCa = "";

beforeAll(async () => {
  const now = Date.now();
  const authority = await createAuthority(now, DAY_MS);
  const pair = await issueServing(authority, ["127.0.0.1", "kubernetes"], now, DAY_MS);
  ca = authority.certificate;
  otherCa = (await createAuthority(now, DAY_MS)).certificate;
  served = serve(() => json({ gitVersion: "v1" }), { cert: pair.certificate, key: pair.key });
});

afterAll(async () => {
  await served.stop();
});

function clientWith(tls: TlsMaterial): KubeClient {
  const connection = { server: served.url, namespace: "default", credentials: async () => ({ headers: {}, tls }) };
  return new KubeClient(transportTo(connection, bunFetch, "ptah-test/1", quickPorts()));
}

describe("TLS to an API server", () => {
  test("a server of the configured authority is spoken to", async () => {
    expect(await clientWith({ ca, verify: true }).raw("/version")).toContain("v1");
  });

  test.each([
    ["of another authority", () => ({ ca: otherCa, verify: true })],
    ["of no authority that is known", () => ({ verify: true })],
    ["under another name than the kubeconfig's", () => ({ ca, serverName: "elsewhere.example", verify: true })],
  ])("a server %s is refused, and nothing was sent to it", async (_, tls) => {
    const seen = served.requests.length;
    const error = await clientWith(tls())
      .create(
        { group: "", version: "v1", plural: "x", kind: "X", namespaced: false, parse: (raw) => raw as never },
        undefined,
        {},
      )
      .catch((thrown: unknown) => thrown);
    expect(isKubeError(error, "Unavailable")).toBe(true);
    expect((error as { committed?: string }).committed).toBe("no");
    expect(served.requests.length).toBe(seen);
  });

  test("insecure-skip-tls-verify is obeyed, and only then", async () => {
    expect(await clientWith({ verify: false }).raw("/version")).toContain("v1");
  });
});
