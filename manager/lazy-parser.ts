import { loadParser, type Parser } from "../sql/parser.ts";

/**
 * The SQL grammar, loaded when the first plan with changes arrives: it is a WebAssembly module of about 20 MB that a standby, or
 * a manager with nothing to plan, never needs.
 */
export class LazyParser implements Parser {
  #loading: Promise<Parser> | undefined;
  #parser: Parser | undefined;

  /** Loads the grammar, once. A failure is told to everybody who waits, and tried again by the next. */
  async load(): Promise<void> {
    this.#loading ??= loadParser();
    try {
      this.#parser = await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  parse(sql: string): ReturnType<Parser["parse"]> {
    return this.#loaded().parse(sql);
  }

  parseRoutine(sql: string): ReturnType<Parser["parseRoutine"]> {
    return this.#loaded().parseRoutine(sql);
  }

  words(sql: string): ReturnType<Parser["words"]> {
    return this.#loaded().words(sql);
  }

  #loaded(): Parser {
    if (this.#parser === undefined) throw new Error("a plan was judged before the SQL grammar was loaded");
    return this.#parser;
  }
}
