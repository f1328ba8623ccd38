import { PATHS } from "../workload/environment.ts";
import { PLAN_SIZE_BYTES_MAX } from "../workload/limits.ts";
import { WIRE_OPERATIONS, type WireOperation } from "../workload/result.ts";
import { UsageError } from "./failure.ts";
import { RESULT_SIZE_BYTES_MAX } from "./limits.ts";

/** What one invocation of the runner is asked to do. */
export type Mode =
  | { readonly kind: "install"; readonly path: string }
  | { readonly kind: "snapshot" }
  | {
      readonly kind: "operation";
      readonly operation: WireOperation;
      readonly ptahBinary: string;
      readonly resultBytesMax: number;
      readonly planBytesMax: number;
      readonly terminationLog: string;
    };

const VALUE_FLAGS = ["operation", "ptah-binary", "max-result-bytes", "max-plan-bytes", "termination-log", "install-to"];

/** Reads the command line (reference, runner modes). @throws UsageError */
export function readMode(argv: readonly string[]): Mode {
  const { values, positionals } = readFlags(argv);
  const install = values.get("install-to");
  if (install !== undefined) {
    if (values.size > 1 || positionals.length > 0) throw new UsageError("--install-to stands alone");
    return { kind: "install", path: install };
  }
  if (values.has("snapshot-copy")) {
    if (values.size > 1 || positionals.length > 0) throw new UsageError("--snapshot-copy stands alone");
    return { kind: "snapshot" };
  }
  const named = values.get("operation");
  if ((named === undefined) === (positionals.length !== 1) || positionals.length > 1) {
    throw new UsageError("name one operation, with --operation or as the only argument");
  }
  const operation = WIRE_OPERATIONS.find((o) => o === (named ?? positionals[0]));
  if (operation === undefined) throw new UsageError(`the operation must be one of ${WIRE_OPERATIONS.join(", ")}`);
  return {
    kind: "operation",
    operation,
    ptahBinary: values.get("ptah-binary") ?? PATHS.ptah,
    resultBytesMax: bytes(values, "max-result-bytes", RESULT_SIZE_BYTES_MAX),
    planBytesMax: bytes(values, "max-plan-bytes", PLAN_SIZE_BYTES_MAX),
    terminationLog: values.get("termination-log") ?? PATHS.terminationLog,
  };
}

function readFlags(argv: readonly string[]): { values: Map<string, string>; positionals: string[] } {
  const values = new Map<string, string>();
  const positionals: string[] = [];
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const flag = /^--?([a-z][a-z-]*)(?:=(.*))?$/s.exec(argument);
    if (flag === null) {
      positionals.push(argument);
      continue;
    }
    const name = flag[1] ?? "";
    if (values.has(name)) throw new UsageError(`--${name} is given twice`);
    values.set(name, name === "snapshot-copy" && flag[2] === undefined ? "" : flagValue(name, flag[2], rest));
  }
  return { values, positionals };
}

/** The value after `=`, or the next argument, which it takes from `rest`. */
function flagValue(name: string, attached: string | undefined, rest: string[]): string {
  if (!VALUE_FLAGS.includes(name)) throw new UsageError(`unknown flag --${name}`);
  const value = attached ?? rest.shift();
  if (value === undefined || value === "") throw new UsageError(`--${name} needs a value`);
  return value;
}

function bytes(values: ReadonlyMap<string, string>, name: string, max: number): number {
  const text = values.get(name);
  if (text === undefined) return max;
  const value = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max) throw new UsageError(`--${name} must be a number from 1 to ${max}`);
  return value;
}
