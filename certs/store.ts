import * as v from "valibot";
import {
  apiVersionOf,
  isKubeError,
  type Kind,
  type KubeClient,
  kindOf,
  type Stored,
  StoredShape,
} from "../kube/index.ts";
import { limits } from "./limits.ts";
import type { RotationState } from "./plan.ts";
import { belongTogether, certificatesOf, factsOf, fingerprintsOf, namesOf, type Pair, signedBy } from "./x509.ts";

/** The two Secrets and the two admission configurations that rotation works on. */
export interface Places {
  readonly namespace: string;
  readonly tlsSecret: string;
  readonly authoritySecret: string;
  readonly configuration: string;
  readonly service: string;
}

interface Secret extends Stored {
  readonly data?: Readonly<Record<string, string>>;
}
interface Configuration extends Stored {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig: {
      readonly caBundle?: string;
      readonly service?: { readonly name: string; readonly namespace: string };
    };
  }[];
}

const SecretShape = v.looseObject({ ...StoredShape.entries, data: v.optional(v.record(v.string(), v.string())) });
const ConfigurationShape = v.looseObject({
  ...StoredShape.entries,
  webhooks: v.optional(
    v.pipe(
      v.array(
        v.looseObject({
          name: v.string(),
          clientConfig: v.looseObject({
            caBundle: v.optional(v.string()),
            service: v.optional(v.looseObject({ name: v.string(), namespace: v.string() })),
          }),
        }),
      ),
      v.maxLength(limits.entriesMax),
    ),
  ),
});

/** This room alone may read a Secret, and only its own two, by name. */
const SECRET: Kind<Secret> = kindOf<Secret>(
  { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true },
  SecretShape,
);
const configurationKind = (kind: string, plural: string): Kind<Configuration> =>
  kindOf<Configuration>(
    { group: "admissionregistration.k8s.io", version: "v1", plural, kind, namespaced: false },
    ConfigurationShape,
  );
const CONFIGURATIONS = [
  configurationKind("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
  configurationKind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
];

const Clock = v.object({ stagedAtMs: v.optional(v.number()), switchedAtMs: v.optional(v.number()) });

/** What one pass read: the state that decides and, beside it, the objects its writes are conditional on. */
export interface Snapshot {
  readonly state: RotationState;
  readonly authority: { readonly current?: Pair; readonly next?: Pair; readonly previous?: string };
  readonly times: v.InferOutput<typeof Clock>;
  /** The authority that signed what is being served, as the serving Secret itself remembers it. */
  readonly servedBy?: string;
  readonly secrets: { readonly tls?: Secret; readonly authority?: Secret };
  readonly configurations: readonly { readonly kind: Kind<Configuration>; readonly object: Configuration }[];
}

/** Reads everything, uncached. Errors: KubeError. */
export async function readSnapshot(client: KubeClient, places: Places, signal: AbortSignal): Promise<Snapshot> {
  const at = (name: string) => ({ namespace: places.namespace, name });
  const [tls, authoritySecret, ...configurations] = await Promise.all([
    absent(client.get(SECRET, at(places.tlsSecret), { signal })),
    absent(client.get(SECRET, at(places.authoritySecret), { signal })),
    ...CONFIGURATIONS.map(async (kind) => ({
      kind,
      object: await absent(client.get(kind, { name: places.configuration }, { signal })),
    })),
  ]);
  const found = configurations.flatMap(({ kind, object }) => (object === undefined ? [] : [{ kind, object }]));
  const authority = authorityOf(authoritySecret);
  const times = timesOf(authoritySecret);
  return {
    state: {
      authority: {
        current: authority.current && factsOf(authority.current.certificate),
        next: authority.next && factsOf(authority.next.certificate),
        previous: authority.previous === undefined ? undefined : factsOf(authority.previous),
        ...times,
      },
      serving: servingOf(tls, authority.current),
      bundles: found.flatMap(({ object }) => ours(object, places).map(({ bundle }) => fingerprintsOf(bundle))),
    },
    authority,
    times,
    servedBy: servedBy(tls),
    secrets: { tls, authority: authoritySecret },
    configurations: found,
  };
}

/** Writes a Secret's data as a whole, on the version that was read; creates it where there was none. */
export async function writeSecret(
  client: KubeClient,
  places: Places,
  name: string,
  before: Secret | undefined,
  data: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const encoded = Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "utf8").toString("base64")]),
  );
  if (before === undefined) {
    const body = {
      apiVersion: apiVersionOf(SECRET),
      kind: SECRET.kind,
      metadata: { name },
      type: "Opaque",
      data: encoded,
    };
    await client.create(SECRET, places.namespace, body, { signal });
  } else {
    await client.replace(SECRET, { namespace: places.namespace, name }, { ...before, data: encoded }, { signal });
  }
}

