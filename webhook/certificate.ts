import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A serving certificate as it lies in its files. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly notAfterMs: number;
}

export type CertificateReading = { readonly serving: ServingCertificate } | { readonly problem: string };

/**
 * Reads `tls.crt` and `tls.key`. kubelet swaps both at once, but two reads can fall on either side of that, so a pair that
 * does not belong together is a problem of the moment.
 */
export async function readCertificate(directory: string): Promise<CertificateReading> {
  try {
    const [certificate, key] = await Promise.all([
      readFile(join(directory, "tls.crt"), "utf8"),
      readFile(join(directory, "tls.key"), "utf8"),
    ]);
    const parsed = new X509Certificate(certificate);
    if (!parsed.checkPrivateKey(createPrivateKey(key))) return { problem: "tls.key is not the key of tls.crt" };
    return { serving: { certificate, key, notAfterMs: Date.parse(parsed.validTo) } };
  } catch (error) {
    const code = (error as { readonly code?: unknown } | null)?.code;
    return { problem: code === "ENOENT" ? "there is no certificate yet" : "the certificate's files cannot be read" };
  }
}
