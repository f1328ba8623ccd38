import { describe, expect, test } from "bun:test";
import { until } from "../kube/testing.ts";
import { limits } from "./limits.ts";
import { type Next, Queue } from "./queue.ts";

/** Timers that the test fires itself. */
class Timers {
  readonly set: { ms: number; call: () => void; cancelled: boolean }[] = [];
  readonly world = {
    wallMs: () => 1_000_000,
    random: () => 1,
    after: (ms: number, call: () => void) => {
      const timer = { ms, call, cancelled: false };
      this.set.push(timer);
      return () => {
        timer.cancelled = true;
      };
    },
  };
  get pending() {
    return this.set.filter((timer) => !timer.cancelled);
  }
  fire(): void {
    const due = this.pending;
    this.set.length = 0;
    for (const timer of due) timer.call();
  }
}

function gate(): { readonly wait: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const wait = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { wait, open: () => open() };
}

describe("the queue", () => {
  test("a key never runs twice at a time, and runs once more when it was woken meanwhile", async () => {
    const timers = new Timers();
    const first = gate();
    let runs = 0;
    let together = 0;
    const queue = new Queue(
      async () => {
        together += 1;
        expect(together).toBe(1);
        runs += 1;
        if (runs === 1) await first.wait;
        together -= 1;
        return { kind: "idle" };
      },
      4,
      timers.world,
    );
    queue.start();
    queue.wake("a");
    await until(() => runs === 1, "the first run");
    queue.wake("a");
    queue.wake("a");
    first.open();
    await until(() => runs === 2, "the second run");
    await until(() => queue.depth.running === 0, "quiet");
    expect(runs).toBe(2);
  });

  test("at most so many keys run at once, and a slow one holds nobody else up", async () => {
    const timers = new Timers();
    const slow = gate();
    const ended: string[] = [];
    const queue = new Queue(
      async (key) => {
        if (key === "slow") await slow.wait;
        ended.push(key);
        return { kind: "idle" };
      },
      2,
      timers.world,
    );
    queue.start();
    for (const key of ["slow", "a", "b", "c"]) queue.wake(key);
    expect(queue.depth).toEqual({ waiting: 2, running: 2 });
    await until(() => ended.length === 3, "the others");
    slow.open();
    await until(() => ended.length === 4, "the slow one");
  });

  test("keys woken before the start wait for it", async () => {
    const timers = new Timers();
    let runs = 0;
    const queue = new Queue(
      async () => {
        runs += 1;
        return { kind: "idle" };
      },
      1,
      timers.world,
    );
    queue.wake("a");
    queue.wake("a");
    expect(runs).toBe(0);
    queue.start();
    await until(() => runs === 1, "one run");
  });

  test("failures back off, doubling up to the cap; a noisy key does not cut that short; a success forgets them", async () => {
    const timers = new Timers();
    let next: Next = { kind: "retry" };
    let runs = 0;
    const queue = new Queue(
      async () => {
        runs += 1;
        return next;
      },
      1,
      timers.world,
    );
    queue.start();
    queue.wake("a");
    const waits: number[] = [];
    for (let i = 1; i <= 10; i++) {
      await until(() => runs === i && timers.pending.length === 1, "a failure");
      waits.push(timers.pending[0]!.ms);
      queue.wake("a");
      expect(runs).toBe(i);
      if (i === 10) next = { kind: "idle" };
      timers.fire();
    }
    expect(waits.slice(0, 4)).toEqual([250, 500, 1_000, 2_000]);
    expect(waits.at(-1)).toBe(limits.retryMsMax);
    await until(() => runs === 11, "the success");
    next = { kind: "retry" };
    queue.wake("a");
    await until(() => runs === 12 && timers.pending.some((timer) => timer.ms === 250), "a first failure again");
  });

  test("an instant is waited for, and a wake before it comes first", async () => {
    const timers = new Timers();
    let runs = 0;
    const queue = new Queue(
      async () => {
        runs += 1;
        return { kind: "at", wallMs: 1_005_000 };
      },
      1,
      timers.world,
    );
    queue.start();
    queue.wake("a");
    await until(() => timers.pending.length === 1, "the timer");
    expect(timers.pending[0]!.ms).toBe(5_000);
    queue.wake("a");
    await until(() => runs === 2, "the wake");
    await until(() => timers.pending.length === 1, "one timer, not two");
  });

  test("passes that ask to go on at once, again and again, are a loop and back off", async () => {
    const timers = new Timers();
    let runs = 0;
    const queue = new Queue(
      async () => {
        runs += 1;
        return { kind: "again" };
      },
      1,
      timers.world,
    );
    queue.start();
    queue.wake("a");
    await until(() => timers.pending.length === 1, "the back-off");
    expect(runs).toBe(limits.immediatePassesMax + 1);
  });

  test("a stop lets what runs end and starts nothing new", async () => {
    const timers = new Timers();
    const running = gate();
    const seen: string[] = [];
    const queue = new Queue(
      async (key) => {
        seen.push(key);
        await running.wait;
        return { kind: "again" };
      },
      1,
      timers.world,
    );
    queue.start();
    queue.wake("a");
    queue.wake("b");
    const stopped = queue.stop();
    running.open();
    await stopped;
    expect(seen).toEqual(["a"]);
  });
});
