/** The decision's tools for millions of decisions: the same functions of the same inputs, with a cheap digest. */
import type { Json } from "../../crds/canonical.ts";
import { coordinationDigest } from "../../crds/fingerprints.ts";
import { chunk } from "../../sql/chunks.ts";
import type { OperationSpec, Work } from "../../workload/operation.ts";
import type { PlanChunk, Tools } from "../tools.ts";
import { planOfDigest, stateFingerprint } from "./values.ts";

const FNV_OFFSET = 0x811c9dc5;
const MIX = 0x85ebca6b;

/** 64 bits of a text as 16 hex digits: collisions among the few thousand texts of a run are out of reach. */
export function hash16(text: string): string {
  let a = FNV_OFFSET;
  let b = MIX;
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b ^ c, 0xc2b2ae35);
    b = (b << 13) | (b >>> 19);
  }
  a = Math.imul(a ^ (a >>> 15), MIX);
  a ^= a >>> 13;
  b = Math.imul(b ^ (b >>> 16), MIX);
  b ^= b >>> 13;
  return (a >>> 0).toString(16).padStart(8, "0") + (b >>> 0).toString(16).padStart(8, "0");
}

const REST = "0".repeat(48);
export const cheapDigest = (text: string): string => `sha256:${hash16(text)}${REST}`;

/** Holder identity of one operation, as these tools make it. */
export const holderOf = (uid: string, operationID: string): string => `ptah-h-${hash16(`${uid}|${operationID}`)}`;

/** Digest of an operation's Pod template: everything that shapes it, so neither its Job's name nor the snapshot's own digest. */
export function templateDigestOf(operation: OperationSpec<Work>): string {
  const shape = { ...operation, admissionSnapshotDigest: undefined, jobName: undefined, attempt: undefined };
  return cheapDigest(`template ${JSON.stringify(shape)}`);
}

/** Whether what people read is written too: only where a property looks at it. */
export function modelTools(narrate: boolean): Tools {
  const realms = new Map<unknown, string | undefined>();
  const policies = new Map<unknown, string>();
  const chunks = new Map<string, readonly PlanChunk[]>();
  return {
    digest: (value: Json) => cheapDigest(JSON.stringify(value)),
    digestText: cheapDigest,
    jobName: (id) =>
      `ptah-${id.operation.toLowerCase()}-${hash16([id.uid, id.operationId, id.bindingEpoch, id.inputFingerprint, id.attempt].join("|"))}`,
    leaseHolder: holderOf,
    coordinationDigest(namespace, spec) {
      if (!realms.has(spec)) realms.set(spec, coordinationDigest(namespace, spec.target));
      return realms.get(spec);
    },
    policyFingerprint(spec) {
      const known = policies.get(spec);
      if (known !== undefined) return known;
      const { apply: _who, ...policy } = spec.policy;
      const print = cheapDigest(`${spec.target.engine} ${JSON.stringify(policy)} ${spec.execution.connectTimeout}`);
      policies.set(spec, print);
      return print;
    },
    planFingerprint: (input) => cheapDigest(`plan ${JSON.stringify(input)}`),
    planName: (fingerprint) => `ptah-plan-${fingerprint.slice(7, 23)}`,
    runPolicyFingerprint: (spec) => cheapDigest(`run policy ${JSON.stringify(spec.policy)}`),
    sequencePlanFingerprint: (input) => cheapDigest(`sequence plan ${JSON.stringify(input)}`),
    sequencePlanName: (fingerprint) => `ptah-mplan-${fingerprint.slice(7, 23)}`,
    sequenceDigest: (steps) => cheapDigest(`sequence ${JSON.stringify(steps)}`),
    historyFingerprint: (history) => cheapDigest(`history ${JSON.stringify(history)}`),
    snapshotName: (uid, digest) => `ptah-src-${hash16(`${uid}|${digest}`)}`,
    templateDigest: templateDigestOf,
    sealSnapshot: (base, templateDigest) => ({
      ...base,
      templateDigest,
      digest: cheapDigest(`snapshot ${JSON.stringify(base)} ${templateDigest}`),
    }),
    planSummary(_document, contentDigest) {
      const plan = planOfDigest(contentDigest);
      if (plan === undefined) return undefined;
      return {
        dialect: "postgres",
        actualStateFingerprint: stateFingerprint(plan.from),
        desiredStateFingerprint: stateFingerprint(plan.to),
        destructive: false,
        privilegeChanges: [],
        statementCount: 2,
      };
    },
    planChunks(document, contentDigest) {
      const known = chunks.get(contentDigest);
      if (known !== undefined) return known;
      const cut = chunk(Buffer.from(document));
      const made = "chunks" in cut ? cut.chunks : [];
      chunks.set(contentDigest, made);
      return made;
    },
    narrate,
  };
}
