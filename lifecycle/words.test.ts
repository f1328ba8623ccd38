import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { CONDITION_TYPES } from "../crds/conditions.ts";
import { EVENT_REASONS } from "../crds/events.ts";
import { explainReason } from "../crds/reasons.ts";
import { NOT_WAITING } from "./conditions.ts";
import { FAMILIES } from "./families/index.ts";
import { CAUSES } from "./testing-causes.ts";

/** They say again what Ready says, in the family's own words, and have its reason. */
const ECHOES: ReadonlySet<string> = new Set(["Reconciling", "Stalled", "Progressing", "Blocked"]);

const explained = (type: string, said: string, reason: string): boolean => {
  const known: readonly string[] = explainReason(reason).reason?.conditions ?? [];
  return ECHOES.has(type) ? known.length > 0 : known.includes(said);
};
const kindsOf = (type: string): readonly string[] => CONDITION_TYPES.find((entry) => entry.type === type)?.on ?? [];

test.each(["schema", "migration"] as const)(
  "every condition a %s is told has its type and its reason in the tables people read",
  (name) => {
    const family = FAMILIES[name];
    const missing = new Set<string>();
    for (const cause of CAUSES[name]) {
      for (const [type, value, reason] of [
        ...family.conditions(cause, false),
        ...family.conditions(cause, true),
        NOT_WAITING,
      ]) {
        if (value === "absent") continue;
        const said = `${type}=${value === "stale" || value === "doubtful" ? "Unknown" : value}`;
        if (!explained(type, said, reason)) missing.add(`${said} ${reason} (${cause.at})`);
        if (!kindsOf(type).includes(family.kind)) missing.add(`${type} is not on ${family.kind}`);
      }
    }
    expect([...missing].sort()).toEqual([]);
  },
);

test("every Event's reason is in the table people read", () => {
  const known = new Set(EVENT_REASONS.map((entry) => entry.reason));
  const missing: string[] = [];
  for (const folder of ["obligations", "families"]) {
    for (const file of readdirSync(`${import.meta.dir}/${folder}`)) {
      const text = readFileSync(`${import.meta.dir}/${folder}/${file}`, "utf8");
      for (const [, reason] of text.matchAll(/type: "(?:Normal|Warning)"(?: as const)?,\s*reason: "(\w+)"/g)) {
        if (reason !== undefined && !known.has(reason)) missing.push(`${file}: ${reason}`);
      }
    }
  }
  expect(missing).toEqual([]);
});

test("every command in a sentence names the resource and its namespace", () => {
  const bare: string[] = [];
  for (const folder of ["obligations", "families"]) {
    for (const file of readdirSync(`${import.meta.dir}/${folder}`)) {
      const text = readFileSync(`${import.meta.dir}/${folder}/${file}`, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
      for (const [line] of text.matchAll(/.*kubectl ptah .*/g))
        if (!line.includes(" -n ${")) bare.push(`${file}: ${line}`);
    }
  }
  expect(bare).toEqual([]);
});
