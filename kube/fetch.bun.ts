/**
 * The one file of this room that knows Bun: its `fetch` takes the TLS material as an option, where the field's own
 * client hands an `undici` dispatcher over that Bun ignores (every call then fails to verify the server).
 */
export interface TlsMaterial {
  /** PEM of the authorities that may sign the server's certificate. */
  readonly ca?: string;
  /** PEM of the client certificate and its key. */
  readonly cert?: string;
  readonly key?: string;
  /** The name the server's certificate must carry when it is not the URL's host. */
  readonly serverName?: string;
  /** False only where the kubeconfig itself says `insecure-skip-tls-verify`. */
  readonly verify: boolean;
}

export interface RawRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly tls?: TlsMaterial;
  readonly proxyUrl?: string;
  /** False opens a connection of its own: a pooled one may be repeated by the runtime when the server closed it. */
  readonly pooled: boolean;
}

export type RawFetch = (url: string, request: RawRequest) => Promise<Response>;

export const bunFetch: RawFetch = (url, request) => {
  const tls = request.tls;
  const init: BunFetchRequestInit = {
    method: request.method,
    headers: request.headers,
    signal: request.signal,
    redirect: "error",
    keepalive: request.pooled,
    // Watches live longer than Bun's own five minutes; deadlines are ours, by the signal.
    ...{ timeout: false },
  };
  if (request.body !== undefined) init.body = request.body;
  if (request.proxyUrl !== undefined) init.proxy = request.proxyUrl;
  if (tls !== undefined) {
    init.tls = { rejectUnauthorized: tls.verify };
    if (tls.ca !== undefined) init.tls.ca = tls.ca;
    if (tls.cert !== undefined) init.tls.cert = tls.cert;
    if (tls.key !== undefined) init.tls.key = tls.key;
    if (tls.serverName !== undefined) (init.tls as { serverName?: string }).serverName = tls.serverName;
  }
  return fetch(url, init);
};
