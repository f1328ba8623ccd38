import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "../kube/index.ts";
import { serve } from "../kube/testing.bun.ts";
import { json, refusal, type SeenRequest, type Served } from "../kube/testing.ts";
import { type Rotation, runPass } from "./pass.ts";
import type { Step } from "./plan.ts";
import { belongTogether, fingerprintsOf, namesOf, signedBy } from "./x509.ts";

type Stored = Record<string, unknown> & { metadata: { name: string; resourceVersion: string; uid: string } };

/** An API server's storage of four objects: versions, conflicts, creates and the JSON patches this room sends. */
class Storage {
  readonly objects = new Map<string, Stored>();
  #version = 100;
  /** Runs before a write is looked at, once; stands for another replica. */
  interfere: (() => void) | undefined;

  put(path: string, object: Record<string, unknown>): void {
    this.#version += 1;
    const name = path.split("/").at(-1) ?? "";
    this.objects.set(path, {
      ...object,
      metadata: { name, uid: `uid-${name}`, resourceVersion: String(this.#version) },
    });
  }

  answer(request: SeenRequest): Response {
    if (request.method !== "GET") {
      const interfere = this.interfere;
      this.interfere = undefined;
      interfere?.();
    }
    const found = this.objects.get(request.path);
    if (request.method === "POST") {
      const body = JSON.parse(request.body) as Stored;
      this.put(`${request.path}/${body.metadata.name}`, body);
      return json(this.objects.get(`${request.path}/${body.metadata.name}`), 201);
    }
    if (found === undefined) return refusal(404, "NotFound");
    if (request.method === "GET") return json(found);
    const body = JSON.parse(request.body) as unknown;
    if (request.method === "PUT") {
      if ((body as Stored).metadata.resourceVersion !== found.metadata.resourceVersion) return refusal(409, "Conflict");
      this.put(request.path, body as Stored);
    } else {
      const changed = structuredClone(found);
      for (const { op, path, value } of body as { op: string; path: string; value: unknown }[]) {
        const keys = path.split("/").slice(1);
        const last = keys.pop() ?? "";
        const holder = keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], changed) as Record<
          string,
          unknown
        >;
        if (op === "test" && holder[last] !== value) return refusal(422, "Invalid");
        if (op === "add") holder[last] = value;
      }
      this.put(request.path, changed);
    }
    return json(this.objects.get(request.path));
  }
}

const SECRETS = "/api/v1/namespaces/ptah/secrets";
const MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/ptah-operator-admission";
const VALIDATING = MUTATING.replace("mutating", "validating");
const entry = (name: string, service: string) => ({
  name,
  clientConfig: { service: { name: service, namespace: "ptah" } },
});

const HOUR = 3_600_000;
let storage: Storage;
let server: Served;
let steps: Step[];
let now: number;
let rotation: Rotation;
const stop = new AbortController().signal;

beforeEach(async () => {
  storage = new Storage();
  storage.put(MUTATING, {
    kind: "MutatingWebhookConfiguration",
    apiVersion: "admissionregistration.k8s.io/v1",
    webhooks: [entry("a", "hook"), entry("foreign", "other")],
  });
  storage.put(VALIDATING, {
    kind: "ValidatingWebhookConfiguration",
    apiVersion: "admissionregistration.k8s.io/v1",
    webhooks: [entry("b", "hook"), entry("c", "hook")],
  });
  server = serve((request) => storage.answer(request));
  const file = `${process.env["TMPDIR"] ?? "/tmp"}/ptah-certs-${crypto.randomUUID()}.yaml`;
  await Bun.write(
    file,
    JSON.stringify({
      "current-context": "t",
      contexts: [{ name: "t", context: { cluster: "t", user: "t" } }],
      clusters: [{ name: "t", cluster: { server: server.url } }],
      users: [{ name: "t", user: {} }],
    }),
  );
  const { client } = await connect({ kubeconfig: file }, {}, "test");
  await Bun.file(file).delete();
  steps = [];
  now = Date.now();
  rotation = {
    client,
    places: {
      namespace: "ptah",
      tlsSecret: "tls",
      authoritySecret: "ca",
      configuration: "ptah-operator-admission",
      service: "hook",
    },
    policy: {
      names: ["hook.ptah.svc", "127.0.0.1"],
      renewBeforeMs: 10 * HOUR,
      authorityRenewBeforeMs: 41 * HOUR,
      switchDelayMs: HOUR,
      retireDelayMs: HOUR,
      servingValidityMs: 40 * HOUR,
      authorityValidityMs: 200 * HOUR,
    },
    nowMs: () => now,
    did: (step) => steps.push(step),
  };
});
afterEach(() => server.stop());

const secret = (name: string, key: string): string => {
  const data = storage.objects.get(`${SECRETS}/${name}`)?.["data"] as Record<string, string> | undefined;
  return Buffer.from(data?.[key] ?? "", "base64").toString();
};
const bundles = (): string[] =>
  [MUTATING, VALIDATING].flatMap((path) =>
    ((storage.objects.get(path)?.["webhooks"] ?? []) as { clientConfig: { caBundle?: string } }[]).map(
      ({ clientConfig }) => Buffer.from(clientConfig.caBundle ?? "", "base64").toString(),
    ),
  );

