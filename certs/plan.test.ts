import { describe, expect, test } from "bun:test";
import {
  type CertificateFacts,
  nextStep,
  type RotationPolicy,
  type RotationState,
  type Step,
  trustedAuthorities,
} from "./plan.ts";

const HOUR = 3_600_000;
const policy: RotationPolicy = {
  names: ["w.ns.svc"],
  renewBeforeMs: 10 * HOUR,
  authorityRenewBeforeMs: 50 * HOUR,
  switchDelayMs: HOUR,
  retireDelayMs: 2 * HOUR,
};
const certificate = (fingerprint: string, notAfterMs: number): CertificateFacts => ({
  fingerprint,
  notBeforeMs: 0,
  notAfterMs,
});
const steady = (over: Partial<RotationState> = {}): RotationState => ({
  authority: { current: certificate("A", 1000 * HOUR) },
  serving: { ...certificate("s", 100 * HOUR), signedByCurrent: true, names: ["w.ns.svc"] },
  bundles: [["A"], ["A"]],
  ...over,
});

describe("the next step", () => {
  const table: readonly [string, RotationState, number, Step][] = [
    [
      "nothing stored makes an authority",
      { authority: {}, bundles: [[]] },
      0,
      { kind: "create-authority", why: "absent" },
    ],
    [
      "a new authority is published before it signs",
      { authority: { current: certificate("A", 1000 * HOUR) }, bundles: [[]] },
      0,
      { kind: "publish-bundle", fingerprints: ["A"] },
    ],
    [
      "a published authority signs",
      { authority: { current: certificate("A", 1000 * HOUR) }, bundles: [["A"]] },
      0,
      { kind: "issue-serving", why: "absent" },
    ],
    ["a steady state rests until the renewal", steady(), 0, { kind: "rest", untilMs: 90 * HOUR }],
    [
      "a bundle that was emptied is written again",
      steady({ bundles: [["A"], []] }),
      0,
      { kind: "publish-bundle", fingerprints: ["A"] },
    ],
    [
      "a foreign authority leaves the bundle",
      steady({ bundles: [["A", "X"]] }),
      0,
      { kind: "publish-bundle", fingerprints: ["A"] },
    ],
    [
      "without admission entries the certificate is kept all the same",
      steady({ bundles: [] }),
      0,
      { kind: "rest", untilMs: 90 * HOUR },
    ],
    ["an ending certificate is renewed", steady(), 90 * HOUR, { kind: "issue-serving", why: "expiring" }],
    [
      "other names make another certificate",
      steady({ serving: { ...certificate("s", 100 * HOUR), signedByCurrent: true, names: ["old"] } }),
      0,
      { kind: "issue-serving", why: "names" },
    ],
    [
      "an ending authority gets a successor",
      steady({ serving: { ...certificate("s", 999 * HOUR), signedByCurrent: true, names: ["w.ns.svc"] } }),
      950 * HOUR,
      { kind: "stage-authority" },
    ],
    ["an expired authority is replaced", steady(), 1000 * HOUR, { kind: "create-authority", why: "expired" }],
    [
      "an expired authority gives way to the staged one at once",
      steady({ authority: { current: certificate("A", HOUR), next: certificate("B", 1000 * HOUR), stagedAtMs: HOUR } }),
      HOUR,
      { kind: "switch-authority", why: "current-unusable" },
    ],
    [
      "a delay whose start lies in the future is counted anew",
      steady({
        authority: {
          current: certificate("A", 1000 * HOUR),
          next: certificate("B", 2000 * HOUR),
          stagedAtMs: 5 * HOUR,
        },
        bundles: [["A", "B"]],
      }),
      4 * HOUR,
      { kind: "restart-delay", of: "switch" },
    ],
  ];
  for (const [name, state, now, step] of table) test(name, () => expect(nextStep(state, policy, now)).toEqual(step));
});

