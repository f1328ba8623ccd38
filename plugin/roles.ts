/** Which of the installed roles for people has a right, so that whoever misses it knows what to ask for. */

const READS = new Set(["get", "list", "watch"]);

/** The weakest role of manifests/base/user-roles.yaml that has the verb on a resource of the operator's group. */
export function roleWith(verb: string, resource: string): string {
  if (READS.has(verb)) return resource.endsWith("planchunks") ? "ptah-operator-plan-reader" : "ptah-operator-viewer";
  if (resource.endsWith("approvals")) return "ptah-operator-approver";
  return resource.endsWith("acknowledgments") ? "ptah-operator-acknowledger" : "ptah-operator-author";
}

/** The API server's own sentence about a right that is missing. */
const MISSING_RIGHT =
  /cannot (?<verb>[a-z]+) resource "(?<resource>[a-z]+)(?:\/[a-z]+)?" in API group "operator\.ptah\.run"(?: in the namespace "(?<namespace>[a-z0-9-]+)")?/;

/** @returns what to ask for; undefined where the refusal is not about a right of the operator's group (admission, for one) */
export function roleHint(message: string): string | undefined {
  const { verb, resource, namespace } = MISSING_RIGHT.exec(message)?.groups ?? {};
  if (verb === undefined || resource === undefined) return undefined;
  const role = roleWith(verb, resource);
  if (namespace === undefined) return `Ask for the ClusterRole ${role} in all namespaces, or name one with -n.`;
  return `Ask for the ClusterRole ${role} in namespace ${namespace}.`;
}
