import type { ApprovalIdentity } from "../../crds/common.ts";
import { limits } from "../limits.ts";
import type { Requester } from "../review.ts";

/** A requester as an approval or a settlement records them: groups trimmed, unique, sorted, bounded. */
export function identityOf(user: Requester): ApprovalIdentity {
  const groups = [...new Set(user.groups.map((group) => group.trim()).filter((group) => group !== ""))]
    .filter((group) => group.length <= limits.identityLength)
    .sort()
    .slice(0, limits.groupCount);
  return {
    username: user.username,
    ...(user.uid === "" ? {} : { uid: user.uid }),
    ...(groups.length === 0 ? {} : { groups }),
  };
}
