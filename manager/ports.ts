import { randomBytes } from "node:crypto";
import { type Ports, realPorts } from "../kube/index.ts";
import type { FreshValues } from "../lifecycle/view.ts";

/** Time as the manager sees it; created once in `main`. */
export interface Clock {
  /** Milliseconds since the epoch. */
  wallMs(): number;
  /** Milliseconds of a clock that never steps. */
  monotonicMs(): number;
}

/** Everything of the world beside the API server. */
export interface World extends Ports, Clock {
  /** Random values nobody has seen before, for one decision. */
  fresh(): FreshValues;
  /** Calls back once after `ms`; the returned function takes it back. */
  after(ms: number, call: () => void): () => void;
}

/** The real world. */
export function realWorld(): World {
  const ports = realPorts();
  return {
    ...ports,
    wallMs: () => Date.now(),
    fresh: () => ({
      nonce: randomBytes(16).toString("hex"),
      epoch: `v1-${randomBytes(16).toString("hex")}`,
      fraction: ports.random(),
    }),
    after: (ms, call) => {
      const timer = setTimeout(call, ms);
      return () => clearTimeout(timer);
    },
  };
}
