/** What people and parts try in one namespace, as kubectl reports it. */
import { type KubectlTarget, kubectlJson, tryKubectl } from "../cluster/kubectl.ts";

/** kubectl flags to act as a user. */
export const as = (user: string, ...groups: readonly string[]): readonly string[] => [
  `--as=${user}`,
  ...groups.map((group) => `--as-group=${group}`),
];

export interface Attempts {
  /** Arguments with the namespace. */
  here(...args: readonly string[]): string[];
  /** Empty when it was let pass, else what kubectl says. */
  attempt(args: readonly string[], input?: object): Promise<string>;
  create(object: object, user: readonly string[], ...more: readonly string[]): Promise<string>;
  merge(
    what: string,
    name: string,
    patch: object,
    user: readonly string[],
    ...more: readonly string[]
  ): Promise<string>;
  get<T>(what: string, name: string): Promise<T>;
}

/** @param target asked at each attempt, because a test learns it only when its cluster is up */
export function attemptsIn(namespace: string, target: () => KubectlTarget): Attempts {
  const here = (...args: readonly string[]): string[] => [...args, "-n", namespace];
  const attempt = async (args: readonly string[], input?: object): Promise<string> => {
    const result = await tryKubectl(
      target(),
      here(...args),
      input === undefined ? {} : { input: JSON.stringify(input) },
    );
    return result.code === 0 ? "" : result.stderr;
  };
  return {
    here,
    attempt,
    create: (object, user, ...more) => attempt(["create", "-f", "-", ...user, ...more], object),
    merge: (what, name, patch, user, ...more) =>
      attempt(["patch", what, name, "--type=merge", "-p", JSON.stringify(patch), ...user, ...more]),
    get: (what, name) => kubectlJson(target(), here("get", what, name)),
  };
}
