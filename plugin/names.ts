/** What may stand in a request's path as a name; anything else (`..`, nothing at all) would ask for something else. */
import { limits } from "./limits.ts";

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const NAMESPACE = new RegExp(`^${LABEL}$`);

export const isName = (text: string): boolean => text.length <= limits.nameMax && NAME.test(text);
export const isNamespace = (text: string): boolean => text.length <= limits.namespaceMax && NAMESPACE.test(text);

export const NAME_RULE = `a name is at most ${limits.nameMax} lowercase letters, digits, "-" and ".", each part of it between letters or digits`;
export const NAMESPACE_RULE = `a namespace's name is at most ${limits.namespaceMax} lowercase letters, digits and "-", between letters or digits`;
