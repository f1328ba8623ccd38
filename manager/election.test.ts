import { describe, expect, test } from "bun:test";
import { KubeError, type Lease } from "../kube/index.ts";
import { Election, LEADER_LEASE } from "./election.ts";

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** One Lease, with the API server's optimistic concurrency, and a clock that sleeping moves. */
class Cluster {
  lease: Lease | undefined;
  nowMs = 0;
  down = false;
  writes = 0;
  client = {
    get: async <T>() => {
      if (this.down) throw new KubeError({ code: "Unavailable", committed: "no" }, "down");
      if (this.lease === undefined) throw new KubeError({ code: "NotFound", committed: "no" }, "none");
      return this.lease as T;
    },
    create: async <T>(_kind: unknown, _namespace: unknown, body: unknown) => this.#store(body as Lease) as T,
    replace: async <T>(_kind: unknown, _at: unknown, body: unknown) => {
      const wanted = body as Lease;
      if (wanted.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) {
        throw new KubeError({ code: "Conflict", committed: "no" }, "conflict");
      }
      return this.#store(wanted) as T;
    },
  };
  #store(body: Lease): Lease {
    this.writes += 1;
    this.lease = { ...body, metadata: { ...body.metadata, uid: "u", resourceVersion: String(this.writes) } };
    return this.lease;
  }
  election(identity: string, onSleep: () => void = () => undefined): Election {
    return new Election({
      client: this.client as never,
      log: SILENT,
      namespace: "ptah-system",
      identity,
      world: {
        wallMs: () => 1_700_000_000_000 + this.nowMs,
        monotonicMs: () => this.nowMs,
        random: () => 0.5,
        sleep: async (ms) => {
          this.nowMs += ms;
          onSleep();
        },
      },
    });
  }
}

describe("leader election", () => {
  test("without a Lease the first manager makes it and leads", async () => {
    const cluster = new Cluster();
    const election = cluster.election("one");
    expect(await election.acquire(new AbortController().signal)).toBe(true);
    expect(cluster.lease?.metadata.name).toBe(LEADER_LEASE);
    expect(cluster.lease?.spec?.holderIdentity).toBe("one");
  });

  test("a second manager takes over only after a whole duration unchanged on its own clock", async () => {
    const cluster = new Cluster();
    await cluster.election("one").acquire(new AbortController().signal);
    const startedMs = cluster.nowMs;
    const second = cluster.election("two");
    expect(await second.acquire(new AbortController().signal)).toBe(true);
    expect(cluster.nowMs - startedMs).toBeGreaterThan(15_000);
    expect(cluster.lease?.spec?.leaseTransitions).toBe(1);
  });

  test("a Lease that is given back is taken at once", async () => {
    const cluster = new Cluster();
    const first = cluster.election("one");
    await first.acquire(new AbortController().signal);
    await first.release();
    const startedMs = cluster.nowMs;
    await cluster.election("two").acquire(new AbortController().signal);
    expect(cluster.nowMs).toBe(startedMs);
  });

  test("a leader that cannot renew gives up before another may take over", async () => {
    const cluster = new Cluster();
    const election = cluster.election("one");
    await election.acquire(new AbortController().signal);
    cluster.down = true;
    expect(await election.hold(new AbortController().signal)).toBe(false);
    expect(cluster.nowMs).toBeLessThan(15_000);
    expect(election.isLeader).toBe(false);
  });

  test("a leader whose Lease somebody else holds gives up at once", async () => {
    const cluster = new Cluster();
    const election = cluster.election("one");
    await election.acquire(new AbortController().signal);
    cluster.lease = { ...cluster.lease!, spec: { holderIdentity: "two", leaseDurationSeconds: 15, renewTime: "now" } };
    expect(await election.hold(new AbortController().signal)).toBe(false);
    expect(cluster.nowMs).toBe(2_000);
  });

  test("a stop ends waiting and holding", async () => {
    const cluster = new Cluster();
    await cluster.election("one").acquire(new AbortController().signal);
    const stopper = new AbortController();
    const waiting = cluster.election("two", () => stopper.abort());
    expect(await waiting.acquire(stopper.signal)).toBe(false);
  });
});
