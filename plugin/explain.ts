/** `kubectl ptah explain`: what a reason means and what to do, from the table the documentation is made of. */
import { EVENT_REASONS, explainReason, REASONS } from "../crds/reasons.ts";
import { EXIT, type ExitCode, nothingStored } from "./failure.ts";
import type { Io } from "./io.ts";
import { field } from "./text.ts";

const SUGGESTIONS_MAX = 5;

/** Prints one reason, or all of them by name. @throws Failure (nothing stored) for a word that is none */
export function explain(io: Io, word: string | undefined, output: "text" | "json"): ExitCode {
  if (word === undefined) {
    const all = output === "json" ? json({ reasons: REASONS, events: EVENT_REASONS }) : list();
    io.stdout(all);
    return EXIT.printed;
  }
  const { reason, event } = explainReason(word);
  if (reason === undefined && event === undefined) throw nothingStored(`no reason is called ${word}${like(word)}`);
  const lines = [
    ...(reason === undefined
      ? []
      : [
          ...field("Reason", reason.reason),
          ...field("Conditions", reason.conditions.join(", ")),
          ...field("Meaning", reason.meaning),
          ...field("Who acts", reason.who),
          ...field("Next", reason.next),
        ]),
    ...(event === undefined
      ? []
      : [
          ...field("Event", `${event.reason} (${event.type}, on ${event.on})`),
          ...field("When", event.when),
          ...(reason === undefined ? field("Next", event.next) : []),
        ]),
  ];
  io.stdout(output === "json" ? json({ reason, event }) : `${lines.join("\n")}\n`);
  return EXIT.printed;
}

const json = (content: object): string =>
  `${JSON.stringify({ version: 1, kind: "Explanation", ...content }, undefined, 2)}\n`;

function list(): string {
  const width = Math.max(...REASONS.map((reason) => reason.reason.length)) + 2;
  return REASONS.map((reason) => `${reason.reason.padEnd(width)}${reason.meaning}\n`).join("");
}

/** Reasons that share the word's beginning or contain it. */
function like(word: string): string {
  const part = word.toLowerCase();
  const names = [...new Set([...REASONS, ...EVENT_REASONS].map((entry) => entry.reason))];
  const near = names.filter((name) => name.toLowerCase().includes(part) || part.includes(name.toLowerCase()));
  return near.length === 0
    ? "; kubectl ptah explain lists them"
    : `; did you mean ${near.slice(0, SUGGESTIONS_MAX).join(", ")}?`;
}