describe("a pass", () => {
  test("bootstraps from nothing: authority, bundles, certificate", async () => {
    await runPass(rotation, stop);
    expect(steps.map(({ kind }) => kind)).toEqual(["create-authority", "publish-bundle", "issue-serving"]);
    const leaf = secret("tls", "tls.crt");
    expect(belongTogether({ certificate: leaf, key: secret("tls", "tls.key") })).toBe(true);
    expect(signedBy(leaf, secret("ca", "ca.crt"))).toBe(true);
    expect(namesOf(leaf)).toEqual(["hook.ptah.svc", "127.0.0.1"]);
    const [a, foreign, b, c] = bundles();
    expect([a, b, c]).toEqual(Array(3).fill(secret("ca", "ca.crt")));
    expect(foreign).toBe("");
  });

  test("starts from empty Secrets as well as from none", async () => {
    storage.put(`${SECRETS}/tls`, { kind: "Secret", apiVersion: "v1", type: "Opaque" });
    storage.put(`${SECRETS}/ca`, { kind: "Secret", apiVersion: "v1", type: "Opaque" });
    await runPass(rotation, stop);
    expect(steps).toHaveLength(3);
  });

  test("does nothing the second time", async () => {
    const due = await runPass(rotation, stop);
    steps.length = 0;
    expect(await runPass(rotation, stop)).toBe(due);
    expect(steps).toEqual([]);
  });

  test("renews the certificate and, later, the authority by expand, switch and retire", async () => {
    await runPass(rotation, stop);
    const first = secret("ca", "ca.crt");
    now += 35 * HOUR;
    steps.length = 0;
    await runPass(rotation, stop);
    expect(steps).toEqual([{ kind: "issue-serving", why: "expiring" }]);

    now += 130 * HOUR;
    steps.length = 0;
    await runPass(rotation, stop);
    expect(steps.map(({ kind }) => kind)).toEqual(["issue-serving", "stage-authority", "publish-bundle"]);
    expect(fingerprintsOf(bundles()[0] ?? "")).toHaveLength(2);
    expect(signedBy(secret("tls", "tls.crt"), first)).toBe(true);

    now += HOUR;
    steps.length = 0;
    await runPass(rotation, stop);
    expect(steps.map(({ kind }) => kind)).toEqual(["switch-authority", "publish-bundle", "issue-serving"]);
    expect(signedBy(secret("tls", "tls.crt"), first)).toBe(false);
    expect(bundles()[0]).toContain(first.trim());

    now += HOUR;
    steps.length = 0;
    await runPass(rotation, stop);
    expect(steps.map(({ kind }) => kind)).toEqual(["retire-authority", "publish-bundle"]);
    expect(bundles()[0]).not.toContain(first.trim());
  });

  test("a write that another replica was first with is decided again from what is stored", async () => {
    storage.put(`${SECRETS}/ca`, { kind: "Secret", apiVersion: "v1", type: "Opaque" });
    storage.interfere = () => storage.put(`${SECRETS}/ca`, { kind: "Secret", apiVersion: "v1", type: "Opaque" });
    await runPass(rotation, stop);
    expect(steps.map(({ kind }) => kind)).toEqual(["create-authority", "publish-bundle", "issue-serving"]);
    steps.length = 0;
    storage.put(MUTATING, { ...(storage.objects.get(MUTATING) ?? {}), webhooks: [entry("a", "hook")] });
    storage.interfere = () =>
      storage.put(MUTATING, {
        ...(storage.objects.get(MUTATING) ?? {}),
        webhooks: [entry("z", "other"), entry("a", "hook")],
      });
    await runPass(rotation, stop);
    expect(bundles()[0]).toBe("");
    expect(bundles()[1]).toBe(secret("ca", "ca.crt"));
  });

  test("two replicas at once end in one authority that signed what is served", async () => {
    await Promise.all([runPass(rotation, stop), runPass(rotation, stop)]);
    expect(signedBy(secret("tls", "tls.crt"), secret("ca", "ca.crt"))).toBe(true);
    expect(bundles()[0]).toBe(secret("ca", "ca.crt"));
  });

  test("losing the authority's Secret makes another one and goes on trusting what is served", async () => {
    await runPass(rotation, stop);
    const first = secret("ca", "ca.crt");
    storage.objects.delete(`${SECRETS}/ca`);
    steps.length = 0;
    await runPass(rotation, stop);
    expect(steps.map(({ kind }) => kind)).toEqual(["create-authority", "publish-bundle", "issue-serving"]);
    expect(bundles()[0]).toBe(`${secret("ca", "ca.crt")}${first}`);
    now += HOUR;
    await runPass(rotation, stop);
    expect(bundles()[0]).toBe(secret("ca", "ca.crt"));
  });

  test("a key that is not the certificate's own is not served on", async () => {
    await runPass(rotation, stop);
    const data = storage.objects.get(`${SECRETS}/tls`)?.["data"] as Record<string, string>;
    data["tls.key"] = Buffer.from(secret("ca", "ca.key")).toString("base64");
    steps.length = 0;
    await runPass(rotation, stop);
    expect(steps).toEqual([{ kind: "issue-serving", why: "absent" }]);
  });
});
