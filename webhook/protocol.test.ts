import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { KubeError } from "../kube/errors.ts";
import { until } from "../kube/testing.ts";
import { admissionApp, healthApp, type ReviewPorts, RULES } from "./app.ts";
import { TlsListener } from "./listener.bun.ts";
import type { Reads } from "./reads.ts";
import { CertificateKeeper } from "./server.ts";
import { approvalObject, config, NOW, plan, readsOf, schema } from "./testing.ts";
import { selfSigned } from "./testing-certificate.ts";

const APPROVAL = "/validate-operator-ptah-run-v1alpha1-ptahschemaapproval";
const STAMP = "/mutate-operator-ptah-run-v1alpha1-ptahschemaapproval";

const review = (over: object = {}) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "abc",
    operation: "CREATE",
    resource: { group: "operator.ptah.run", version: "v1alpha1", resource: "ptahschemaapprovals" },
    namespace: "shop",
    name: "ok",
    userInfo: { username: "ann", uid: "u-ann", groups: ["dba"] },
    object: approvalObject(),
    oldObject: null,
    dryRun: false,
    ...over,
  },
});

function ports(reads: Reads, failures: string[] = []): ReviewPorts {
  return {
    reads,
    config: config(),
    now: () => NOW,
    monotonicMs: () => performance.now(),
    reviewed: () => undefined,
    failed: (_, message) => failures.push(message),
  };
}

const post = (app: ReturnType<typeof admissionApp>, path: string, body: unknown) =>
  app.request(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });

interface Answer {
  readonly response: {
    uid: string;
    allowed: boolean;
    patchType?: string;
    patch?: string;
    status?: { code: number; message: string; reason: string };
  };
}
const answerOf = async (response: Response | Promise<Response>) => ((await (await response).json()) as Answer).response;

describe("the admission protocol", () => {
  test("answers a mutating review with a JSON patch of its own UID", async () => {
    const answer = await answerOf(post(admissionApp(ports(readsOf())), STAMP, review()));
    expect(answer).toMatchObject({ uid: "abc", allowed: true, patchType: "JSONPatch" });
    const patch = JSON.parse(Buffer.from(answer.patch ?? "", "base64").toString()) as { path: string }[];
    expect(patch.map(({ path }) => path)).toEqual(["/spec/approver", "/spec/approvedAt", "/spec/mutationRequestUID"]);
  });
  test("answers a refusal with its code, reason and sentence", async () => {
    const answer = await answerOf(post(admissionApp(ports(readsOf())), APPROVAL, review()));
    expect(answer).toMatchObject({ uid: "abc", allowed: false, status: { code: 422, reason: "Invalid" } });
  });
  test("lets a stamped approval of the standing plan through", async () => {
    const stamps = {
      approver: { username: "ann", uid: "u-ann", groups: ["dba"] },
      approvedAt: NOW.toISOString(),
      mutationRequestUID: "x",
    };
    const app = admissionApp(ports(readsOf({ schema: schema(), plan })));
    expect(await answerOf(post(app, APPROVAL, review({ object: approvalObject(stamps) })))).toEqual({
      uid: "abc",
      allowed: true,
    });
  });
  test("refuses every rule's request where the API server cannot be read, and says nothing of why to the client", async () => {
    const failures: string[] = [];
    const broken = () =>
      Promise.reject(new KubeError({ code: "Unavailable", committed: "no" }, "dial 10.0.0.1: secret detail"));
    const brokenReads: Reads = {
      ...{ schema: broken, plan: broken, migration: broken, migrationPlan: broken },
      ...{ job: broken, configMap: broken },
    };
    const app = admissionApp(ports(brokenReads, failures));
    const stamps = {
      approver: { username: "ann", uid: "u-ann", groups: ["dba"] },
      approvedAt: NOW.toISOString(),
      mutationRequestUID: "x",
    };
    const answer = await answerOf(post(app, APPROVAL, review({ object: approvalObject(stamps) })));
    expect(answer).toMatchObject({ allowed: false, status: { code: 500 } });
    expect(answer.status?.message).not.toContain("secret");
    expect(failures).toEqual(["dial 10.0.0.1: secret detail"]);
  });
  test("refuses what is no AdmissionReview", async () => {
    const app = admissionApp(ports(readsOf()));
    for (const body of [
      "",
      "{",
      "[]",
      { ...review(), apiVersion: "admission.k8s.io/v1beta1" },
      { ...review(), request: {} },
    ]) {
      expect((await post(app, APPROVAL, body)).status).toBe(400);
    }
  });
  test("lets deletions pass: no rule is about them", async () => {
    for (const { path } of RULES) {
      const answer = await answerOf(
        post(
          admissionApp(ports(readsOf())),
          path,
          review({ operation: "DELETE", object: null, oldObject: approvalObject() }),
        ),
      );
      expect(answer).toEqual({ uid: "abc", allowed: true });
    }
  });
  test("reads objects whose maps and lists Go wrote as null", async () => {
    const object = {
      ...approvalObject(),
      metadata: { name: "x", labels: null, annotations: null, finalizers: null, ownerReferences: null },
    };
    expect(await answerOf(post(admissionApp(ports(readsOf())), STAMP, review({ object })))).toMatchObject({
      allowed: true,
    });
  });
});

