import type { Ports } from "./transport.ts";

/** A server that answers as an API server would, one handler per test; for the tests of this and other rooms. */
export interface Served {
  readonly url: string;
  readonly requests: SeenRequest[];
  stop(): Promise<void>;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: string;
}

export type Handler = (request: SeenRequest, index: number) => Response | Promise<Response>;

/** Real time, no jitter, and waits cut short, so that a test of back-off ends in milliseconds. */
export function quickPorts(waits: number[] = []): Ports {
  return {
    monotonicMs: () => performance.now(),
    random: () => 0,
    sleep: async (ms, signal) => {
      waits.push(ms);
      if (signal?.aborted !== true) await new Promise((resolve) => setTimeout(resolve, 1));
    },
  };
}

/** Ends when the condition holds; fails after the deadline. */
export async function until(holds: () => boolean, what: string, timeoutMs = 5_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`did not happen within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
}

/** A Status object as the API server answers an error with. */
export function refusal(status: number, reason: string, headers: Record<string, string> = {}): Response {
  return json(
    { kind: "Status", apiVersion: "v1", status: "Failure", message: `${reason} it is`, reason, code: status },
    status,
    headers,
  );
}

export function configMap(name: string, resourceVersion: string, data: Record<string, string> = {}): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "shop", uid: `uid-${name}`, resourceVersion },
    data,
  };
}

export function event(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** A watch's body: the pieces are sent as they are given; `hold` keeps the stream open after them. */
export function streamed(pieces: readonly string[], hold: boolean): Response {
  const encoder = new TextEncoder();
  return new Response(
    new ReadableStream({
      async start(controller) {
        for (const piece of pieces) {
          controller.enqueue(encoder.encode(piece));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        if (!hold) controller.close();
      },
    }),
  );
}
