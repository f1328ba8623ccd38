/** A self-signed certificate that ends so many seconds from now (negative: it has ended); for the tests of this room. */
export async function selfSigned(seconds: number): Promise<{ readonly certificate: string; readonly key: string }> {
  // The library wants its reflection polyfill to be loaded first.
  await import("reflect-metadata");
  const { PemConverter, X509CertificateGenerator } = await import("@peculiar/x509");
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8)))
      .toString("hex")
      .replace(/^./, "1"),
    name: "CN=localhost",
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + seconds * 1000),
    signingAlgorithm: algorithm,
    keys,
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { certificate: `${certificate.toString("pem")}\n`, key: `${key}\n` };
}