describe("serving", () => {
  let directory: string;
  let listener: TlsListener;
  let keeper: CertificateKeeper;
  const problems: string[] = [];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "ptah-webhook-"));
    problems.length = 0;
    const app = admissionApp(ports(readsOf({ schema: schema(), plan })));
    listener = new TlsListener({ hostname: "127.0.0.1", port: 0 }, (request) => app.fetch(request), 200);
    keeper = new CertificateKeeper({
      directory,
      listener,
      nowMs: () => Date.now(),
      sleep: () => Promise.resolve(),
      serving: () => undefined,
      problem: (sentence) => problems.push(sentence),
    });
  });
  afterEach(async () => {
    await listener.stop();
    rmSync(directory, { recursive: true });
  });

  const write = (pair: { certificate: string; key: string }) => {
    writeFileSync(join(directory, "tls.crt"), pair.certificate);
    writeFileSync(join(directory, "tls.key"), pair.key);
  };
  const ready = () => healthApp({ notReady: () => keeper.notReady(), metrics: async () => "" }).request("/readyz");
  const fingerprint = () =>
    new Promise<string>((resolve, reject) => {
      const socket = tlsConnect({ host: "127.0.0.1", port: listener.port ?? 0, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on("error", reject);
    });

  test("is not ready before there is a certificate, nor with one that does not fit its key or has ended", async () => {
    await keeper.look();
    expect((await ready()).status).toBe(503);
    write({ certificate: (await selfSigned(3600)).certificate, key: (await selfSigned(3600)).key });
    await keeper.look();
    expect(await (await ready()).text()).toContain("not the key of");
    write(await selfSigned(-10));
    await keeper.look();
    expect(await (await ready()).text()).toContain("expired");
    write(await selfSigned(3600));
    await keeper.look();
    expect((await ready()).status).toBe(200);
  });

  test("keeps the certificate it has when the files break", async () => {
    const pair = await selfSigned(3600);
    write(pair);
    await keeper.look();
    const before = await fingerprint();
    writeFileSync(join(directory, "tls.key"), "broken");
    await keeper.look();
    expect(problems).toHaveLength(1);
    expect(await fingerprint()).toBe(before);
  });

  test("changes the certificate under load without a failed request", async () => {
    write(await selfSigned(3600));
    await keeper.look();
    const first = await fingerprint();
    let stop = false;
    let done = 0;
    const errors: unknown[] = [];
    const client = async () => {
      while (!stop) {
        try {
          const url = `https://127.0.0.1:${listener.port}${STAMP}`;
          const response = await fetch(url, {
            method: "POST",
            body: JSON.stringify(review()),
            tls: { rejectUnauthorized: false },
          });
          expect((await answerOf(response)).allowed).toBe(true);
          done += 1;
        } catch (error) {
          errors.push(error);
        }
      }
    };
    const clients = Array.from({ length: 8 }, client);
    const answered = async (count: number) => {
      const goal = done + count;
      await until(() => done >= goal, "requests are answered");
    };
    for (let rotation = 1; rotation <= 5; rotation += 1) {
      await answered(100);
      write(await selfSigned(3600));
      await keeper.look();
      await until(() => listener.retiring === 0, "the listener before has ended");
      await answered(100);
      expect(await fingerprint()).not.toBe(first);
    }
    stop = true;
    await Promise.all(clients);
    expect(errors).toEqual([]);
  }, 20_000);
});
