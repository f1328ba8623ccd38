import { isKubeError, type KubeClient } from "../kube/index.ts";
import { limits } from "./limits.ts";
import { nextStep, type RotationPolicy, type Step } from "./plan.ts";
import {
  authorityData,
  bundleOf,
  type Places,
  readSnapshot,
  type Snapshot,
  writeBundles,
  writeSecret,
} from "./store.ts";
import { createAuthority, issueServing } from "./x509.ts";

/** Everything a pass works with. */
export interface Rotation {
  readonly client: KubeClient;
  readonly places: Places;
  readonly policy: RotationPolicy & { readonly servingValidityMs: number; readonly authorityValidityMs: number };
  readonly nowMs: () => number;
  /** Told of every step that was written. */
  readonly did: (step: Step) => void;
}

/**
 * Reads, takes the next step and reads again, until there is nothing to do. Another replica's write shows as a conflict
 * and only means that everything is read anew.
 * @returns when the next step is due (Unix milliseconds; Infinity where nothing is foreseen).
 * Errors: KubeError of the API server; an Error where the steps do not come to rest.
 */
export async function runPass(rotation: Rotation, signal: AbortSignal): Promise<number> {
  for (let taken = 0; taken < limits.stepsMax; taken += 1) {
    const snapshot = await readSnapshot(rotation.client, rotation.places, signal);
    const step = nextStep(snapshot.state, rotation.policy, rotation.nowMs());
    if (step.kind === "rest") return step.untilMs;
    try {
      await perform(rotation, snapshot, step, signal);
      rotation.did(step);
    } catch (error) {
      if (!lostRace(error)) throw error;
    }
  }
  throw new Error(`certificate rotation did not come to rest within ${limits.stepsMax} steps`);
}

/** A JSON patch whose test failed is answered as Invalid: the object was changed in between. */
function lostRace(error: unknown): boolean {
  return isKubeError(error, "Conflict", "AlreadyExists") || (isKubeError(error, "Invalid") && error.status === 422);
}

async function perform(
  rotation: Rotation,
  snapshot: Snapshot,
  step: Exclude<Step, { kind: "rest" }>,
  signal: AbortSignal,
): Promise<void> {
  const { client, places, policy } = rotation;
  const now = rotation.nowMs();
  const { current, next, previous } = snapshot.authority;
  const store = (authority: Snapshot["authority"], times: Snapshot["times"]) =>
    writeSecret(
      client,
      places,
      places.authoritySecret,
      snapshot.secrets.authority,
      authorityData(authority, times),
      signal,
    );
  switch (step.kind) {
    case "create-authority":
      // What signed the certificate being served stays trusted, so that losing the authority's Secret stops nothing.
      return store(
        { current: await createAuthority(now, policy.authorityValidityMs), previous: snapshot.servedBy },
        snapshot.servedBy === undefined ? {} : { switchedAtMs: now },
      );
    case "stage-authority":
      return store(
        { current, next: await createAuthority(now, policy.authorityValidityMs), previous },
        { stagedAtMs: now },
      );
    case "switch-authority":
      return store({ current: next, previous: current?.certificate }, { switchedAtMs: now });
    case "retire-authority":
      return store({ current, next }, {});
    case "restart-delay":
      return store({ current, next, previous }, step.of === "switch" ? { stagedAtMs: now } : { switchedAtMs: now });
    case "publish-bundle":
      return writeBundles(client, places, snapshot, bundleOf(snapshot.authority), signal);
    case "issue-serving": {
      if (current === undefined) throw new Error("there is no authority to sign a serving certificate");
      const pair = await issueServing(current, policy.names, now, policy.servingValidityMs);
      const data = { "tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": bundleOf(snapshot.authority) };
      return writeSecret(client, places, places.tlsSecret, snapshot.secrets.tls, data, signal);
    }
  }
}
