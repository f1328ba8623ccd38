/** `kubectl ptah explain`: what a word of the operator means and what to do, from the tables the documentation is made of. */
import {
  CONDITION_TYPES,
  type ConditionType,
  EXECUTOR_REFUSALS,
  explainCode,
  explainCondition,
  explainPhase,
  explainWord,
  MIGRATION_REFUSALS,
  OPERATION_CODES,
  type OperationCode,
  PHASES,
  type Phase,
  WORDS,
  type Word,
} from "../crds/index.ts";
import {
  type Advice,
  adviceFor,
  EVENT_REASONS,
  type EventReason,
  explainReason,
  REASONS,
  type Reason,
} from "../crds/reasons.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import type { Io } from "./io.ts";
import { nearWords } from "./nearwords.ts";
import { field, table } from "./text.ts";

/** Everything one word may name; a word like Suspended is a phase, a condition type and a reason. */
interface Explained {
  readonly phase?: Phase;
  readonly condition?: ConditionType;
  readonly reason?: Reason;
  readonly event?: EventReason;
  readonly code?: OperationCode;
  readonly words?: readonly Word[];
}

/** Prints what one word means, or every word with its meaning. @throws Failure (nothing stored) for a word that is none */
export function explain(io: Io, word: string | undefined, output: "text" | "json"): ExitCode {
  if (word === undefined) {
    io.stdout(output === "json" ? json(everything()) : list());
    return EXIT.printed;
  }
  const { reason, event } = explainReason(word);
  const words = explainWord(word);
  const found: Explained = {
    phase: explainPhase(word),
    condition: explainCondition(word),
    reason,
    event,
    code: explainCode(word),
    ...(words.length === 0 ? {} : { words }),
  };
  const parts = Object.values(found).some((entry) => entry !== undefined) ? partsOf(found) : [];
  if (parts.length === 0) throw nothingStored(`nothing is called ${word}${like(word)}`);
  io.stdout(output === "json" ? json(found) : `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`);
  return EXIT.printed;
}

function partsOf({ phase, condition, reason, event, code, words = [] }: Explained): string[][] {
  return [
    ...(phase === undefined ? [] : [[...field("Phase", phase.phase), ...acting(phase)]]),
    ...(condition === undefined ? [] : [conditionLines(condition)]),
    ...(reason === undefined
      ? []
      : [[...field("Reason", reason.reason), ...field("Conditions", reason.conditions.join(", ")), ...acting(reason)]]),
    ...(code === undefined ? [] : [[...field("Code", code.code), ...acting(code)]]),
    ...(event === undefined
      ? []
      : [
          [
            ...field("Event", `${event.reason} (${event.type}, on ${event.on.join(", ")})`),
            ...field("When", event.when),
            ...(reason === undefined ? field("Next", event.next) : []),
          ],
        ]),
    ...words.map((entry) => [...field("Word", `${entry.word} (${entry.where})`), ...field("Meaning", entry.meaning)]),
  ];
}

const acting = (
  entry: Advice & { readonly meaning: string; readonly migration?: Advice; readonly conditions?: readonly string[] },
): string[] => [
  ...field("Meaning", entry.meaning),
  ...field("Who acts", entry.who),
  ...field("Next", entry.next),
  ...forMigration(entry),
];

/** What differs for a migration; of a reason that a migration has. */
function forMigration(
  entry: Advice & { readonly migration?: Advice; readonly conditions?: readonly string[] },
): string[] {
  const { who, next } = adviceFor(entry, "migration");
  const hasIt = entry.migration !== undefined || entry.conditions?.some((c) => /^(?:Progressing|Blocked)=/.test(c));
  if (hasIt !== true || (next === entry.next && who === entry.who)) return [];
  return field("For a migration", `${next} (${who})`);
}

function conditionLines(condition: ConditionType): string[] {
  const wanted = { positive: "True", negative: "False or absent", neutral: "either" }[condition.polarity];
  return [
    ...field("Condition", `${condition.type} (on ${condition.on.join(", ")})`),
    ...field("Wanted", wanted),
    ...field("True", condition.whenTrue),
    ...field("False", condition.whenFalse),
    ...field("Absent", condition.whenAbsent),
  ];
}

const json = (content: object): string =>
  `${JSON.stringify({ version: 1, kind: "Explanation", ...content }, undefined, 2)}\n`;

const everything = () => ({
  phases: PHASES,
  conditions: CONDITION_TYPES,
  reasons: REASONS,
  codes: [...OPERATION_CODES, ...MIGRATION_REFUSALS],
  refusals: EXECUTOR_REFUSALS.map(([code, meaning]) => ({ code, meaning })),
  events: EVENT_REASONS,
  words: WORDS,
});

function list(): string {
  const section = (title: string, rows: readonly (readonly string[])[]): string[] => [`${title}:`, ...table(rows), ""];
  return [
    ...section(
      "Phases",
      PHASES.map((entry) => [`  ${entry.phase}`, entry.meaning]),
    ),
    ...section(
      "Condition types",
      CONDITION_TYPES.map((entry) => [`  ${entry.type}`, entry.whenTrue]),
    ),
    ...section(
      "Reasons",
      REASONS.map((entry) => [`  ${entry.reason}`, entry.meaning]),
    ),
    ...section("Codes", [
      ...[...OPERATION_CODES, ...MIGRATION_REFUSALS].map((entry) => [`  ${entry.code}`, entry.meaning]),
      ...EXECUTOR_REFUSALS.map(([code, meaning]) => [`  ${code}`, meaning]),
    ]),
    ...section(
      "Events",
      EVENT_REASONS.map((entry) => [`  ${entry.reason}`, entry.when]),
    ),
    ...section(
      "Other words",
      WORDS.map((entry) => [`  ${entry.word}`, entry.where, entry.meaning]),
    ),
  ].join("\n");
}

/** What a word that is none may have meant. */
function like(word: string): string {
  const near = nearWords(word, [
    ...PHASES.map((entry) => entry.phase),
    ...CONDITION_TYPES.map((entry) => entry.type),
    ...[...REASONS, ...EVENT_REASONS].map((entry) => entry.reason),
    ...[...OPERATION_CODES, ...MIGRATION_REFUSALS].map((entry) => entry.code),
    ...EXECUTOR_REFUSALS.map(([code]) => code),
    ...WORDS.map((entry) => entry.word),
  ]);
  return near.length === 0 ? "; kubectl ptah explain lists every word" : `; did you mean ${near.join(", ")}?`;
}
