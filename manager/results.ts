import { OPERATION_CONTAINER } from "../crds/names.ts";
import { isKubeError, type KubeClient } from "../kube/index.ts";
import type { Wait } from "../lifecycle/move.ts";
import type { ResultFacts } from "../lifecycle/view.ts";
import { readFrame } from "../workload/frame.ts";
import { FRAME_LOG_TAIL_BYTES } from "../workload/limits.ts";
import type { OperationResult, WireOperation } from "../workload/result.ts";
import { limits } from "./limits.ts";

export type ReadRequest = NonNullable<Wait["read"]>;

interface Reading {
  readonly request: ReadRequest;
  readonly stopper: AbortController;
  facts: ResultFacts;
}

const WIRE: ReadonlySet<string> = new Set<WireOperation>(["observe", "plan", "apply"]);

/**
 * Results are read beside the passes, so that a log that stops arriving holds no resource's Lease renewals up. One reading
 * per resource; at most `limits.resultReadsMax` at a time. A reading decides nothing: it becomes a piece of the next view.
 */
export class Results {
  readonly #client: Pick<KubeClient, "logTail">;
  readonly #wake: (key: string) => void;
  readonly #wallMs: () => number;
  readonly #prepare: (result: OperationResult) => Promise<void>;
  readonly #byKey = new Map<string, Reading>();
  readonly #queue: { readonly key: string; readonly namespace: string; readonly reading: Reading }[] = [];
  #running = 0;

  /** `prepare` loads what a decision about this result needs; it is done before anybody sees the result. */
  constructor(
    client: Pick<KubeClient, "logTail">,
    wake: (key: string) => void,
    wallMs: () => number,
    prepare: (result: OperationResult) => Promise<void>,
  ) {
    this.#prepare = prepare;
    this.#client = client;
    this.#wake = wake;
    this.#wallMs = wallMs;
  }

  /** Asks for one Pod's result; nothing happens when it is being read, or was read late enough. */
  request(key: string, namespace: string, request: ReadRequest): void {
    const held = this.#byKey.get(key);
    if (held !== undefined && sameSubject(held.request, request) && isEnough(held.facts, request)) return;
    this.drop(key);
    const reading: Reading = {
      request,
      stopper: new AbortController(),
      facts: { podUID: request.podUID, state: "reading" },
    };
    this.#byKey.set(key, reading);
    this.#queue.push({ key, namespace, reading });
    this.#next();
  }

  /** What is known of the result of this resource's operation; a reading of any other operation is dropped. */
  of(key: string, operationID: string | undefined): ResultFacts | undefined {
    const held = this.#byKey.get(key);
    if (held === undefined) return undefined;
    if (held.request.operationID === operationID) return held.facts;
    this.drop(key);
    return undefined;
  }

  drop(key: string): void {
    this.#byKey.get(key)?.stopper.abort();
    this.#byKey.delete(key);
  }

  stop(): void {
    for (const key of [...this.#byKey.keys()]) this.drop(key);
    this.#queue.length = 0;
  }

  #next(): void {
    while (this.#running < limits.resultReadsMax) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      if (this.#byKey.get(next.key) !== next.reading) continue;
      this.#running += 1;
      this.#read(next.namespace, next.reading)
        .then((facts) => {
          next.reading.facts = facts;
          if (this.#byKey.get(next.key) === next.reading) this.#wake(next.key);
        })
        .finally(() => {
          this.#running -= 1;
          this.#next();
        })
        .catch(() => undefined);
    }
  }

  async #read(namespace: string, { request, stopper }: Reading): Promise<ResultFacts> {
    const { podUID } = request;
    const operation = request.operation.toLowerCase();
    if (!isWire(operation)) return { podUID, state: "invalid" };
    try {
      const log = await this.#client.logTail(
        { namespace, name: request.podName },
        {
          container: OPERATION_CONTAINER,
          tailBytes: FRAME_LOG_TAIL_BYTES,
          timeoutMs: Math.min(request.boundMs, limits.resultReadMsMax),
          signal: stopper.signal,
        },
      );
      const frame = readFrame(log, { operation, operationID: request.operationID });
      switch (frame.kind) {
        case "Found":
          await this.#prepare(frame.result);
          return { podUID, state: "frame", result: frame.result };
        case "Foreign":
          return { podUID, state: "otherProtocol" };
        case "Invalid":
          return { podUID, state: "invalid" };
        case "Missing":
          return { podUID, state: "none", readAtMs: this.#wallMs() };
      }
    } catch (error) {
      return { podUID, state: "failed", timedOut: isKubeError(error, "Timeout"), readAtMs: this.#wallMs() };
    }
  }
}

function isWire(operation: string): operation is WireOperation {
  return WIRE.has(operation);
}

function sameSubject(a: ReadRequest, b: ReadRequest): boolean {
  return a.podUID === b.podUID && a.operationID === b.operationID;
}

function isEnough(facts: ResultFacts, request: ReadRequest): boolean {
  if (facts.state !== "none" && facts.state !== "failed") return true;
  return facts.readAtMs >= request.notBeforeMs;
}