/** A stored world in which a step either happens or is lost; what serves lags behind what is stored. */
class World {
  authority: {
    current?: CertificateFacts;
    next?: CertificateFacts;
    previous?: CertificateFacts;
    stagedAtMs?: number;
    switchedAtMs?: number;
  } = {};
  serving: (CertificateFacts & { by: string }) | undefined;
  bundles: string[][] = [[], []];
  made = 0;

  state(): RotationState {
    return {
      authority: this.authority,
      serving: this.serving && {
        ...this.serving,
        signedByCurrent: this.serving.by === this.authority.current?.fingerprint,
        names: ["w.ns.svc"],
      },
      bundles: this.bundles,
    };
  }

  apply(step: Step, now: number, entriesWritten: number): void {
    const { current, next, previous } = this.authority;
    const fresh = (): CertificateFacts => {
      this.made += 1;
      return certificate(`CA${this.made}`, now + 300 * HOUR);
    };
    if (step.kind === "create-authority") this.authority = { current: fresh() };
    if (step.kind === "stage-authority") this.authority = { current, next: fresh(), previous, stagedAtMs: now };
    if (step.kind === "switch-authority") this.authority = { current: next, previous: current, switchedAtMs: now };
    if (step.kind === "retire-authority") this.authority = { current, next };
    if (step.kind === "restart-delay")
      this.authority = { ...this.authority, [step.of === "switch" ? "stagedAtMs" : "switchedAtMs"]: now };
    if (step.kind === "publish-bundle")
      for (let i = 0; i < entriesWritten; i += 1) this.bundles[i] = trustedAuthorities(this.authority);
    if (step.kind === "issue-serving" && current !== undefined) {
      this.serving = { ...certificate("leaf", Math.min(now + 40 * HOUR, current.notAfterMs)), by: current.fingerprint };
    }
  }
}

/** Lets a world live: steps are taken half-hourly, at most so many each time, and checked after each. */
class Life {
  readonly world = new World();
  readonly kinds = new Map<string, number>();
  /** Pods see a new certificate up to half an hour late, so what they may serve is everything issued since then. */
  #lagging: { by: string; until: number }[] = [];
  #taken = 0;

  at(now: number, stepsMax: number): void {
    for (let i = 0; i < stepsMax; i += 1) {
      const step = nextStep(this.world.state(), policy, now);
      if (step.kind === "rest") return;
      this.#take(step, now);
      for (const by of this.#mayServe(now)) for (const bundle of this.world.bundles) expect(bundle).toContain(by);
    }
  }

  #take(step: Step, now: number): void {
    this.#taken += 1;
    this.kinds.set(step.kind, (this.kinds.get(step.kind) ?? 0) + 1);
    const old = this.world.serving;
    if (step.kind === "issue-serving" && old !== undefined) this.#lagging.push({ by: old.by, until: now + HOUR / 2 });
    // Two configurations are two writes: a stop in between leaves one behind.
    this.world.apply(step, now, this.#taken % 3 === 0 ? 1 : 2);
  }

  #mayServe(now: number): string[] {
    this.#lagging = this.#lagging.filter(({ until }) => until > now);
    const serving = this.world.serving === undefined ? [] : [this.world.serving.by];
    return [...this.#lagging.map(({ by }) => by), ...serving];
  }
}

describe("over years, with stops after any write", () => {
  test.each([1, 2, 3, 4])("what is served is always trusted (a stop every %d steps)", (stepsMax) => {
    const life = new Life();
    for (let now = 0; now < 3000 * HOUR; now += HOUR / 2) {
      life.at(now, stepsMax);
      if (now > 10 * HOUR) expect(life.world.serving?.notAfterMs ?? 0).toBeGreaterThan(now);
    }
    expect(life.kinds.get("switch-authority") ?? 0).toBeGreaterThan(5);
    expect(life.kinds.get("retire-authority") ?? 0).toBeGreaterThan(5);
    expect(life.kinds.get("create-authority")).toBe(1);
  });
});
