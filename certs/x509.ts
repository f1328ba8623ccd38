import { createPrivateKey, X509Certificate } from "node:crypto";
import { limits } from "./limits.ts";
import type { CertificateFacts } from "./plan.ts";

/** A certificate and its private key, both PEM (the key PKCS #8). */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/**
 * The certificate library wants its reflection polyfill to be there before it is loaded; a bundler does not keep the order
 * of two static imports, so both are loaded when they are needed.
 */
async function library() {
  await import("reflect-metadata");
  return await import("@peculiar/x509");
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Makes a certificate authority that may sign serving certificates and nothing below itself. */
export async function createAuthority(nowMs: number, validityMs: number): Promise<Pair> {
  const x509 = await library();
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // The serial in the name keeps two authorities apart in a bundle: chains are found by name first.
    name: `CN=ptah-operator-admission-${serialNumber().slice(0, 12)}`,
    notBefore: new Date(nowMs - limits.skewMs),
    notAfter: new Date(nowMs + validityMs),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key: await keyPem(keys.privateKey) };
}

/** Signs a serving certificate for DNS names and IP addresses; it never outlives its authority. */
export async function issueServing(
  authority: Pair,
  names: readonly string[],
  nowMs: number,
  validityMs: number,
): Promise<Pair> {
  const x509 = await library();
  const issuer = new X509Certificate(authority.certificate);
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const signingKey = await crypto.subtle.importKey(
    "pkcs8",
    x509.PemConverter.decodeFirst(authority.key),
    ALGORITHM,
    false,
    ["sign"],
  );
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${names[0] ?? "ptah-operator-webhook"}`.slice(0, 64),
    issuer: issuer.subject.split("\n").reverse().join(","),
    notBefore: new Date(nowMs - limits.skewMs),
    notAfter: new Date(Math.min(nowMs + validityMs, Date.parse(issuer.validTo))),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isAddress(value) ? ("ip" as const) : ("dns" as const), value })),
      ),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key: await keyPem(keys.privateKey) };
}

/** @returns the facts of one PEM certificate, or undefined where it is none. */
export function factsOf(certificate: string): CertificateFacts | undefined {
  const parsed = parse(certificate);
  if (parsed === undefined) return undefined;
  return {
    fingerprint: parsed.fingerprint256,
    notBeforeMs: Date.parse(parsed.validFrom),
    notAfterMs: Date.parse(parsed.validTo),
  };
}

/** @returns true where both parse and the key is the certificate's own. */
export function belongTogether(pair: Pair): boolean {
  try {
    return new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
  } catch {
    return false;
  }
}

export function signedBy(certificate: string, authority: string): boolean {
  const leaf = parse(certificate);
  const issuer = parse(authority);
  return leaf !== undefined && issuer !== undefined && leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey);
}

/** @returns the DNS names and IP addresses a certificate is for. */
export function namesOf(certificate: string): string[] {
  const names = parse(certificate)?.subjectAltName ?? "";
  return names
    .split(", ")
    .map((name) => name.replace(/^(DNS|IP Address):/, ""))
    .filter((name) => name !== "");
}

/** @returns each certificate of a PEM bundle, as PEM of its own. */
export function certificatesOf(bundle: string): string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => `${block}\n`);
}

/** @returns each certificate of a PEM bundle by fingerprint; what is none counts as an unknown one. */
export function fingerprintsOf(bundle: string): string[] {
  return certificatesOf(bundle).map((block) => parse(block)?.fingerprint256 ?? "unknown");
}

function parse(certificate: string): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined;
  }
}

async function keyPem(key: CryptoKey): Promise<string> {
  const x509 = await library();
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

/** 16 random bytes, positive as DER wants it. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString("hex");
}

function isAddress(name: string): boolean {
  return /^[\d.]+$/.test(name) || name.includes(":");
}
