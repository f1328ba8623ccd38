/** Files of a migration's ConfigMap that the executor refuses by their names: better told before a person decides than after. */
import { declaredSource } from "../crds/source.ts";
import { selectFiles } from "../crds/sourcefiles.ts";
import { isKubeError, kinds } from "../kube/index.ts";
import { nativeName } from "../sql/migration-names.ts";
import type { Migration } from "./families.ts";
import { limits } from "./limits.ts";
import type { Session } from "./session.ts";
import { visible } from "./text.ts";

const SQL = /\.sql$/i;

/** What is refused, by path; none where that cannot be told (no such right, no such object, another kind of source). */
export async function refusedFiles(session: Session, migration: Migration): Promise<readonly string[]> {
  const declared = declaredSource(migration.spec.artifact);
  if (declared?.kind !== "ConfigMap") return [];
  const at = { namespace: session.namespace, name: declared.configMap.name };
  try {
    const object = await session.client.get(kinds.ConfigMap, at, { timeoutMs: session.requestMs });
    const files = selectFiles(object, declared.configMap);
    if (typeof files === "string") return [];
    return refusedOf(files.map(({ path }) => path));
  } catch (error) {
    if (isKubeError(error, "Forbidden", "NotFound")) return [];
    throw error;
  }
}

function refusedOf(paths: readonly string[]): string[] {
  const stems = new Set(paths.filter((path) => path.endsWith(".down.sql")).map(stemOf));
  return paths.flatMap((path) => {
    if (SQL.test(path) && !isMigration(nameOf(path))) return [visible(path)];
    const alone = path.endsWith(".up.sql") && !stems.has(stemOf(path));
    return alone ? [`${visible(path)} without its .down.sql`] : [];
  });
}

/** Versions begin at 1; any other `.sql` file makes the executor refuse the directory. */
const isMigration = (fileName: string): boolean => (nativeName(fileName)?.version ?? 0) > 0;
const nameOf = (path: string): string => path.split("/").at(-1) ?? "";
/** A version's two files may lie in different folders; their names are alike. */
const stemOf = (path: string): string => nameOf(path).replace(/\.(up|down)\.sql$/, "");

/** What is said of them; undefined where nothing is refused. */
export function refusedSentence(paths: readonly string[]): string | undefined {
  if (paths.length === 0) return undefined;
  const named = paths.slice(0, limits.namedFilesMax).join(", ");
  const more = paths.length > limits.namedFilesMax ? ` and ${paths.length - limits.namedFilesMax} more` : "";
  return (
    `the source holds ${named}${more}, which the executor refuses, and with it every file: ` +
    "a migration is a pair of files named with ten digits, _, a description and .up.sql or .down.sql"
  );
}

/** Says on standard error what of the source is refused. */
export async function warnOfSource(session: Session, migration: Migration): Promise<void> {
  const sentence = refusedSentence(await refusedFiles(session, migration));
  if (sentence !== undefined) session.io.stderr(`kubectl-ptah: ${session.colors.yellow("WARNING")}: ${sentence}\n`);
}
