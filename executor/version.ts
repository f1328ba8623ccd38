import { CONTRACT_VERSION, EXIT } from "./contract.ts";
import { readFlags } from "./flags.ts";
import { say } from "./report.ts";

/** What `ptah version --json` prints. Version and commit are set when the executable is built. */
export interface VersionReport {
  readonly version: string;
  readonly protocol: number;
  readonly commit: string;
}

export function versionReport(): VersionReport {
  return {
    version: process.env.PTAH_BUILD_VERSION ?? "development",
    protocol: CONTRACT_VERSION,
    commit: process.env.PTAH_BUILD_COMMIT ?? "unknown",
  };
}

/** `ptah version [--json]`. */
export async function version(argv: readonly string[]): Promise<number> {
  const flags = readFlags(argv, {}, { json: { kind: "switch", env: false, what: "one JSON value" } });
  const report = versionReport();
  const text = flags.on("json")
    ? JSON.stringify(report)
    : `ptah ${report.version} (protocol ${report.protocol}, commit ${report.commit})`;
  await say(`${text}\n`);
  return EXIT.ok;
}
