/** Acting as somebody else, as `kubectl --as` and a kubeconfig's `as` do: the API server decides whether the user may. */
import { misconfigured } from "./errors.ts";

/** Who is to be acted as, in a kubeconfig's own words. */
export interface Impersonation {
  readonly as?: string;
  readonly "as-uid"?: string;
  readonly "as-groups"?: readonly string[] | null;
  readonly "as-user-extra"?: unknown;
}

/** What one header line can hold without saying something else. */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * The headers that ask for it; none where nobody is to be acted as.
 * @throws KubeError (Configuration) for what cannot be asked for here: to leave it out would act with other rights than were meant
 */
export function impersonationHeaders(wanted: Impersonation): Readonly<Record<string, string>> {
  const { as, "as-uid": uid, "as-groups": groups, "as-user-extra": extra } = wanted;
  const asked = { "impersonate-user": as, "impersonate-uid": uid, "impersonate-group": groups?.[0] };
  const headers = Object.entries(asked).filter((entry): entry is [string, string] => (entry[1] ?? "") !== "");
  if (isExtra(extra))
    throw misconfigured("as-user-extra of the kubeconfig's user is not supported; use a user without it");
  if ((groups?.length ?? 0) > 1)
    throw misconfigured("acting as a member of more than one group is not supported; name one");
  if (headers.length > 0 && (as ?? "") === "")
    throw misconfigured("a group or UID to act as was given without a user: name one with --as or the kubeconfig's as");
  for (const [name, value] of headers)
    if (!HEADER_VALUE.test(value)) throw misconfigured(`${name} may hold printable ASCII characters only`);
  return Object.fromEntries(headers);
}

const isExtra = (extra: unknown): boolean =>
  typeof extra === "object" && extra !== null && Object.keys(extra).length > 0;
