/** What a schema operation's Job does, from its claim. */
import { chunkName } from "../../crds/names.ts";
import type { Claim } from "../../crds/status/index.ts";
import type { ApplyWork, SchemaWork, Scratch, SourceSnapshot } from "../../workload/operation.ts";
import type { Context } from "../context.ts";
import { chunksOf } from "./schema-fields.ts";
import { scratchKey } from "./schema-server.ts";

type Work = SchemaWork;
type Unbuilt = { readonly unbuilt: string };
type TransactionMode = ApplyWork["transactionMode"];

export function schemaWork(c: Context, claim: Claim): Work | Unbuilt {
  switch (claim.type) {
    case "Observe":
      return observe(c, claim);
    case "Plan":
      return plan(c, claim);
    case "Apply":
      return apply(c, claim);
    default:
      return { unbuilt: `${claim.type} is no operation of this version.` };
  }
}

const modeOf = (claim: Claim): TransactionMode => {
  const mode = claim.transactionMode;
  return mode === "all" || mode === "none" ? mode : "file";
};

/** Without a known server version an Observe runs without a scratch server and only learns it. */
function observe(c: Context, claim: Claim): Work | Unbuilt {
  const severity = claim.observation?.severity ?? "all";
  const exclude = claim.observation?.exclude ?? [];
  if (claim.serverMajor === undefined) return { type: "Observe", severity, exclude };
  const desired = desiredOf(c, claim, claim.serverMajor);
  return "unbuilt" in desired ? desired : { type: "Observe", severity, exclude, desired };
}

function plan(c: Context, claim: Claim): Work | Unbuilt {
  if (claim.serverMajor === undefined) return { unbuilt: "The server's version is not known yet." };
  const desired = desiredOf(c, claim, claim.serverMajor);
  if ("unbuilt" in desired) return desired;
  const { exclude = [], protectedTables = [] } = claim.observation ?? {};
  return { type: "Plan", desired, exclude, protectedTables, transactionMode: modeOf(claim) };
}

interface Desired {
  readonly source: SourceSnapshot;
  readonly scratch: Scratch;
  readonly serverMajor: number;
}

function desiredOf(c: Context, claim: Claim, serverMajor: number): Desired | Unbuilt {
  const { source, observation, target } = claim;
  if (source?.snapshot === undefined || target === undefined) return { unbuilt: "The source is not resolved." };
  const snapshot = { configMapName: source.snapshot, contentDigest: source.contentDigest };
  if (observation?.dev !== undefined) {
    const { name, key } = observation.dev;
    return { source: snapshot, scratch: { kind: "URL", urlFrom: { name, key } }, serverMajor };
  }
  const wanted = scratchKey(target.engine, serverMajor);
  const image = c.view.configuration.scratchImages[wanted];
  if (image === undefined) {
    return {
      unbuilt: `No scratch image is configured for ${wanted}. Configure --scratch-image ${wanted}=<image>, or set spec.dev.urlFrom.`,
    };
  }
  return { source: snapshot, scratch: { kind: "Server", major: serverMajor, ...image }, serverMajor };
}

function apply(c: Context, claim: Claim): Work | Unbuilt {
  const { plan: ref, planContentDigest, coordinationDigest, targetIdentityDigest } = claim;
  const { dispatchNotAfter, executionNotAfter } = claim;
  const object = c.view.plan?.value.object;
  if (ref === undefined || planContentDigest === undefined || coordinationDigest === undefined) {
    return { unbuilt: "The claim names no plan." };
  }
  if (targetIdentityDigest === undefined || dispatchNotAfter === undefined || executionNotAfter === undefined) {
    return { unbuilt: "The claim lacks its deadlines." };
  }
  if (object === null || object === undefined || object.uid !== ref.uid) return { unbuilt: "The plan is not stored." };
  return {
    type: "Apply",
    plan: {
      name: ref.name,
      fingerprint: ref.fingerprint,
      contentDigest: planContentDigest,
      chunkConfigMaps: chunksOf(object.spec).map((chunk) => chunkName(ref.name, chunk.index)),
    },
    transactionMode: modeOf(claim),
    expectedCoordinationDigest: coordinationDigest,
    expectedTargetIdentityDigest: targetIdentityDigest,
    dispatchNotAfter,
    executionNotAfter,
  };
}
