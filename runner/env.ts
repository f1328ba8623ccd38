import { Failed } from "./failure.ts";

/** The runner's own environment, as the Job's builder wrote it. */
export type Env = Readonly<Record<string, string | undefined>>;

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** A variable that has to be a digest. @throws Failed with the first code where it is not set, the second where it is none */
export function digestOf(env: Env, name: string, missing: string, invalid: string): string {
  const value = env[name] ?? "";
  if (value === "") throw new Failed(missing, `${name} is not set; the Job was not built by the manager.`);
  if (!DIGEST.test(value)) throw new Failed(invalid, `${name} is not a digest.`);
  return value;
}
