/** The files that a ConfigMap source selects: one rule for who resolves a source and who compares with what was resolved. */
import type { SourceFile } from "./fingerprints.ts";

/** Most files one source may select, and their size together: a ConfigMap holds 1 MiB, base64 of the snapshot included. */
export const SOURCE_FILES_MAX = 256;
export const SOURCE_BYTES_MAX = 716_800;

/** The data of a ConfigMap, as the API gives it. */
export interface ConfigMapData {
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly binaryData?: Readonly<Record<string, string>> | undefined;
}

export interface ConfigMapSelection {
  readonly name: string;
  readonly keys?: readonly string[];
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

/** The selected files in the order of the selection, or a sentence that names what is wrong. */
export function selectFiles(object: ConfigMapData, selection: ConfigMapSelection): readonly SourceFile[] | string {
  const all = [...Object.keys(object.data ?? {}), ...Object.keys(object.binaryData ?? {})].sort();
  const wanted = selection.items ?? (selection.keys ?? all).map((key) => ({ key, path: key }));
  if (wanted.length === 0) return `ConfigMap "${selection.name}" holds no files. Add at least one key with SQL.`;
  if (wanted.length > SOURCE_FILES_MAX) {
    return `ConfigMap "${selection.name}" holds ${wanted.length} files; at most ${SOURCE_FILES_MAX} can be taken. Select fewer keys.`;
  }
  const files: SourceFile[] = [];
  const paths = new Set<string>();
  let sizeBytes = 0;
  for (const { key, path } of wanted) {
    const text = object.data?.[key];
    const binary = object.binaryData?.[key];
    if (text === undefined && binary === undefined) {
      return `ConfigMap "${selection.name}" has no key "${key}". Add it, or take it out of the keys that the source selects.`;
    }
    if (paths.has(path))
      return `Two keys of ConfigMap "${selection.name}" are taken as "${path}". Give each its own path.`;
    paths.add(path);
    const bytes = text === undefined ? Buffer.from(binary ?? "", "base64") : Buffer.from(text, "utf8");
    sizeBytes += bytes.byteLength;
    files.push({ path, bytes });
  }
  if (sizeBytes > SOURCE_BYTES_MAX) {
    return `The files of ConfigMap "${selection.name}" have ${sizeBytes} bytes; a snapshot holds at most ${SOURCE_BYTES_MAX}. Select fewer keys.`;
  }
  return files;
}
