import { LIMITS } from "../limits.ts";

/** What a statement holds that may have semicolons of its own. */
export type Program =
  | "none"
  | "routine"
  | "trigger"
  | "event"
  | "package"
  /** MariaDB's compound statements outside a stored program. */
  | "block";

type Frame = "block" | "if" | "case" | "case-expression" | "loop" | "repeat" | "until" | "while" | "for";

type Stage =
  | "first"
  /** After a first word that could be a label or a bare BEGIN. */
  | "second"
  /** Behind CREATE or ALTER, before the kind of object. */
  | "kind"
  | "header"
  | "body"
  | "plain";

const OPENERS: ReadonlyMap<string, Frame> = new Map([
  ["IF", "if"],
  ["CASE", "case"],
  ["LOOP", "loop"],
  ["REPEAT", "repeat"],
  ["WHILE", "while"],
  ["FOR", "for"],
]);

/** Kinds that end the search behind CREATE or ALTER; what is not listed is a modifier. */
const KINDS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["PROCEDURE", "routine"],
  ["FUNCTION", "routine"],
  ["TRIGGER", "trigger"],
  ["EVENT", "event"],
  ["PACKAGE", "package"],
  ...[
    "TABLE",
    "VIEW",
    "INDEX",
    "DATABASE",
    "SCHEMA",
    "USER",
    "ROLE",
    "SERVER",
    "TABLESPACE",
    "UNDO",
    "LOGFILE",
    "SEQUENCE",
    "RESOURCE",
    "SPATIAL",
    "INSTANCE",
  ].map((word): [string, Program] => [word, "none"]),
]);

/** Statements a routine's body may be when it is no block; they end its header. */
const BODY_VERBS: ReadonlySet<string> = new Set(
  "SELECT INSERT UPDATE DELETE REPLACE SET CALL RETURN DO WITH CREATE DROP ALTER TRUNCATE SIGNAL EXECUTE PREPARE VALUES".split(
    " ",
  ),
);

/** Behind these words an expression still has to come, so that an END there is a name. */
const OPERATOR_WORDS: ReadonlySet<string> = new Set(
  "CASE WHEN THEN ELSE AND OR NOT XOR IN IS LIKE BETWEEN DIV MOD SELECT UNTIL RETURN WHERE BY SET AS".split(" "),
);

/**
 * Follows one statement through its tokens to tell the semicolons of a body from the one that ends the statement. `BEGIN` and `END`
 * are no reserved words (columns are named so), so they count only where a statement of the body starts; `CASE` counts
 * everywhere, `IF`, `LOOP`, `REPEAT`, `WHILE` and `FOR` only where they cannot be functions or clauses.
 */
export class BodyTracker {
  program: Program = "none";
  tooDeep = false;
  #stage: Stage = "first";
  #firstWord = "";
  #stack: Frame[] = [];
  /** The next token begins a statement of the body. */
  #atStart = false;
  #previous = "";
  #valueBefore = false;
  #parentheses = 0;
  #skipName = false;
  #nameSeen = false;
  #afterEnd = false;
  #handler: "none" | "declare" | "for" | "condition" | "action" = "none";

  /** Whether a semicolon here belongs to a body. */
  get open(): boolean {
    return this.#stack.length > 0;
  }

