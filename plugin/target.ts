/** Which resource a command names: `schema/NAME`, `migration/NAME`, or a bare name that only one kind has. */
import { isKubeError, type KubeError } from "../kube/index.ts";
import { nothingStored, usage } from "./failure.ts";
import { FAMILIES, type Family, type Resource, type Target } from "./families.ts";
import { isName, NAME_RULE } from "./names.ts";
import { noneHere, type Session } from "./session.ts";

type Families<T extends Resource> = readonly [Family<T>, ...Family<T>[]];

/** A name as it was written: of one kind, or of any of those the command works on. */
export interface Named<T extends Resource> {
  readonly name: string;
  readonly families: Families<T>;
}

/**
 * Reads `NAME` or `WORD/NAME`.
 * @param families the kinds the command works on
 * @throws Failure (usage) for another kind of resource, or what can be no name
 */
export function namedBy<T extends Resource>(argument: string, families: Families<T>): Named<T> {
  const slash = argument.indexOf("/");
  if (slash < 0) return { name: named(argument), families };
  const word = argument.slice(0, slash).toLowerCase().replace(/\..*$/, "");
  const name = argument.slice(slash + 1);
  const forms = formsOf(families, isName(name) ? name : "NAME");
  if (word === "" || name === "" || name.includes("/")) throw usage(`write ${forms}`);
  const family = families.find((known) => known.words.includes(word));
  if (family === undefined) throw usage(`${unknownWord(word, name)}; write ${forms}`);
  return { name: named(name), families: [family] };
}

/** What is wrong with a word that names none of a command's kinds; of another kind, the command that shows it. */
function unknownWord(word: string, name: string): string {
  const other = FAMILIES.find((known) => known.words.includes(word))?.words[0];
  return other === undefined
    ? `this command knows no ${word}`
    : `this command knows no ${other}, which kubectl ptah ${other} ${name || "NAME"} shows`;
}

function named(name: string): string {
  if (!isName(name)) throw usage(NAME_RULE);
  return name;
}

const formsOf = <T extends Resource>(families: readonly Family<T>[], name: string): string =>
  families.map((known) => `${known.words[0]}/${name}`).join(" or ");

/**
 * The one resource that is meant. A kind the user may not read counts as one that does not have the name, unless no kind has it.
 * @throws Failure: usage where several kinds have the name, nothing stored where none has; KubeError
 */
export async function resolve<T extends Resource>(session: Session, { name, families }: Named<T>): Promise<Target<T>> {
  if (families.length === 1) return { family: families[0], name };
  const looks = await Promise.all(
    families.map(async (family) => ({ family, found: await has(session, family, name) })),
  );
  const having = looks.filter(({ found }) => found === true);
  const [first, second] = having;
  if (first !== undefined && second === undefined) return { family: first.family, name };
  if (second !== undefined)
    throw usage(
      bothCalled(
        having.map(({ family }) => family),
        name,
      ),
    );
  for (const { found } of looks) if (typeof found === "object") throw found;
  const kinds = families.map((family) => family.kind).join(" or ");
  throw nothingStored(await noneHere(session, `${kinds} ${name}`));
}

const bothCalled = <T extends Resource>(having: readonly Family<T>[], name: string): string =>
  `${having.map(({ words }) => `a ${words[0]}`).join(" and ")} are both called ${name}; write ${formsOf(having, name)}`;

/** Whether the kind has the name, or the refusal to say so. @throws KubeError */
async function has<T extends Resource>(
  session: Session,
  family: Family<T>,
  name: string,
): Promise<boolean | KubeError> {
  try {
    await session.client.get(family.raw, { namespace: session.namespace, name }, { timeoutMs: session.requestMs });
    return true;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return false;
    if (isKubeError(error, "Forbidden")) return error;
    throw error;
  }
}
