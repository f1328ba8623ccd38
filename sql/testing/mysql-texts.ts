/**
 * Random MySQL and MariaDB statements that a server accepts, for tests of the splitter: nested bodies, quotes and names made to mislead.
 * They read and write the tables of `MYSQL_TABLES`.
 */

export const MYSQL_TABLES: readonly string[] = [
  "CREATE TABLE t (`end` varchar(20), begin varchar(20), a varchar(20))",
  "CREATE TABLE x (a int, `end` int, begin int)",
];

/** A number at or above 0 and below the bound. */
export type Pick = (below: number) => number;

/** Repeatable numbers (mulberry32), so that a failure names its seed. */
export function numbers(seed: number): Pick {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export function oneOf<T>(pick: Pick, from: readonly T[]): T {
  const found = from[pick(from.length)];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}

const VALUES: readonly string[] = [
  "1",
  "'a;b'",
  "'it''s'",
  "'\\';'",
  '"d;"',
  "x'3B'",
  "0x3b",
  "N'n;'",
  "@`v;`",
  "IF(1, 2, 3)",
  "REPEAT('a;', 3)",
  "(SELECT end FROM t LIMIT 1)",
  "(SELECT begin FROM x WHERE x.end > 1 LIMIT 1)",
  "(SELECT CASE WHEN end > 1 THEN end ELSE begin END FROM t LIMIT 1)",
];

/** Makes statements of one text; names are numbered, so that none is made twice. */
export class MysqlTexts {
  readonly #pick: Pick;
  readonly #mariadb: boolean;
  readonly #prefix: string;
  #made = 0;
  /** Triggers and functions may not change tables. */
  #ddl = true;

  /** @param prefix begins every name */
  constructor(pick: Pick, mariadb: boolean, prefix: string) {
    this.#pick = pick;
    this.#mariadb = mariadb;
    this.#prefix = prefix;
  }

  /** One whole statement without its terminator. */
  statement(): string {
    const common = [this.#procedure, this.#function, this.#trigger, this.#event, this.#plain, this.#table];
    const own = this.#mariadb ? [this.#compound, this.#topIf] : [];
    return oneOf(this.#pick, [...common, ...own]).call(this);
  }

  #name(): string {
    this.#made += 1;
    return `${this.#prefix}_${this.#made}`;
  }

  #procedure(): string {
    this.#ddl = true;
    const options = oneOf(this.#pick, ["", "COMMENT 'begin;' SQL SECURITY INVOKER ", "READS SQL DATA "]);
    return `CREATE PROCEDURE ${this.#name()}(p int) ${options}${this.#block(4)}`;
  }

  #function(): string {
    this.#ddl = false;
    const head = `CREATE FUNCTION ${this.#name()}(p int) RETURNS varchar(20) CHARACTER SET utf8mb4 DETERMINISTIC`;
    if (this.#pick(2) === 0) return `${head} RETURN ${this.#value(2)}`;
    return `${head} BEGIN ${this.#inner(3)} RETURN ${this.#value(2)}; END`;
  }

  #trigger(): string {
    this.#ddl = false;
    return `CREATE TRIGGER ${this.#name()} BEFORE INSERT ON x FOR EACH ROW ${this.#block(3)}`;
  }

  #event(): string {
    this.#ddl = true;
    return `CREATE DEFINER = CURRENT_USER EVENT ${this.#name()} ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'do begin' DO ${this.#block(3)}`;
  }

  #plain(): string {
    return this.#simple();
  }

  #table(): string {
    return `CREATE TABLE ${this.#name()} (a int /*!50000 DEFAULT 1 */ COMMENT ';', begin int, \`end;\` int)`;
  }

  #compound(): string {
    this.#ddl = true;
    return `BEGIN NOT ATOMIC IF 0 THEN ${this.#inner(3)} END IF; END`;
  }

  #topIf(): string {
    this.#ddl = true;
    return `IF 0 THEN ${this.#inner(3)} END IF`;
  }

  #value(depth: number): string {
    if (depth === 0 || this.#pick(3) > 0) return oneOf(this.#pick, VALUES);
    const part = (): string => this.#value(depth - 1);
    if (this.#pick(2) === 0) return `CASE WHEN ${part()} THEN ${part()} ELSE ${part()} END`;
    return `CASE ${part()} WHEN ${part()} THEN ${part()} END`;
  }

  #inner(depth: number): string {
    const count = 1 + this.#pick(3);
    return Array.from({ length: count }, () => `${this.#nested(depth - 1)};`).join(
      oneOf(this.#pick, [" ", "\n", " -- END;\n"]),
    );
  }

  #nested(depth: number): string {
    return depth > 0 && this.#pick(2) === 0 ? this.#block(depth) : this.#simple();
  }

  #simple(): string {
    return oneOf(this.#pick, [
      `SET @a = ${this.#value(2)}`,
      `SELECT ${this.#value(2)} /* ; END */ INTO @b`,
      "INSERT INTO t (`end`, begin) VALUES (';', 2)",
      "UPDATE t SET a = REPEAT('x;', 2), end = 3",
      "DO IF(1, 2, 3)",
      ...(this.#ddl ? ["DROP TABLE IF EXISTS none", "CREATE TABLE IF NOT EXISTS x (begin int)"] : []),
    ]);
  }

  #block(depth: number): string {
    const inner = (): string => this.#inner(depth);
    const value = this.#value(2);
    const label = this.#name();
    return oneOf(this.#pick, [
      () => `BEGIN ${inner()} END`,
      () =>
        `${label}: BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION, NOT FOUND BEGIN ${inner()} END; ${inner()} END ${label}`,
      () =>
        `BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE VALUE '45000' IF ${value} THEN ${inner()} END IF; ${inner()} END`,
      () => `BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE CONTINUE HANDLER FOR 1062 SET @h = 1; ${inner()} END`,
      () => `BEGIN DECLARE begin int DEFAULT ${value}; SET begin = ${value}; ${inner()} END`,
      () => `IF ${value} THEN ${inner()} ELSEIF 2 THEN ${inner()} ELSE ${inner()} END IF`,
      () => `CASE ${value} WHEN 1 THEN ${inner()} ELSE ${inner()} END CASE`,
      () => `CASE WHEN ${value} THEN ${inner()} END CASE`,
      () => `${label}: LOOP ${inner()} LEAVE ${label}; END LOOP ${label}`,
      () => `REPEAT ${inner()} UNTIL ${value} END REPEAT`,
      () => `WHILE ${value} DO ${inner()} END WHILE`,
      ...(this.#mariadb ? [() => `FOR ${label} IN (SELECT 1 AS z) DO ${inner()} END FOR`] : []),
    ])();
  }
}

/** What may stand between two statements and belongs to neither. */
export const MYSQL_GAPS: readonly string[] = [
  "",
  " ",
  "\n",
  "\r\n",
  " -- ; END\n",
  " # '\n",
  " /* ; ' */ ",
  ";",
  "\n\n",
];
