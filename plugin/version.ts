/** The plugin's own version; set when the executable is built. */
export const pluginVersion = (): string => process.env.PTAH_BUILD_VERSION ?? "development";
const pluginCommit = (): string => process.env.PTAH_BUILD_COMMIT ?? "unknown";

/** `kubectl ptah version`. */
export function versionText(output: string): string {
  return output === "json"
    ? `${JSON.stringify({ version: 1, kind: "Version", plugin: pluginVersion(), commit: pluginCommit() }, undefined, 2)}\n`
    : `kubectl-ptah ${pluginVersion()} (commit ${pluginCommit()})\n`;
}
