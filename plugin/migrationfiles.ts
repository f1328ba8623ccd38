/** Files of a migration's ConfigMap that the executor refuses by their names: better told before a person decides than after. */
import { declaredSource } from "../crds/source.ts";
import { selectFiles } from "../crds/sourcefiles.ts";
import { isKubeError, kinds } from "../kube/index.ts";
import type { Migration } from "./families.ts";
import { limits } from "./limits.ts";
import type { Session } from "./session.ts";
import { visible } from "./text.ts";

/** Ten digits that are no zero, a description, the direction: any other `.sql` file makes the executor refuse the directory. */
const NATIVE = /^(?!0{10}_)\d{10}_[^\p{Cc}]+?\.(up|down)\.sql$/u;
const SQL = /\.sql$/i;

/** The paths that are refused; none where that cannot be told (no such right, no such object, another kind of source). */
export async function refusedFiles(session: Session, migration: Migration): Promise<readonly string[]> {
  const declared = declaredSource(migration.spec.artifact);
  if (declared?.kind !== "ConfigMap") return [];
  const at = { namespace: session.namespace, name: declared.configMap.name };
  try {
    const object = await session.client.get(kinds.ConfigMap, at, { timeoutMs: session.requestMs });
    const files = selectFiles(object, declared.configMap);
    if (typeof files === "string") return [];
    return files.map(({ path }) => path).filter((path) => SQL.test(path) && !NATIVE.test(path.split("/").at(-1) ?? ""));
  } catch (error) {
    if (isKubeError(error, "Forbidden", "NotFound")) return [];
    throw error;
  }
}

/** What is said of them; undefined where nothing is refused. */
export function refusedSentence(paths: readonly string[]): string | undefined {
  if (paths.length === 0) return undefined;
  const named = paths.slice(0, limits.namedFilesMax).map(visible).join(", ");
  const more = paths.length > limits.namedFilesMax ? ` and ${paths.length - limits.namedFilesMax} more` : "";
  return (
    `the source holds ${named}${more}, which the executor refuses, and with it every file: ` +
    "name it with ten digits, _, a description and .up.sql or .down.sql"
  );
}

/** Says on standard error what of the source is refused. */
export async function warnOfSource(session: Session, migration: Migration): Promise<void> {
  const sentence = refusedSentence(await refusedFiles(session, migration));
  if (sentence !== undefined) session.io.stderr(`kubectl-ptah: ${session.colors.yellow("WARNING")}: ${sentence}\n`);
}
