import { beforeAll, describe, expect, test } from "bun:test";
import { createAuthority, issue } from "../cluster/native/pki.ts";
import { addDatabase, type Database, secretObject, startDatabase } from "../lab/database.ts";
import { freshNamespace, type KubeObject, LAB_LIMITS, type Lab, openLab } from "../lab/lab.ts";
import {
  approve,
  conditionOf,
  declareResource,
  type ResourceOptions,
  waitForCondition,
  waitForPhase,
  waitForResource,
} from "../lab/subject.ts";

/** A database that cannot be read: named in the condition, tried again by itself, and no secret said on the way. */

const NAMESPACE = "unreachable-database";
const FILES = { "orders.sql": "CREATE TABLE orders (id bigint PRIMARY KEY);" };
const at = (name: string) => ({ namespace: NAMESPACE, name });

let lab: Lab;
let server: Database;

const declare = (name: string, secret: string, more: Partial<ResourceOptions> = {}) =>
  declareResource(lab, { namespace: NAMESPACE, name, files: FILES, secret, ...more });

const sentence = (schema: KubeObject) => conditionOf(schema, "Ready")?.message ?? "";

/** The failure as a person reads it, once a read of this schema failed. */
async function failureOf(name: string): Promise<string> {
  const failed = { type: "ReconciliationFailed", status: "True", reason: "OperationFailed" };
  const schema = await waitForCondition(lab, at(name), failed);
  expect(conditionOf(schema, "Ready")).toMatchObject({ status: "False", reason: "OperationFailed" });
  expect(sentence(schema)).toEndWith("It is tried again after 5s.");
  expect(JSON.stringify(schema.status)).not.toContain(server.password);
  return sentence(schema);
}

beforeAll(async () => {
  lab = await openLab();
  await freshNamespace(lab, NAMESPACE);
  const authority = await createAuthority("scenario authority", new Date());
  const host = `postgres.${NAMESPACE}.svc`;
  const leaf = await issue(authority, { commonName: host, dnsNames: [host], usage: "server" }, new Date());
  await lab.apply(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "server-tls", namespace: NAMESPACE },
      stringData: { "tls.crt": leaf.certificate, "tls.key": leaf.key },
    },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "authority", namespace: NAMESPACE },
      data: { "ca.crt": authority.certificate },
    },
  );
  server = await startDatabase(lab, { namespace: NAMESPACE, tlsSecret: "server-tls" });
  const wrong = server.url.replace(server.password, "not-the-password");
  const verified = async (name: string) =>
    (await addDatabase(lab, server, name)).url.replace("sslmode=disable", "sslmode=verify-full");
  await lab.apply(
    secretObject(NAMESPACE, "wrong-password-url", wrong),
    secretObject(NAMESPACE, "wrong-name-url", server.url.replace("/app?", "/shop?")),
    secretObject(NAMESPACE, "private-ca-url", await verified("private_ca")),
    secretObject(NAMESPACE, "no-ca-url", await verified("no_ca")),
    secretObject(NAMESPACE, "down-url", server.url.replace("@postgres.", "@late.")),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "late", namespace: NAMESPACE },
      spec: { selector: { app: "late" }, ports: [{ port: 5432 }] },
    },
  );
  await declare("wrong-password", "wrong-password-url");
  await declare("wrong-name", "wrong-name-url");
  await declare("private-ca", "private-ca-url");
  await declare("no-ca", "no-ca-url", { caFrom: { name: "nobody-made-it", key: "ca.crt" } });
  await declare("no-secret", "nobody-made-it");
  await declare("down", "down-url");
}, LAB_LIMITS.setUpMs);

describe("what cannot be read is named, and read again by itself", () => {
  test("a password that the server does not take", async () => {
    const said = await failureOf("wrong-password");
    expect(said).toContain("authentication_failed");
    expect(said).toContain("correct the credentials");
    await lab.apply(secretObject(NAMESPACE, "wrong-password-url", server.url));
    await waitForPhase(lab, at("wrong-password"), "AwaitingApproval");
  });

  test("a database that the server does not have", async () => {
    const said = await failureOf("wrong-name");
    expect(said).toContain("database_missing");
    expect(said).toContain("create it or correct the URL");
    await server.sql("create database shop");
    await waitForPhase(lab, at("wrong-name"), "AwaitingApproval");
  });

  test("an authority that nobody named, until somebody names it", async () => {
    const said = await failureOf("private-ca");
    expect(said).toContain("connection_failed");
    expect(said).toContain("caFrom");
    await declare("private-ca", "private-ca-url", { caFrom: { name: "authority", key: "ca.crt" } });
    await approve(lab, at("private-ca"), "private-ca");
    await waitForPhase(lab, at("private-ca"), "InSync");
  });

  test("an authority's ConfigMap that is not there, until it is", async () => {
    const said = await failureOf("no-ca");
    expect(said).toContain("missing_ca");
    expect(said).toContain("spec.target.caFrom");
    const authority = await lab.get("configmap", "authority", NAMESPACE);
    await lab.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "nobody-made-it", namespace: NAMESPACE },
      data: authority?.data,
    });
    await waitForPhase(lab, at("no-ca"), "AwaitingApproval");
  });

  test("a Secret that is not there, until it is", async () => {
    const held = await waitForResource(lab, at("no-secret"), "a Pod that waits for its Secret", (s) =>
      sentence(s).includes("Secret nobody-made-it does not exist"),
    );
    expect(conditionOf(held, "Ready")?.status).toBe("False");
    const url = (await addDatabase(lab, server, "secret_late")).url;
    await lab.apply(secretObject(NAMESPACE, "nobody-made-it", url));
    await waitForPhase(lab, at("no-secret"), "AwaitingApproval");
  });

  test("a server that is down, until it is up", async () => {
    const said = await failureOf("down");
    expect(said).toContain("connection_failed");
    expect(said).toContain("check that the server runs");
    await startDatabase(lab, { namespace: NAMESPACE, name: "late" });
    const late = await lab.get("secret", "late-url", NAMESPACE);
    await lab.apply(secretObject(NAMESPACE, "down-url", Buffer.from(late?.data.url, "base64").toString("utf8")));
    await waitForPhase(lab, at("down"), "AwaitingApproval");
  });
});
