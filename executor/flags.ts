import { HelpRequested, UsageError } from "./contract.ts";
import { MAX_DURATION_MS } from "./limits.ts";

/** One flag of a command. Every flag has the environment default `PTAH_<FLAG>` unless `env` is false. */
export interface FlagSpec {
  readonly kind: "text" | "list" | "switch";
  /** For `--help`: what it is for. */
  readonly what: string;
  readonly env?: false;
}

export interface Flags {
  text(name: string): string | undefined;
  list(name: string): readonly string[];
  on(name: string): boolean;
}

type Values = Map<string, string[]>;

/**
 * Reads `--name value`, `--name=value` and switches; an unset flag falls back to its environment variable. An empty variable
 * counts as unset, except for a switch, where it is an error. A list variable is one CSV record (RFC 4180 quoting). An empty
 * value of a flag, or in a list, is an error: it names nothing, and a fence or a directory would be missing without a word.
 * @throws UsageError, or HelpRequested for `--help` and `-h`
 */
export function readFlags(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  specs: Readonly<Record<string, FlagSpec>>,
): Flags {
  const values: Values = new Map();
  fromArguments(argv, specs, values);
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.env === false || values.has(name)) continue;
    fromEnvironment(name, spec, env[variableOf(name)], values);
  }
  return {
    text: (name) => values.get(name)?.at(-1),
    list: (name) => values.get(name) ?? [],
    on: (name) => values.get(name)?.at(-1) === "true",
  };
}

/** Whether the argument asks for help, where a flag or a command may stand. */
export const asksForHelp = (argument: string | undefined): boolean => argument === "--help" || argument === "-h";

/** A word of the command line as an error repeats it: what is no plain word may be a URL with a password, and is not repeated. */
export const shown = (word: string, quote = '"'): string =>
  /^[\w. -]{0,60}$/.test(word) ? `${quote}${word}${quote}` : "(not repeated, it may hold a secret)";

const VALUE_WORD: Readonly<Record<FlagSpec["kind"], string>> = { text: " VALUE", list: " VALUE …", switch: "" };

/** What `--help` says of the flags, a line each. */
function helpLines(specs: Readonly<Record<string, FlagSpec>>): readonly string[] {
  const left = Object.entries(specs).map(([name, { kind }]) => `--${name}${VALUE_WORD[kind]}`);
  const width = Math.max(...left.map((text) => text.length));
  return Object.entries(specs).map(([name, { what, env }], at) => {
    const variable = env === false ? "" : ` (${variableOf(name)})`;
    return `  ${(left[at] ?? "").padEnd(width)}  ${what}${variable}`;
  });
}

const variableOf = (name: string): string => `PTAH_${name.toUpperCase().replaceAll(/[-.]/g, "_")}`;

function fromArguments(argv: readonly string[], specs: Readonly<Record<string, FlagSpec>>, values: Values): void {
  const waiting = [...argv];
  for (let argument = waiting.shift(); argument !== undefined; argument = waiting.shift()) {
    if (asksForHelp(argument))
      throw new HelpRequested([
        "Flags, and the variable each is read from where it is not given:",
        ...helpLines(specs),
      ]);
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(argument);
    if (match === null) throw new UsageError(`unexpected argument ${shown(argument)}`);
    const [, name = "", inline] = match;
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    if (spec === undefined) throw new UsageError(`unknown flag ${shown(`--${name}`, "")}`);
    const value = spec.kind === "switch" ? switchValue(`--${name}`, inline ?? "true") : textOf(name, inline, waiting);
    values.set(name, spec.kind === "list" ? [...(values.get(name) ?? []), value] : [value]);
  }
}

/** The value after `=`, or the next argument, which it takes from `waiting` unless that looks like a flag of its own. */
function textOf(name: string, inline: string | undefined, waiting: string[]): string {
  if (inline === undefined && waiting[0]?.startsWith("--") === true) {
    throw new UsageError(`flag --${name} needs a value; one that begins with -- is written --${name}=VALUE`);
  }
  const value = inline ?? waiting.shift();
  if (value === undefined) throw new UsageError(`flag --${name} needs a value`);
  if (value === "") throw new UsageError(`flag --${name} needs a value that is not empty; leave the flag out instead`);
  return value;
}

function fromEnvironment(name: string, spec: FlagSpec, value: string | undefined, values: Values): void {
  if (value === undefined) return;
  const variable = variableOf(name);
  if (spec.kind === "switch") values.set(name, [switchValue(variable, value)]);
  else if (value !== "") values.set(name, spec.kind === "list" ? listOf(value, variable) : [value]);
}

function listOf(record: string, variable: string): string[] {
  const fields = parseCsvRecord(record, variable);
  if (fields.includes(""))
    throw new UsageError(`${variable} has an empty entry; take it out, or leave the variable empty`);
  return fields;
}

function switchValue(name: string, value: string): string {
  if (["true", "1", "t", "TRUE", "True"].includes(value)) return "true";
  if (["false", "0", "f", "FALSE", "False"].includes(value)) return "false";
  throw new UsageError(`${name} must be true or false`);
}

/** Fields of one CSV record (RFC 4180); `name` is for the message of a malformed one. */
export function parseCsvRecord(record: string, name: string): string[] {
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  while (field.lastIndex <= record.length) {
    const match = field.exec(record);
    if (match === null) throw new UsageError(`${name} is not one CSV record`);
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === "") return fields;
  }
  throw new UsageError(`${name} is not one CSV record`);
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A bound that has to end: to a driver and to the server zero means that nothing ever does. */
export function parseBoundMs(text: string, flag: string): number {
  const durationMs = parseDurationMs(text, flag);
  if (durationMs === 0) throw new UsageError(`--${flag} must be longer than 0`);
  return durationMs;
}

/** A duration as Go writes it (`10s`, `1m30s`, `250ms`) in milliseconds. */
export function parseDurationMs(text: string, flag: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map((p) => p[0]).join("") !== text) {
    throw new UsageError(`--${flag} must be a duration such as 10s or 2m`);
  }
  const durationMs = Math.round(parts.reduce((sum, p) => sum + Number(p[1]) * (UNITS[p[2] ?? ""] ?? 0), 0));
  if (durationMs > MAX_DURATION_MS) throw new UsageError(`--${flag} must not be longer than 168h`);
  return durationMs;
}
