import { expect, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { clusterIdentities, createAuthority, issue, serviceAccountKeys } from "./pki.ts";

const now = new Date();

test("an issued certificate is signed by the authority, matches its key and is not itself an authority", async () => {
  const authority = await createAuthority("test authority", now);
  const leaf = await issue(
    authority,
    { commonName: "someone", organizations: ["group-a", "group-b"], usage: "client" },
    now,
  );
  const parsed = new X509Certificate(leaf.certificate);
  const parent = new X509Certificate(authority.certificate);
  expect(parsed.verify(parent.publicKey)).toBe(true);
  expect(parsed.checkIssued(parent)).toBe(true);
  expect(parsed.checkPrivateKey(createPrivateKey(leaf.key))).toBe(true);
  expect(parsed.ca).toBe(false);
  expect(parent.ca).toBe(true);
  expect(parsed.subject).toContain("CN=someone");
  expect(parsed.subject).toContain("O=group-a");
  expect(parsed.subject).toContain("O=group-b");
  expect(parsed.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("a certificate of another authority does not verify", async () => {
  const [one, other] = [await createAuthority("one", now), await createAuthority("other", now)];
  const leaf = await issue(one, { commonName: "x", usage: "client" }, now);
  expect(new X509Certificate(leaf.certificate).verify(new X509Certificate(other.certificate).publicKey)).toBe(false);
});

test("the API server's certificate holds the address by which Pods call it and the one of the node", async () => {
  const authority = await createAuthority("test authority", now);
  const request = clusterIdentities("10.244.0.1")["apiserver"]!;
  const parsed = new X509Certificate((await issue(authority, request, now)).certificate);
  for (const address of ["127.0.0.1", "10.96.0.1", "10.244.0.1"]) expect(parsed.checkIP(address)).toBe(address);
  expect(parsed.checkHost("kubernetes.default.svc")).toBe("kubernetes.default.svc");
});

test("the kubelet serves under the node address, which the API server checks", async () => {
  const authority = await createAuthority("test authority", now);
  const parsed = new X509Certificate(
    (await issue(authority, clusterIdentities("10.244.0.1")["kubelet-serving"]!, now)).certificate,
  );
  expect(parsed.checkIP("10.244.0.1")).toBe("10.244.0.1");
  expect(parsed.checkIP("10.244.0.2")).toBeUndefined();
});

test("service account keys are a pair", () => {
  const { publicKey, privateKey } = serviceAccountKeys();
  expect(publicKey).toContain("BEGIN PUBLIC KEY");
  expect(createPrivateKey(privateKey).asymmetricKeyType).toBe("ec");
});
