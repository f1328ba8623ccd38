/**
 * What of a server's sentence may be repeated where the database holds rows. A statement that reads rows (a cast, a check, an
 * index expression) can fail with a value of one in the server's words, under states that otherwise only name objects: `::tsquery`,
 * `::regclass` and `::jsonpath` all quote what they could not read. So nothing is repeated but what the statement itself says, and
 * words that the server says of any statement; also in a language that quotes otherwise.
 */

/** The server's own words in sentences about names, rights, types, locks and resources. A word left out only shows as `…`. */
const SERVER_WORDS: ReadonlySet<string> = new Set(
  `a access active aggregate allow allowed already ambiguous an and any are argument arguments array as at attribute auto automatically
  be because being bigint bit block boolean bound btree but by bytea bytes cache call canceling cannot cast change changed character
  check class clause collation column columns command committed concurrently conflict conflicts connection constraint constraints
  contains conversion could create created current currently data database date deadlock default default_transaction_read_only
  deferrable definition denied depend depends detected device disk does domain double drop due duplicate dynamic each element empty
  enough enum error event events exceed exceeded exceeds exist exists expected expression expressions extend extension external failed file for
  foreign found from full function functions generated gin gist grant group has hash have height identity in incompatible index
  indexes infinite inherit inherited inherits input insert insufficient integer internal interval into invalid is it its join json
  jsonb jsonpath key language large left length lock locked long loop many match maximum member memory method missing mismatch mode
  modify more multiple must name named names near no non not null number numeric object objects of on only operator operators option
  or other others out outside over owned owner parameter parent partition partitioned partitions pending permission permitted policy
  precision prepared primary privilege privileges procedure publication queries query range read real recovery recursion reference
  referenced references referencing relation required requires reserved resource return returns role row rows rule run same schema
  schemas search security select sequence server session set shared should shutdown size smallint space specified statement
  statements statistics storage stored subquery such superuser supported syntax system table tables tablespace temporary terminating
  text than that the there this time timeout timestamp timetz timestamptz to too transaction transactions trigger triggers tsquery
  tsvector type types undefined unable unique unknown unlogged unrecognized unsupported update updatable use used user uses using uuid
  valid value values varchar variable varying version view views volatile waiting when where while window with within without
  would write xml yet you zone`.split(/\s+/),
);

const WORD = /[\p{L}\p{N}_$]+/gu;
/** What may stand around and between words; anything else is repeated only as the statement has it. */
const PLAIN = /^[\p{L}\p{N}_$"'().,:;[\]]*$/u;
const OMITTED = "…";

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(WORD) ?? [];

/** The sentence with `…` for whatever neither the statement nor the server's vocabulary holds. */
export function saidOf(sentence: string, statement: string): string {
  const ours = new Set(wordsOf(statement));
  const known = (token: string): boolean => {
    const words = wordsOf(token);
    const plain = statement.includes(token) || (words.length > 0 && PLAIN.test(token));
    return plain && words.every((word) => ours.has(word) || SERVER_WORDS.has(word));
  };
  const shown = sentence.split(/\s+/).map((token) => (known(token) ? token : OMITTED));
  return shown.filter((token, at) => token !== OMITTED || shown[at - 1] !== OMITTED).join(" ");
}
