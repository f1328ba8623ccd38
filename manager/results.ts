import { OPERATION_CONTAINER } from "../crds/names.ts";
import { isKubeError, type KubeClient, kinds, orAbsent } from "../kube/index.ts";
import type { Wait } from "../lifecycle/move.ts";
import type { ResultFacts } from "../lifecycle/view.ts";
import { readFrame } from "../workload/frame.ts";
import { FRAME_LOG_TAIL_BYTES } from "../workload/limits.ts";
import { isMutating, type OperationResult, type WireOperation } from "../workload/result.ts";
import { readSummary, resultOfSummary, summaryMayReplace } from "../workload/summary.ts";
import { limits } from "./limits.ts";
import { isTerminated, operationState } from "./view/workloads.ts";

/** What a decision asked to be read, and what of its claim the reading needs. */
export type ReadRequest = NonNullable<Wait["read"]> & {
  readonly namespace: string;
  /** The runner's name of the operation; undefined for one it does not know. */
  readonly wire: WireOperation | undefined;
  /** Versions the operation was claimed for, in their order; empty where it has none. */
  readonly sequence: readonly number[];
};

type Client = Pick<KubeClient, "logTail" | "get">;

interface Reading {
  readonly request: ReadRequest;
  readonly stopper: AbortController;
  facts: ResultFacts;
}

/**
 * Results are read beside the passes, so that a log that stops arriving holds no resource's Lease renewals up. One reading
 * per resource; at most `limits.resultReadsMax` at a time. A reading decides nothing: it becomes a piece of the next view.
 */
export class Results {
  readonly #client: Client;
  readonly #wake: (key: string) => void;
  readonly #wallMs: () => number;
  readonly #prepare: (result: OperationResult) => Promise<void>;
  readonly #byKey = new Map<string, Reading>();
  readonly #queue: { readonly key: string; readonly reading: Reading }[] = [];
  #running = 0;

  /** `prepare` loads what a decision about this result needs; it is done before anybody sees the result. */
  constructor(
    client: Client,
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
  request(key: string, request: ReadRequest): void {
    const held = this.#byKey.get(key);
    if (held !== undefined && sameSubject(held.request, request) && isEnough(held.facts, request)) return;
    this.drop(key);
    const reading: Reading = {
      request,
      stopper: new AbortController(),
      facts: { podUID: request.podUID, state: "reading" },
    };
    this.#byKey.set(key, reading);
    this.#queue.push({ key, reading });
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
      this.#read(next.reading)
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

  async #read({ request, stopper }: Reading): Promise<ResultFacts> {
    const { podUID, namespace, wire: operation } = request;
    if (operation === undefined) return { podUID, state: "invalid" };
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
        case "Missing": {
          const result = isMutating(operation)
            ? await this.#summary(request, operation, frame.headerDigests)
            : undefined;
          return result === undefined
            ? { podUID, state: "none", readAtMs: this.#wallMs() }
            : { podUID, state: "frame", result };
        }
      }
    } catch (error) {
      const readAtMs = this.#wallMs();
      if (isKubeError(error, "BadRequest") && (await this.#neverStarted(request)))
        return { podUID, state: "none", readAtMs };
      return { podUID, state: "failed", timedOut: isKubeError(error, "Timeout"), readAtMs };
    }
  }

  /** The Pod ended before its operation's container began (an init container failed, the node refused it): there is no log to wait for. */
  async #neverStarted({ podName: name, podUID, namespace }: ReadRequest): Promise<boolean> {
    const pod = await orAbsent(this.#client.get(kinds.Pod, { namespace, name })).catch(() => undefined);
    if (pod?.metadata.uid !== podUID || !isTerminated(pod)) return false;
    return operationState(pod)?.terminated === undefined;
  }

  /**
   * What the container's termination summary says of a run whose frame did not arrive, and need not be waited for any more.
   * It was written before the frame, so it is younger than nothing that the frame could still say.
   */
  async #summary(
    { podName: name, podUID, namespace, operationID, sequence }: ReadRequest,
    operation: WireOperation,
    headerDigests: readonly string[],
  ): Promise<OperationResult | undefined> {
    const pod = await orAbsent(this.#client.get(kinds.Pod, { namespace, name }));
    if (pod?.metadata.uid !== podUID) return undefined;
    const ended = operationState(pod)?.terminated;
    const endedMs = Date.parse(ended?.finishedAt ?? "");
    if (ended?.message === undefined || !(this.#wallMs() >= endedMs + limits.frameAwaitedMs)) return undefined;
    const summary = readSummary(ended.message, { operation, operationID });
    return summary !== undefined && summaryMayReplace(summary, headerDigests)
      ? resultOfSummary(summary, sequence)
      : undefined;
  }
}

function sameSubject(a: ReadRequest, b: ReadRequest): boolean {
  return a.podUID === b.podUID && a.operationID === b.operationID;
}

function isEnough(facts: ResultFacts, request: ReadRequest): boolean {
  if (facts.state !== "none" && facts.state !== "failed") return true;
  return facts.readAtMs >= request.notBeforeMs;
}
