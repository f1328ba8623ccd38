import type { Handler, SeenRequest, Served } from "./testing.ts";

/** Bun's own server on a loopback port, with TLS where a certificate is given. */
export function serve(
  handler: Handler,
  tls?: { readonly cert: string; readonly key: string; readonly ca?: string },
): Served {
  const requests: SeenRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    tls:
      tls === undefined
        ? undefined
        : { ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: tls.ca !== undefined },
    async fetch(request) {
      const url = new URL(request.url);
      const seen: SeenRequest = {
        method: request.method,
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: await request.text(),
      };
      requests.push(seen);
      return await handler(seen, requests.length - 1);
    },
  });
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${server.port}`,
    requests,
    stop: () => server.stop(true),
  };
}
