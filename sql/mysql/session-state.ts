import { type MysqlReading, MysqlScanner } from "./scanner.ts";

/** What statements leave in their session beside the server's variables. Names are quoted, as SQL. */
export interface SessionState {
  readonly temporaryTables: Set<string>;
  readonly temporarySequences: Set<string>;
  readonly prepared: Set<string>;
  readonly userVariables: Set<string>;
}

export const emptySessionState = (): SessionState => ({
  temporaryTables: new Set(),
  temporarySequences: new Set(),
  prepared: new Set(),
  userVariables: new Set(),
});

/** Without one of these a text leaves nothing; most texts have none and are not read again. */
const WORTH_READING = /@|\btemporary\b|\bprepare\b/i;

/**
 * Adds what this statement's text names: wherever it stands, in a body too, for the body may be called. A name that was not made is
 * added with them; it costs nothing to take away what is not there.
 */
export function noteSessionState(statement: string, reading: MysqlReading, state: SessionState): void {
  if (!WORTH_READING.test(statement)) return;
  const tokens = new MysqlScanner(statement, reading);
  const reader = new Reader(state);
  while (tokens.next()) {
    if (tokens.kind === "executable" || tokens.kind === "executable-end") continue;
    reader.token(tokens.value(), tokens.kind === "word");
  }
  reader.finish();
}

class Reader {
  readonly #state: SessionState;
  /** The token before, a keyword in upper case. */
  #previous = "";
  /** Where the name that is being read belongs. */
  #into: Set<string> | undefined;
  #name = "";

  constructor(state: SessionState) {
    this.#state = state;
  }

  token(raw: string, isWord: boolean): void {
    const text = isWord ? raw.toUpperCase() : raw;
    if (this.#into === undefined || !this.#ofName(raw, text)) {
      this.finish();
      if (!(text === "@" && this.#previous === "@")) this.#into = this.#kindOf(text);
    }
    this.#previous = text;
  }

  finish(): void {
    if (this.#name !== "") this.#into?.add(this.#name);
    this.#into = undefined;
    this.#name = "";
  }

  /** @returns whether the token belongs to the name; `db.name` goes on behind its full stop */
  #ofName(raw: string, text: string): boolean {
    if (this.#name === "" && ["IF", "NOT", "EXISTS"].includes(text)) return true;
    const goesOn = this.#name === "" || this.#name.endsWith(".");
    if (goesOn === (raw === ".") || raw === "@") return false;
    if (raw === "." && this.#into === this.#state.userVariables) return false;
    this.#name += goesOn ? quoted(raw) : ".";
    return true;
  }

  #kindOf(text: string): Set<string> | undefined {
    if (text === "@") return this.#state.userVariables;
    if (text === "PREPARE" && this.#previous !== "DEALLOCATE" && this.#previous !== "DROP") return this.#state.prepared;
    if (this.#previous !== "TEMPORARY") return undefined;
    if (text === "TABLE") return this.#state.temporaryTables;
    return text === "SEQUENCE" ? this.#state.temporarySequences : undefined;
  }
}

/** A name in backticks, whichever way it was written. */
function quoted(raw: string): string {
  const mark = raw.charAt(0);
  if (mark === "`") return raw;
  const bare = mark === '"' || mark === "'" ? raw.slice(1, -1).replaceAll(mark + mark, mark) : raw;
  return `\`${bare.replaceAll("`", "``")}\``;
}
