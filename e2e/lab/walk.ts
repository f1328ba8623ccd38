/** A walk of the README as a person would type it: its numbered steps and their commands, word for word. */

export interface WalkCommand {
  /** What is typed, without the comment behind it. */
  readonly text: string;
  /** The exit status that the comment promises; 0 where it promises none. */
  readonly exits: number;
}

export interface WalkStep {
  readonly number: number;
  readonly commands: readonly WalkCommand[];
}

/** A command stands seven columns in, under the text of its step. */
const INDENT = "       ";
const COMMENT = /\s+# (.*)$/;

/**
 * @param heading the walk's heading, without its marks
 * @returns the numbered steps up to the next heading, or to text that belongs to no step
 * @throws Error when there is no such heading
 */
export function walkOf(page: string, heading: string): readonly WalkStep[] {
  const lines = page.split("\n");
  const from = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "").startsWith(heading));
  if (from < 0) throw new Error(`the page has no heading "${heading}"`);
  const steps: { number: number; lines: string[] }[] = [];
  for (const line of lines.slice(from + 1)) {
    if (line.startsWith("#")) break;
    const number = /^(\d+)\. /.exec(line)?.[1];
    if (number !== undefined) steps.push({ number: Number(number), lines: [] });
    else if (steps.length > 0 && /^\S/.test(line)) break;
    else if (line.startsWith(INDENT)) steps.at(-1)?.lines.push(line.slice(INDENT.length));
  }
  return steps.map(({ number, lines: typed }) => ({ number, commands: commandsOf(typed) }));
}

/** Lines belong together until every quotation mark is closed. */
function commandsOf(lines: readonly string[]): WalkCommand[] {
  const commands: WalkCommand[] = [];
  let open = "";
  for (const line of lines) {
    const text = open === "" ? line : `${open}\n${line}`;
    open = isQuoted(text) ? text : "";
    if (open === "") commands.push(commandOf(text));
  }
  if (open !== "") throw new Error(`a quotation is not closed: ${open}`);
  return commands;
}

function commandOf(text: string): WalkCommand {
  const comment = COMMENT.exec(text)?.[1] ?? "";
  return { text: text.replace(COMMENT, ""), exits: Number(/\bexit (\d)/.exec(comment)?.[1] ?? 0) };
}

/** A mark is open at the end; within the one kind the other says nothing, and none counts in a comment. */
function isQuoted(text: string): boolean {
  let mark = "";
  for (const [at, char] of [...text].entries()) {
    if (mark === "" && text.startsWith(" # ", at)) return false;
    if (mark === "" && (char === '"' || char === "'")) mark = char;
    else if (char === mark) mark = "";
  }
  return mark !== "";
}