/** Makes every entry of ours trust exactly `bundle`; each configuration is one write on the version that was read. */
export async function writeBundles(
  client: KubeClient,
  places: Places,
  snapshot: Snapshot,
  bundle: string,
  signal: AbortSignal,
): Promise<void> {
  const caBundle = Buffer.from(bundle, "utf8").toString("base64");
  for (const { kind, object } of snapshot.configurations) {
    const wrong = ours(object, places).filter((entry) => entry.bundle !== bundle);
    if (wrong.length === 0) continue;
    const body = [
      { op: "test", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
      ...wrong.flatMap(({ index, name }) => [
        { op: "test", path: `/webhooks/${index}/name`, value: name },
        { op: "add", path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle },
      ]),
    ];
    await client.patch(kind, { name: places.configuration }, { type: "json", body }, { signal });
  }
}

/** @returns the PEM bundle of the authorities in the order `trustedAuthorities` names them. */
export function bundleOf(authority: Snapshot["authority"]): string {
  return [authority.current?.certificate, authority.next?.certificate, authority.previous]
    .filter((certificate) => certificate !== undefined)
    .map((certificate) => `${certificate.trim()}\n`)
    .join("");
}

/** @returns the data of the authority Secret for these authorities and times. */
export function authorityData(authority: Snapshot["authority"], times: Snapshot["times"]): Record<string, string> {
  return {
    ...(authority.current === undefined ? {} : pairData("ca", authority.current)),
    ...(authority.next === undefined ? {} : pairData("next", authority.next)),
    ...(authority.previous === undefined ? {} : { "previous.crt": authority.previous }),
    "rotation.json": `${JSON.stringify(times)}\n`,
  };
}

const pairData = (name: string, pair: Pair): Record<string, string> => ({
  [`${name}.crt`]: pair.certificate,
  [`${name}.key`]: pair.key,
});

async function absent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

function ours(object: Configuration, places: Places): { index: number; name: string; bundle: string }[] {
  return (object.webhooks ?? []).flatMap((entry, index) => {
    const service = entry.clientConfig.service;
    if (service?.name !== places.service || service.namespace !== places.namespace) return [];
    return [
      { index, name: entry.name, bundle: Buffer.from(entry.clientConfig.caBundle ?? "", "base64").toString("utf8") },
    ];
  });
}

function textOf(secret: Secret | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  return value === undefined || value === "" ? undefined : Buffer.from(value, "base64").toString("utf8");
}

function pairOf(secret: Secret | undefined, name: string): Pair | undefined {
  const certificate = textOf(secret, `${name}.crt`);
  const key = textOf(secret, `${name}.key`);
  if (certificate === undefined || key === undefined) return undefined;
  return belongTogether({ certificate, key }) ? { certificate, key } : undefined;
}

function authorityOf(secret: Secret | undefined): Snapshot["authority"] {
  const previous = textOf(secret, "previous.crt");
  return {
    current: pairOf(secret, "ca"),
    next: pairOf(secret, "next"),
    previous: previous !== undefined && factsOf(previous) !== undefined ? previous : undefined,
  };
}

function servedBy(tls: Secret | undefined): string | undefined {
  const certificate = textOf(tls, "tls.crt");
  if (certificate === undefined) return undefined;
  return certificatesOf(textOf(tls, "ca.crt") ?? "").find((authority) => signedBy(certificate, authority));
}

function timesOf(secret: Secret | undefined): v.InferOutput<typeof Clock> {
  try {
    return v.parse(Clock, JSON.parse(textOf(secret, "rotation.json") ?? "{}"));
  } catch {
    return {};
  }
}

function servingOf(secret: Secret | undefined, current: Pair | undefined): RotationState["serving"] {
  const pair = pairOf(secret, "tls");
  const facts = pair && factsOf(pair.certificate);
  if (pair === undefined || facts === undefined) return undefined;
  return {
    ...facts,
    signedByCurrent: current !== undefined && signedBy(pair.certificate, current.certificate),
    names: namesOf(pair.certificate),
  };
}
