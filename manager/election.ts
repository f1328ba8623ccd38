import { isKubeError, type KubeClient, kinds, type Lease, orAbsent } from "../kube/index.ts";
import { limits } from "./limits.ts";
import { errorFields, type Log } from "./log.ts";
import type { World } from "./ports.ts";
import { microTime } from "./view/objects.ts";

/** Name of the Lease that says which manager decides. */
export const LEADER_LEASE = "ptah-operator-manager";

export interface ElectionDeps {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  readonly world: Pick<World, "wallMs" | "monotonicMs" | "sleep" | "random">;
  readonly log: Log;
  readonly namespace: string;
  /** This process, unlike any other. */
  readonly identity: string;
}

/**
 * Leader election by one Lease. A foreign holder's time is measured on this process's own monotonic clock from its first sight
 * of an unchanged record, so that clocks may differ. It only saves work: two managers at once are safe, because every
 * effect carries its own precondition.
 */
export class Election {
  readonly #deps: ElectionDeps;
  #seen: { readonly record: string; readonly sinceMs: number } | undefined;
  #renewedMs = 0;
  isLeader = false;

  constructor(deps: ElectionDeps) {
    this.#deps = deps;
  }

  /** Ends when this process leads, or when the signal fires (false). */
  async acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if (await this.#try()) {
        this.isLeader = true;
        this.#deps.log.info({ identity: this.#deps.identity }, "this manager leads");
        return true;
      }
      const { world } = this.#deps;
      await world.sleep(limits.leaderRetryMs * (0.8 + 0.4 * world.random()), signal);
    }
    return false;
  }

  /** Renews until the signal fires (true) or leadership is lost (false). */
  async hold(signal: AbortSignal): Promise<boolean> {
    const { world, log } = this.#deps;
    while (!signal.aborted) {
      await world.sleep(limits.leaderRetryMs, signal);
      if (signal.aborted) break;
      if (await this.#try()) continue;
      if (world.monotonicMs() - this.#renewedMs < limits.leaderRenewMs && this.#seen === undefined) continue;
      this.isLeader = false;
      log.error({ identity: this.#deps.identity }, "leadership was lost");
      return false;
    }
    return true;
  }

  /** Gives the Lease back, so that another manager need not wait for it to expire. */
  async release(): Promise<void> {
    if (!this.isLeader) return;
    this.isLeader = false;
    const { client, namespace, identity, log } = this.#deps;
    try {
      const lease = await client.get(
        kinds.Lease,
        { namespace, name: LEADER_LEASE },
        { timeoutMs: limits.leaderRetryMs },
      );
      if (lease.spec?.holderIdentity !== identity) return;
      await this.#write(lease, { ...lease.spec, holderIdentity: undefined, leaseDurationSeconds: 1 });
    } catch (error) {
      log.warn(errorFields(error), "the leader's Lease could not be given back; it expires by itself");
    }
  }

  /** One try to take or renew. `#seen` is set while somebody else holds the Lease. */
  async #try(): Promise<boolean> {
    const { client, world, namespace, identity, log } = this.#deps;
    try {
      const startedMs = world.monotonicMs();
      const at = { namespace, name: LEADER_LEASE };
      const timeoutMs = limits.leaderRenewMs / 2;
      const lease = await orAbsent(client.get(kinds.Lease, at, { timeoutMs }));
      const now = microTime(world.wallMs());
      const spec = { holderIdentity: identity, leaseDurationSeconds: limits.leaderLeaseSeconds, renewTime: now };
      if (lease === undefined) {
        const body = {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: at,
          spec: { ...spec, acquireTime: now, leaseTransitions: 0 },
        };
        await client.create(kinds.Lease, namespace, body, { timeoutMs });
      } else if (lease.spec?.holderIdentity === identity) {
        await this.#write(lease, { ...lease.spec, ...spec });
      } else if (this.#isFree(lease)) {
        const transitions = (lease.spec?.leaseTransitions ?? 0) + 1;
        await this.#write(lease, { ...spec, acquireTime: now, leaseTransitions: transitions });
      } else {
        return false;
      }
      this.#seen = undefined;
      this.#renewedMs = startedMs;
      return true;
    } catch (error) {
      if (!isKubeError(error, "Conflict", "AlreadyExists"))
        log.warn(errorFields(error), "the leader's Lease could not be written");
      return false;
    }
  }

  #isFree(lease: Lease): boolean {
    const holder = lease.spec?.holderIdentity ?? "";
    if (holder === "") return true;
    const nowMs = this.#deps.world.monotonicMs();
    const record = `${holder} ${lease.spec?.renewTime ?? ""} ${lease.metadata.resourceVersion}`;
    if (this.#seen?.record !== record) this.#seen = { record, sinceMs: nowMs };
    const durationSeconds = lease.spec?.leaseDurationSeconds ?? limits.leaderLeaseSeconds;
    return nowMs - this.#seen.sinceMs > durationSeconds * 1_000;
  }

  async #write(lease: Lease, spec: object): Promise<void> {
    const { client, namespace } = this.#deps;
    const { uid, resourceVersion, labels, annotations } = lease.metadata;
    const body = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace, name: LEADER_LEASE, uid, resourceVersion, labels, annotations },
      spec,
    };
    const options = { timeoutMs: limits.leaderRenewMs / 2 };
    await client.replace(kinds.Lease, { namespace, name: LEADER_LEASE }, body, options);
  }
}
