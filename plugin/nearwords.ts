/** Which known words a mistyped one may have meant. */
import { limits } from "./limits.ts";

/** Letters that are missing, too many or wrong (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...b].entries()) {
      const kept = (row[index] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(kept, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/**
 * Words that differ from this one by a slip, then those that share a part with it, each in the order given.
 * @returns none for a word that is longer than any that is worth comparing
 */
export function nearWords(word: string, known: readonly string[]): string[] {
  if (word.length > limits.comparedWordMax) return [];
  const typed = word.toLowerCase();
  const slips: string[] = [];
  const sharing: string[] = [];
  for (const name of new Set(known)) {
    const other = name.toLowerCase();
    if (editDistance(typed, other) <= limits.slipsMax) slips.push(name);
    else if (other.includes(typed) || typed.includes(other)) sharing.push(name);
  }
  return [...slips, ...sharing].slice(0, limits.suggestionsMax);
}