  /** Words are given in upper case, or as `name` where they cannot be keywords; strings and quoted names as `name` too. */
  word(word: string, keyword: boolean): void {
    if (this.#stage === "plain") return;
    const name = keyword ? word : "";
    this.#route(name);
    this.#previous = name;
    this.#valueBefore = !OPERATOR_WORDS.has(name);
  }

  symbol(symbol: string): void {
    if (this.#stage === "plain") return;
    if (symbol === ";") this.#semicolon();
    else if (symbol === "(") this.#parentheses += 1;
    else if (symbol === ")") this.#parentheses = Math.max(0, this.#parentheses - 1);
    else if (symbol === ":") this.#label();
    else if (symbol === "=" && this.#previous === "DEFINER" && this.#stage === "kind") this.#skipName = true;
    else if (symbol === "," && this.#handler === "action") this.#handler = "condition";
    this.#previous = symbol;
    this.#valueBefore = symbol === ")";
  }

  #route(word: string): void {
    if (this.#stage === "first") this.#first(word);
    else if (this.#stage === "second") this.#second(word);
    else if (this.#stage === "kind") this.#kind(word);
    else if (this.#stage === "header") this.#header(word);
    else this.#body(word);
  }

  #first(word: string): void {
    this.#firstWord = word;
    if (word === "CREATE" || word === "ALTER") this.#stage = "kind";
    else if (OPENERS.has(word)) {
      this.#enterBlock();
      this.#body(word);
    } else this.#stage = "second";
  }

  #second(word: string): void {
    if (this.#firstWord === "BEGIN" && word === "NOT") {
      this.#enterBlock();
      this.#push("block");
      this.#atStart = true;
    } else this.#stage = "plain";
  }

  #enterBlock(): void {
    this.program = "block";
    this.#stage = "body";
    this.#atStart = true;
  }

  #kind(word: string): void {
    if (this.#skipName) {
      this.#skipName = false;
      return;
    }
    const program = KINDS.get(word);
    if (program === undefined) return;
    this.program = program;
    this.#stage = program === "none" || program === "package" ? "plain" : "header";
  }

  #header(word: string): void {
    if (this.#parentheses > 0) return;
    if (this.program === "trigger") {
      if (word === "ROW" && this.#previous === "EACH") this.#enterBody();
    } else if (this.program === "event") {
      if (word === "DO") this.#enterBody();
    } else this.#routineHeader(word);
  }

  #routineHeader(word: string): void {
    if (!this.#nameSeen) {
      this.#nameSeen = !["IF", "NOT", "EXISTS"].includes(word);
      return;
    }
    const isType = this.#previous === "RETURNS";
    const isCharset = word === "SET" && (this.#previous === "CHARACTER" || this.#previous === "CHAR");
    if (isType || isCharset) return;
    if (word === "BEGIN" || OPENERS.has(word) || BODY_VERBS.has(word)) {
      this.#enterBody();
      this.#body(word);
    } else if (word === "AS" || word === "IS") this.#enterBody();
  }

  #enterBody(): void {
    this.#stage = "body";
    this.#atStart = true;
    this.#parentheses = 0;
  }

  #label(): void {
    if (this.#stage === "second") this.#enterBlock();
    else if (this.#stage === "header" && this.program === "routine" && this.#parentheses === 0) this.#enterBody();
    else if (this.#stage === "body") this.#atStart = true;
  }

  #semicolon(): void {
    this.#atStart = this.#stage === "body";
    this.#handler = "none";
    this.#afterEnd = false;
    this.#parentheses = 0;
  }

  #body(word: string): void {
    if (this.#afterEnd) {
      this.#afterEnd = false;
      if (OPENERS.has(word)) return;
    }
    if (this.#skipName) {
      this.#skipName = false;
      this.#atStart = true;
    } else if (this.#handler !== "none" && this.#handlerWord(word)) return;
    else if (this.#atStart) this.#startWord(word);
    else this.#middleWord(word);
  }

  /** @returns whether the word belongs to `DECLARE … HANDLER FOR condition, …` and not to the action behind it. */
  #handlerWord(word: string): boolean {
    if (this.#handler === "action") {
      this.#handler = "none";
      this.#atStart = true;
      return false;
    }
    if (this.#handler === "declare") {
      if (word !== "HANDLER") return false;
      this.#handler = "for";
    } else if (this.#handler === "for") {
      this.#handler = "condition";
    } else if (word !== "NOT" && word !== "SQLSTATE" && word !== "VALUE") {
      this.#handler = "action";
    }
    return true;
  }

  #startWord(word: string): void {
    const frame = OPENERS.get(word);
    if (frame !== undefined) {
      this.#push(frame);
      this.#atStart = frame === "loop" || frame === "repeat";
    } else if (word === "BEGIN") {
      this.#push("block");
    } else if (word === "END") {
      this.#stack.pop();
      this.#afterEnd = true;
      this.#atStart = false;
    } else if (this.program === "trigger" && (word === "FOLLOWS" || word === "PRECEDES") && !this.open) {
      this.#skipName = true;
    } else if (word === "UNTIL") {
      this.#replace("repeat", "until");
      this.#atStart = false;
    } else {
      if (word === "DECLARE") this.#handler = "declare";
      this.#atStart = word === "ELSE" || (word === "NOT" && this.#previous === "BEGIN") || word === "ATOMIC";
    }
  }

  #middleWord(word: string): void {
    const top = this.#stack.at(-1);
    if (word === "CASE") this.#push("case-expression");
    else if (word === "END" && this.#valueBefore && (top === "case-expression" || top === "until")) {
      this.#stack.pop();
      this.#afterEnd = top === "until";
    } else if (word === "THEN" && top !== "case-expression") this.#atStart = true;
    else if ((word === "DO" || word === "LOOP") && (top === "while" || top === "for")) {
      this.#replace(top, "loop");
      this.#atStart = true;
    }
  }

  #push(frame: Frame): void {
    if (this.#stack.length >= LIMITS.mysqlBlockDepth) this.tooDeep = true;
    else this.#stack.push(frame);
  }

  #replace(from: Frame, to: Frame): void {
    if (this.#stack.at(-1) === from) this.#stack[this.#stack.length - 1] = to;
  }
}
