import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { SEVERITIES } from "../crds/common.ts";
import { rootSchema } from "../crds/definition.ts";
import { KINDS } from "../crds/fields.ts";
import { explainPhase } from "../crds/phases.ts";
import { explainReason } from "../crds/reasons.ts";
import { JOURNAL_TYPES, RUN_OUTCOMES } from "../crds/status/index.ts";
import type { Structural } from "../crds/structural.ts";
import { explainWord } from "../crds/words.ts";

const root = normalize(join(import.meta.dir, ".."));
const text = (path: string): string => readFileSync(join(root, path), "utf8");

/** What Kubernetes itself says, and what no command prints. */
const NOT_OURS = /\.admissionSnapshot|\.conditions\[\]\.status$/;

/** Every value of a closed list in a status or a policy, with where it stands. */
function values(path: string, schema: Structural): [value: string, path: string][] {
  const own = (schema.enum ?? []).map((value): [string, string] => [String(value), path]);
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => values(`${path}.${name}`, field));
  const items = schema.items === undefined ? [] : values(`${path}[]`, schema.items);
  return [...own, ...inner, ...items];
}

const explained = (word: string): boolean =>
  explainWord(word).length > 0 || explainPhase(word) !== undefined || explainReason(word).reason !== undefined;

test("every closed value of a status or a policy can be explained", () => {
  const all = KINDS.flatMap((kind) => values(kind.kind, rootSchema(kind)));
  const shown = all.filter(([, path]) => /\.status\.|\.spec\.policy\./.test(path) && !NOT_OURS.test(path));
  expect(shown.length).toBeGreaterThan(100);
  expect(shown.filter(([word]) => !explained(word))).toEqual([]);
});

test("journal entries, outcomes of runs and severities have a meaning of their own beside a phase or reason of that name", () => {
  const within = (where: RegExp) => (word: string) => !explainWord(word).some((entry) => where.test(entry.where));
  expect(JOURNAL_TYPES.filter(within(/^journal entry$/))).toEqual([]);
  expect(RUN_OUTCOMES.filter(within(/migration's run$/))).toEqual([]);
  expect(SEVERITIES.filter(within(/^class of a statement/))).toEqual([]);
  expect(SEVERITIES.filter(within(/drift/))).toEqual([]);
});

test("every outcome that the lifecycle journals can be explained", () => {
  const said = new Set<string>();
  for (const folder of ["lifecycle/families", "lifecycle/obligations"]) {
    for (const file of readdirSync(join(root, folder))) {
      for (const [, word = ""] of text(`${folder}/${file}`).matchAll(/verified\(c, record, "(\w+)"\)/g)) said.add(word);
      for (const [, list = ""] of text(`${folder}/${file}`).matchAll(/\boutcome: ([^\n]*)/g))
        for (const [, word = ""] of list.matchAll(/"([A-Z]\w+)"/g)) said.add(word);
    }
  }
  for (const word of ["Succeeded", "Unknown", "DriftRemains"]) expect(said).toContain(word);
  expect([...said].filter((word) => !explained(word))).toEqual([]);
});

test("every category of drift can be explained", () => {
  const kinds = [...text("executor/postgres/drift.ts").matchAll(/\$\{plural\}_(\w+)/g)].map(([, kind = ""]) => kind);
  expect(kinds.length).toBeGreaterThan(2);
  expect(kinds.filter((kind) => explainWord(`columns_${kind}`).length === 0)).toEqual([]);
});
