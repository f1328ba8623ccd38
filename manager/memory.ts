import { leaseRecordKey } from "../lifecycle/obligations/realm.ts";
import type { CreateFailed, LeaseFacts, Memory } from "../lifecycle/view.ts";

interface Held {
  createFailed?: CreateFailed;
}

/**
 * What only this process knows of a resource: a create that was answered with an error, and since when a realm's Lease
 * stands still. Lost with the process, by design; everything else is read anew.
 */
export class Memories {
  readonly #byUID = new Map<string, Held>();
  readonly #leases = new Map<string, { readonly record: string; readonly sinceMonotonicMs: number }>();

  /** Notes a Lease as it was just read; the same record goes on standing since it was first seen. */
  sawLease(facts: LeaseFacts, monotonicMs: number): void {
    if (facts.lease === null) {
      this.#leases.delete(facts.digest);
      return;
    }
    const record = leaseRecordKey(facts.lease);
    if (this.#leases.get(facts.digest)?.record !== record) {
      this.#leases.set(facts.digest, { record, sinceMonotonicMs: monotonicMs });
    }
  }

  createFailed(uid: string, failed: CreateFailed): void {
    this.#byUID.set(uid, { createFailed: failed });
  }

  /** What a decision about this resource may know; a failed create counts only while a claim names its Job. */
  of(uid: string, claimJobName: string | undefined, realm: string | undefined): Memory {
    const held = this.#byUID.get(uid)?.createFailed;
    if (held !== undefined && held.jobName !== claimJobName) this.#byUID.delete(uid);
    const leaseUnchanged = realm === undefined ? undefined : this.#leases.get(realm);
    return {
      ...(held !== undefined && held.jobName === claimJobName ? { createFailed: held } : {}),
      ...(leaseUnchanged === undefined ? {} : { leaseUnchanged }),
    };
  }

  forget(uid: string): void {
    this.#byUID.delete(uid);
  }
}
