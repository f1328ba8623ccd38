/** What the help of each command ends with: one or two lines as a person would type them. */

/** By command, what follows its name. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  schema: ["storefront -n shop", "-A"],
  migration: ["orders -n shop", "-A"],
  plan: ["storefront -n shop", "storefront -n shop -o sql"],
  approve: ["storefront -n shop --wait", "migration/orders -n shop --yes --wait --wait-timeout 5m"],
  wait: ["storefront -n shop", "migration/orders -n shop --for AwaitingApproval --wait-timeout 2m"],
  refresh: ["storefront -n shop --wait"],
  journal: ["storefront -n shop", "migration/orders -n shop -o json"],
  settle: ["schema/storefront -n shop --wait"],
  acknowledge: ["orders -n shop", "orders -n shop --yes --wait"],
  explain: ["PolicyBlocked", "-o json"],
  version: ["-o json"],
};

/** The examples of a command as its help prints them; empty for a command that has none. */
export function examplesText(verb: string): string {
  const lines = (EXAMPLES[verb] ?? []).map((rest) => `  kubectl ptah ${verb} ${rest}`);
  return lines.length === 0 ? "" : ["", lines.length === 1 ? "Example:" : "Examples:", ...lines].join("\n");
}
