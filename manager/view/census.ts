import * as v from "valibot";
import { GROUP, VERSION } from "../../crds/common.ts";
import { coordinationDigest } from "../../crds/fingerprints.ts";
import {
  isKubeError,
  type Kind,
  type KubeClient,
  kindOf,
  orAbsent,
  type RawCustom,
  StoredShape,
} from "../../kube/index.ts";
import type { CensusFacts, ResourceFacts } from "../../lifecycle/view.ts";
import type { Caches } from "../caches.ts";
import { STATE_VERSION } from "../contract.ts";
import { claimantFacts, resourceEntry } from "../entries.ts";
import { FAMILIES, type Family } from "../families.ts";

const RealmSpec = v.object({
  engine: v.string(),
  namespaces: v.optional(v.array(v.string()), []),
  sharing: v.optional(v.picklist(["Exclusive", "Shared"]), "Exclusive"),
});

const PtahRealm: Kind<RawCustom> = kindOf(
  { group: GROUP, version: VERSION, plural: "ptahrealms", kind: "PtahRealm", namespaced: false },
  StoredShape,
);

/** Who else claims this resource's realm: from the cache, or by a consistent list of every resource. */
export async function readCensus(
  client: KubeClient,
  caches: Caches,
  resource: ResourceFacts,
  uncached: boolean,
): Promise<CensusFacts> {
  const digest = coordinationDigest(resource.namespace, resource.spec.target) ?? "";
  const claimants = digest === "" ? [] : uncached ? await listed(client, digest) : [...caches.claimants(digest)];
  const others = claimants.filter((other) => other.uid !== resource.uid).map(claimantFacts);
  const realm = resource.spec.target.realmRef?.name;
  return {
    coordinationDigest: digest,
    others: others.filter((other) => other.owes || (!other.suspended && !other.deleting && other.engineSupported)),
    ...(realm === undefined ? {} : { realm: await readRealm(client, realm, resource.namespace) }),
  };
}

/** The realm's resources of every family in every namespace. */
async function listed(client: KubeClient, digest: string): Promise<ResourceFacts[]> {
  const found = await Promise.all(FAMILIES.map((family) => listedOf(client, family, digest)));
  return found.flat();
}

async function listedOf(client: KubeClient, family: Family, digest: string): Promise<ResourceFacts[]> {
  const found: ResourceFacts[] = [];
  for await (const page of client.pages(family.resource.raw, {})) {
    for (const object of page.items) {
      const entry = resourceEntry(family, object, STATE_VERSION);
      if (entry.state === "read" && entry.coordinationDigest === digest) found.push(entry.facts);
    }
  }
  return found;
}

async function readRealm(
  client: KubeClient,
  name: string,
  namespace: string,
): Promise<NonNullable<CensusFacts["realm"]>> {
  const object = await orAbsent(client.get(PtahRealm, { name })).catch((error: unknown) => {
    // Without the kind (or the right to read it) there is no realm that could allow anything.
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  });
  const spec = v.safeParse(RealmSpec, object?.spec);
  if (!spec.success) return { state: "missing" };
  const { engine, namespaces, sharing } = spec.output;
  return { state: "found", engine, namespaceListed: namespaces.includes(namespace), sharing };
}
