import { readFileSync } from "node:fs";
import * as v from "valibot";

/** One change of the desired schema after the first converged: what a person edits next. */
const Step = v.strictObject({
  after: v.string(),
  /** SQL run on the target by hand before this step: drift. */
  byHand: v.optional(v.string()),
  /** The plan may hold no more statements than this: one changed attribute is one statement, not a rebuilt table. */
  atMost: v.optional(v.number()),
});

const Pair = v.strictObject({
  name: v.string(),
  before: v.string(),
  after: v.string(),
  rows: v.optional(v.string()),
  roles: v.optional(v.array(v.string())),
  next: v.optional(v.array(Step)),
  /** A plan of more statements than this is wrong. */
  atMost: v.optional(v.number()),
});

export type Pair = v.InferOutput<typeof Pair>;
export type Step = v.InferOutput<typeof Step>;

/** Reads a file of pairs: `{name, before, after, rows?, roles?}`, and for hard cases `next` steps. */
export function readPairs(path: string): readonly Pair[] {
  return v.parse(v.array(Pair), JSON.parse(readFileSync(path, "utf8")));
}
