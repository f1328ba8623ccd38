/** The one file of this room that knows Bun: its server, and how a certificate is changed under load. */
import { limits } from "./limits.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

export interface TlsPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Address {
  readonly hostname: string;
  readonly port: number;
}

interface Running {
  readonly server: ReturnType<typeof Bun.serve>;
  /** Requests that were taken and not answered yet. */
  open(): number;
  retire(): void;
}

/**
 * A TLS listener whose certificate can be replaced. Bun's `reload` keeps the old certificate, so a second server takes the
 * same port (`reusePort`); the first answers with `Connection: close` for a while, then ends.
 */
export class TlsListener {
  readonly #address: Address;
  readonly #handler: Handler;
  #running: Running | undefined;
  readonly #retiring = new Set<Promise<void>>();

  readonly #retireMs: number;

  constructor(address: Address, handler: Handler, retireMs: number = limits.retireMs) {
    this.#address = address;
    this.#handler = handler;
    this.#retireMs = retireMs;
  }

  /** How many listeners whose certificate was replaced have not ended yet. */
  get retiring(): number {
    return this.#retiring.size;
  }

  /** The port that is bound, or undefined before the first certificate. */
  get port(): number | undefined {
    return this.#running?.server.port;
  }

  /** Serves with this certificate from now on. Errors: the port cannot be bound, or the pair is refused. */
  use(pair: TlsPair): void {
    const before = this.#running;
    this.#running = this.#start(pair, before?.server.port ?? this.#address.port);
    if (before !== undefined) this.#retire(before, this.#retireMs);
  }

  /** Goes on answering and asks every client to close its connection, so that few are left when the listener stops. */
  leave(): void {
    this.#running?.retire();
  }

  /** Ends when the open requests have ended, at the latest after the drain time. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    const drained = running === undefined ? undefined : drain(running);
    await Promise.all([drained, ...this.#retiring]);
  }

  #start(pair: TlsPair, port: number): Running {
    let retiring = false;
    let open = 0;
    const server = Bun.serve({
      hostname: this.#address.hostname,
      port,
      reusePort: true,
      maxRequestBodySize: limits.bodySizeBytes,
      tls: { cert: pair.certificate, key: pair.key },
      fetch: async (request) => {
        open += 1;
        try {
          const response = await this.#handler(request);
          if (retiring) response.headers.set("connection", "close");
          return response;
        } finally {
          open -= 1;
        }
      },
      error: () => new Response("the webhook failed", { status: 500 }),
    });
    return {
      server,
      open: () => open,
      retire: () => {
        retiring = true;
      },
    };
  }

  #retire(running: Running, goOnMs: number): void {
    running.retire();
    const ended = ending(running.server, goOnMs).finally(() => this.#retiring.delete(ended));
    this.#retiring.add(ended);
  }
}

/**
 * A retired server goes on for a while and asks every client to leave; closing at once would reset the requests that are
 * just arriving on kept connections.
 */
async function ending(server: ReturnType<typeof Bun.serve>, goOnMs: number): Promise<void> {
  await pause(goOnMs);
  await Promise.race([server.stop(), pause(limits.drainMs)]);
  await server.stop(true);
}

/** Idle connections are kept by clients for minutes; only open requests are waited for. */
async function drain(running: Running): Promise<void> {
  running.retire();
  for (let waitedMs = 0; running.open() > 0 && waitedMs < limits.drainMs; waitedMs += limits.drainStepMs) {
    await pause(limits.drainStepMs);
  }
  await running.server.stop(true);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A plain HTTP listener for probes and metrics. */
export function servePlain(address: Address, handler: Handler): { readonly port: number; stop(): Promise<void> } {
  const server = Bun.serve({ hostname: address.hostname, port: address.port, fetch: handler });
  return { port: server.port ?? address.port, stop: () => server.stop(true) };
}
