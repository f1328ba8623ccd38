import { generateKeyPairSync, randomBytes } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { LIMITS } from "../limits.ts";
import { NETWORK } from "./settings.ts";

const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 24 * 3600 * 1000;
/** A clock that steps back a little must not make a new certificate "not yet valid". */
const BACKDATE_MS = 3600 * 1000;

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyedCertificate {
  certificate: string;
  key: string;
}

export interface CertificateAuthority extends KeyedCertificate {
  issuer: x509.X509Certificate;
  signingKey: CryptoKey;
}

export interface LeafRequest {
  commonName: string;
  /** Kubernetes reads a client certificate's organisations as its user's groups. */
  organizations?: readonly string[];
  dnsNames?: readonly string[];
  addresses?: readonly string[];
  usage: "client" | "server";
}

export async function createAuthority(commonName: string, now: Date): Promise<CertificateAuthority> {
  const keys = await crypto.subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
  const issuer = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [commonName] }],
    ...validity(now),
    signingAlgorithm: KEY_ALGORITHM,
    keys: keys as CryptoKeyPair,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey as CryptoKey),
    ],
  });
  return {
    issuer,
    signingKey: keys.privateKey as CryptoKey,
    certificate: pem(issuer),
    key: await exportKey(keys.privateKey as CryptoKey),
  };
}

export async function issue(
  authority: CertificateAuthority,
  request: LeafRequest,
  now: Date,
): Promise<KeyedCertificate> {
  const keys = await crypto.subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
  const alternativeNames = [
    ...(request.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(request.addresses ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  const purpose = request.usage === "server" ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const subject: x509.JsonName = [
    ...(request.organizations ?? []).map((O) => ({ O: [O] })),
    { CN: [request.commonName] },
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject,
    issuer: authority.issuer.subjectName,
    ...validity(now),
    signingAlgorithm: KEY_ALGORITHM,
    publicKey: keys.publicKey as CryptoKey,
    signingKey: authority.signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([purpose]),
      await x509.AuthorityKeyIdentifierExtension.create(authority.issuer),
      ...(alternativeNames.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternativeNames)] : []),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey as CryptoKey) };
}

/** The key pair that signs and checks ServiceAccount tokens. */
export function serviceAccountKeys(): { publicKey: string; privateKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "prime256v1",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
}

/** Who takes part in the cluster, and with which certificate. */
export function clusterIdentities(nodeAddress: string): Record<string, LeafRequest> {
  const services = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  return {
    apiserver: {
      commonName: "kube-apiserver",
      dnsNames: [...services, `kubernetes.default.svc.${NETWORK.clusterDomain}`, "localhost"],
      addresses: [...new Set(["127.0.0.1", NETWORK.apiServiceAddress, nodeAddress])],
      usage: "server",
    },
    "kubelet-serving": {
      commonName: `system:node:${NETWORK.nodeName}`,
      organizations: ["system:nodes"],
      dnsNames: [NETWORK.nodeName],
      addresses: [nodeAddress],
      usage: "server",
    },
    "apiserver-kubelet-client": {
      commonName: "kube-apiserver-kubelet-client",
      organizations: ["system:masters"],
      usage: "client",
    },
    admin: { commonName: "kubernetes-admin", organizations: ["system:masters"], usage: "client" },
    "controller-manager": { commonName: "system:kube-controller-manager", usage: "client" },
    scheduler: { commonName: "system:kube-scheduler", usage: "client" },
    kubelet: { commonName: `system:node:${NETWORK.nodeName}`, organizations: ["system:nodes"], usage: "client" },
    "kube-proxy": { commonName: "system:kube-proxy", usage: "client" },
    dns: { commonName: "ptah-cluster-dns", usage: "client" },
  };
}

function validity(now: Date): { notBefore: Date; notAfter: Date } {
  return {
    notBefore: new Date(now.getTime() - BACKDATE_MS),
    notAfter: new Date(now.getTime() + LIMITS.certificateDays * DAY_MS),
  };
}

/** RFC 5280 wants a positive serial number of at most 20 bytes. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes.toString("hex");
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}

async function exportKey(key: CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", key));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
}
