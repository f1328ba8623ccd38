import { type Change, type KubeError, keyOf, type RawCustom, Store, type Stored } from "../kube/index.ts";
import type { AcknowledgmentFacts, ApprovalFacts, OwnedPlanFacts, ResourceFacts } from "../lifecycle/view.ts";
import { newerStateVersions } from "./contract.ts";
import { type PlanEntry, planEntry, type ResourceEntry, resourceEntry, type WordEntry } from "./entries.ts";
import { type Family, type Reads, resourceKey } from "./families.ts";
import { acknowledgmentFacts, approvalFacts } from "./view/objects.ts";

/** Whom a family's caches tell. */
export interface Listener {
  readonly namespace: string | undefined;
  readonly stateVersion: number;
  onResource(kind: string, change: Change<ResourceEntry>): void;
  /** `by`: the resource whose own pass brought the news; it goes on from it and is not woken. */
  wakeUID(uid: string | undefined, by: string | undefined): void;
  wake(key: string, by: string | undefined): void;
  onError(kind: string, error: KubeError, waitMs: number): void;
  onUnreadable(kind: string, key: string, message: string): void;
}

type Words<F extends ApprovalFacts | AcknowledgmentFacts> = Store<RawCustom, WordEntry<F> | undefined>;

/** What the watches say of one family's own kinds. */
export class FamilyCaches {
  readonly family: Family;
  readonly resources: Store<RawCustom, ResourceEntry>;
  readonly plans: Store<RawCustom, PlanEntry | undefined>;
  readonly approvals: Words<ApprovalFacts>;
  /** Undefined where the family has none. */
  readonly acknowledgments: Words<AcknowledgmentFacts> | undefined;
  readonly #listener: Listener;

  constructor(family: Family, listener: Listener) {
    this.family = family;
    this.#listener = listener;
    const { resource, plan, approval, acknowledgment } = family;
    this.resources = new Store(resource.raw, this.#selection, {
      keep: (object) => resourceEntry(family, object, listener.stateVersion),
      onChange: (change) => listener.onResource(resource.raw.kind, change),
      onError: this.#onError(resource.raw.kind),
    });
    this.plans = new Store(plan.raw, this.#selection, {
      keep: (object) => {
        const read = this.#read(plan, object);
        return read === undefined ? undefined : planEntry(family, read, newerStateVersions(object));
      },
      onChange: ({ before, after, by }) => listener.wakeUID((after ?? before)?.ownerUID, by),
      onError: this.#onError(plan.raw.kind),
    });
    this.approvals = this.#words(approval, approvalFacts);
    this.acknowledgments = acknowledgment === undefined ? undefined : this.#words(acknowledgment, acknowledgmentFacts);
  }

  /** Every store with the name of its kind. */
  get all() {
    const { resource, plan, approval, acknowledgment } = this.family;
    return [
      { name: resource.raw.kind, store: this.resources },
      { name: plan.raw.kind, store: this.plans },
      { name: approval.raw.kind, store: this.approvals },
      ...(acknowledgment === undefined || this.acknowledgments === undefined
        ? []
        : [{ name: acknowledgment.raw.kind, store: this.acknowledgments }]),
    ];
  }

  plansOf(uid: string): OwnedPlanFacts[] {
    const found: OwnedPlanFacts[] = [];
    for (const plan of this.plans.values()) if (plan?.ownerUID === uid) found.push(plan.facts);
    return found;
  }

  approvalsOf(resource: ResourceFacts): ApprovalFacts[] {
    return wordsOf(this.approvals, resource);
  }

  /** Undefined where the family has no acknowledgments. */
  acknowledgmentsOf(resource: ResourceFacts): AcknowledgmentFacts[] | undefined {
    return this.acknowledgments === undefined ? undefined : wordsOf(this.acknowledgments, resource);
  }

  get #selection() {
    return { namespace: this.#listener.namespace };
  }

  #onError(kind: string): (error: KubeError, waitMs: number) => void {
    return (error, waitMs) => this.#listener.onError(kind, error, waitMs);
  }

  #words<T extends Stored, F extends ApprovalFacts | AcknowledgmentFacts>(
    kind: Reads<T>,
    factsOf: (object: T) => F,
  ): Words<F> {
    return new Store<RawCustom, WordEntry<F> | undefined>(kind.raw, this.#selection, {
      keep: (object) => {
        const read = this.#read(kind, object);
        return read === undefined ? undefined : { namespace: object.metadata.namespace ?? "", facts: factsOf(read) };
      },
      onChange: ({ before, after, by }) => {
        const word = after ?? before;
        if (word === undefined) return;
        const { namespace, facts } = word;
        this.#listener.wake(resourceKey(this.family.lifecycle.kind, { namespace, name: facts.resourceName }), by);
      },
      onError: this.#onError(kind.raw.kind),
    });
  }

  /** An object this version cannot read is told of and kept as nothing. */
  #read<T extends Stored>(kind: Reads<T>, object: RawCustom): T | undefined {
    const parsed = kind.read(object);
    if (parsed.ok) return parsed.value;
    this.#listener.onUnreadable(kind.raw.kind, keyed(object), parsed.message);
    return undefined;
  }
}

const keyed = (object: Pick<RawCustom, "metadata">): string => keyOf(object.metadata);

function wordsOf<F extends ApprovalFacts | AcknowledgmentFacts>(words: Words<F>, resource: ResourceFacts): F[] {
  const found: F[] = [];
  for (const word of words.values()) {
    if (word?.namespace === resource.namespace && word.facts.resourceName === resource.name) found.push(word.facts);
  }
  return found;
}
