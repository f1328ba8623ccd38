/** Storing what a person has said: under a name of its own, and never twice. */
import { base32 } from "../crds/names.ts";
import { apiVersionOf, isKubeError, type Kind, orAbsent, type Stored } from "../kube/index.ts";
import { failed } from "./failure.ts";
import type { Session } from "./session.ts";

const NAME_PART_MAX = 40;
const SUFFIX_BYTES = 5;

export interface Said<T> {
  /** Name of the resource, which the new name begins with. */
  readonly from: string;
  readonly spec: object;
  /** Whether a stored object is the one that was sent. */
  isIt(stored: T): boolean;
}

/** A create whose answer was lost is read back by its name, never repeated. @throws Failure, KubeError */
export async function createNamed<T extends Stored>(session: Session, kind: Kind<T>, said: Said<T>): Promise<T> {
  const random = Uint8Array.from({ length: SUFFIX_BYTES }, () => Math.floor(session.io.random() * 256));
  const part = said.from.slice(0, NAME_PART_MAX).replace(/[-.]+$/, "");
  const metadata = { name: `${part}-${base32(random)}`, namespace: session.namespace };
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec: said.spec };
  const options = { timeoutMs: session.requestMs };
  try {
    return await session.client.create(kind, session.namespace, body, options);
  } catch (error) {
    if (!isKubeError(error) || error.committed === "no") throw error;
    const stored = await orAbsent(session.client.get(kind, metadata, options)).catch(() => undefined);
    if (stored !== undefined && said.isIt(stored)) return stored;
    throw failed(
      `the answer was lost; look whether it was stored: kubectl get ${kind.kind.toLowerCase()} ${metadata.name} -n ${session.namespace}`,
      error,
    );
  }
}
