/** The one file of this room that knows Bun: its HTTP server, for metrics and probes, and its collector. */
export interface Listening {
  readonly port: number;
  stop(): Promise<void>;
}

export type Answer = { readonly status: number; readonly type: string; readonly body: string };

/** Serves GET requests by path on `[host]:port`; port 0 takes a free one. Errors: the address is taken. */
export function listen(address: string, answer: (path: string) => Promise<Answer>): Listening {
  const at = address.lastIndexOf(":");
  const port = Number(address.slice(at + 1));
  if (at > 0) return serve(address.slice(0, at).replace(/^\[|\]$/g, ""), port, answer);
  try {
    return serve("::", port, answer);
  } catch {
    // A machine without IPv6; if the port itself is taken, this says so.
    return serve("0.0.0.0", port, answer);
  }
}

function serve(hostname: string, port: number, answer: (path: string) => Promise<Answer>): Listening {
  const server = Bun.serve({
    hostname,
    port,
    maxRequestBodySize: 0,
    async fetch(request) {
      if (request.method !== "GET" && request.method !== "HEAD")
        return new Response("method not allowed\n", { status: 405 });
      const { status, type, body } = await answer(new URL(request.url).pathname);
      return new Response(body, { status, headers: { "content-type": type } });
    },
  });
  return { port: server.port ?? 0, stop: () => server.stop(true) };
}

/** Collects all garbage at once (some 20 ms for a heap of 25 MB) and hands its memory back. */
export function collectGarbage(): void {
  Bun.gc(true);
}
