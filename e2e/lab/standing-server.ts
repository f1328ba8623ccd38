/** A database server that is asked for under a name: what of it stands already, and what that means. */
import { databaseUrl, ENGINES, type EngineName, serverImage, urlSecretName } from "../cluster/database-pod.ts";
import type { DatabaseOptions } from "./database.ts";
import type { KubeObject, Lab } from "./lab.ts";

export type ServerRequest = Required<Pick<DatabaseOptions, "namespace" | "name" | "engine">> &
  Pick<DatabaseOptions, "major">;

/** What the cluster has under the request's names. */
export interface Standing {
  readonly namespace: KubeObject | undefined;
  readonly pod: KubeObject | undefined;
  /** Of the connection URL. */
  readonly secret: KubeObject | undefined;
}

/** `password` is that of the server or the Secret that stands; undefined where nothing stands, and a new one may be made. */
export type Answer =
  | { readonly refusal: string }
  | { readonly password: string | undefined; readonly podStands: boolean };

export async function readStanding(lab: Lab, { namespace, name }: ServerRequest): Promise<Standing> {
  const [space, pod, secret] = await Promise.all([
    lab.get("namespace", namespace),
    lab.get("pod", name, namespace),
    lab.get("secret", urlSecretName(name), namespace),
  ]);
  return { namespace: space, pod, secret };
}

/**
 * A server reads its password at its first start only, so whoever comes second keeps what is there, or is refused before
 * anything is written: another password in the Secret would lock every resource out of a database that works.
 * @param images references by image, as the lab loaded them
 */
export function answerTo(request: ServerRequest, images: Readonly<Record<string, string>>, found: Standing): Answer {
  const { namespace, name } = request;
  if (found.namespace === undefined) {
    return { refusal: `there is no namespace ${namespace}; make it first: kubectl create namespace ${namespace}` };
  }
  const secretName = urlSecretName(name);
  const end = `kubectl delete -n ${namespace} pod/${name} service/${name} secret/${secretName} --ignore-not-found`;
  const instead = `take another NAME, or end that one with its data: ${end}`;
  const password = textOf(found.secret, "password");
  if (found.pod !== undefined) {
    const other = otherServer(request, images, found.pod);
    if (other !== undefined) return { refusal: `${namespace}/${name} is ${other} already; ${instead}` };
    if (password === undefined) {
      return {
        refusal: `the server ${namespace}/${name} runs, and Secret ${secretName} does not hold its password; ${instead}`,
      };
    }
    return { password, podStands: true };
  }
  if (found.secret === undefined) return { password: undefined, podStands: false };
  const url = textOf(found.secret, "url");
  if (password === undefined || url !== databaseUrl({ ...request, password, database: databaseIn(url) })) {
    return {
      refusal: `Secret ${namespace}/${secretName} is there and not of such a server; take another NAME, or delete it`,
    };
  }
  return { password, podStands: false };
}

/** What the Pod is, where it is not the server that is asked for. */
function otherServer(
  { engine, major }: ServerRequest,
  images: Readonly<Record<string, string>>,
  pod: KubeObject,
): string | undefined {
  const image = String(pod.spec?.containers?.[0]?.image ?? "");
  const wanted = serverImage(engine, major);
  const servers = (Object.keys(ENGINES) as EngineName[]).flatMap((one) =>
    one === "postgresql"
      ? ([15, 17] as const).map((m) => ({ image: serverImage(one, m), label: `${ENGINES[one].label} ${m}` }))
      : [{ image: serverImage(one), label: ENGINES[one].label }],
  );
  const standing = servers.find((server) => images[server.image] === image);
  if (standing !== undefined) return standing.image === wanted ? undefined : `a ${standing.label} server`;
  // An image of an earlier build: its digest is not known any more, its repository tells the engine.
  if (repositoryOf(image) === repositoryOf(images[wanted] ?? "")) return undefined;
  const sibling = servers.find((server) => repositoryOf(images[server.image] ?? "") === repositoryOf(image));
  return sibling === undefined
    ? "something else than a server of the lab"
    : `a ${sibling.label.replace(/ \d+$/, "")} server`;
}

const repositoryOf = (reference: string): string => reference.split("@")[0] ?? "";

function databaseIn(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).pathname.slice(1) : "";
}

function textOf(secret: KubeObject | undefined, key: string): string | undefined {
  const value: unknown = secret?.data?.[key];
  return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}
