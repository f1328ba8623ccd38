import { LIMITS } from "./limits.ts";

/** A node of the parse tree: libpg_query gives every node as an object with one key, the node's kind. */
export interface Tree {
  readonly [key: string]: unknown;
}

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @returns the child object under `key`, or an empty one. */
export function child(tree: Tree, key: string): Tree {
  const value = tree[key];
  return isTree(value) ? value : {};
}

/** @returns the list under `key`; an absent list is empty. */
export function list(tree: Tree, key: string): readonly Tree[] {
  const value = tree[key];
  return Array.isArray(value) ? value.filter(isTree) : [];
}

/** @returns the string under `key`, or the empty string. */
export function text(tree: Tree, key: string): string {
  const value = tree[key];
  return typeof value === "string" ? value : "";
}

/** @returns the value of a String node (`{String: {sval}}`), or undefined for any other node. */
export function stringValue(tree: Tree): string | undefined {
  const value = child(tree, "String")["sval"];
  return typeof value === "string" ? value : undefined;
}

/** @returns the node kind and its fields of a wrapped node. */
export function unwrap(tree: Tree): { readonly kind: string; readonly node: Tree } {
  const kind = Object.keys(tree)[0] ?? "";
  return { kind, node: child(tree, kind) };
}

/**
 * Visits every wrapped node below `root`, without recursion so that a deep tree cannot exhaust the stack.
 * @returns false when the tree is larger than the bound and was not read to its end.
 */
export function visit(root: unknown, seen: (kind: string, node: Tree) => void): boolean {
  const waiting: unknown[] = [root];
  for (let read = 0; waiting.length > 0; read += 1) {
    if (read >= LIMITS.treeNodeCount) return false;
    const value = waiting.pop();
    if (Array.isArray(value)) {
      for (const item of value) waiting.push(item);
    } else if (isTree(value)) {
      for (const [key, inner] of Object.entries(value)) {
        if (isTree(inner)) seen(key, inner);
        waiting.push(inner);
      }
    }
  }
  return true;
}
