import * as v from "valibot";

/** Source policy, version 1: which ConfigMaps and Git hosts a source may come from. Strict: an unknown key is an error. */
const Globs = v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(253))), v.minLength(1), v.maxLength(64));
const Bytes = v.pipe(v.number(), v.integer(), v.minValue(1));
const Policy = v.strictObject({
  version: v.literal(1),
  config_map: v.optional(v.strictObject({ names: v.optional(Globs), max_bytes: v.optional(Bytes) })),
  git: v.optional(v.strictObject({ hosts: v.optional(Globs), max_bytes: v.optional(Bytes) })),
});
export type SourcePolicy = v.InferOutput<typeof Policy>;

export async function parseSourcePolicy(
  text: string,
): Promise<{ readonly policy?: SourcePolicy; readonly problem: string }> {
  // Loaded only where a source names a policy: it is a large module.
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return { problem: "it is not YAML" };
  }
  const parsed = v.safeParse(Policy, value);
  if (parsed.success) return { policy: parsed.output, problem: "" };
  return { problem: `${v.getDotPath(parsed.issues[0]) ?? "the document"} is not what version 1 allows` };
}

/** `*` stands for any run of characters; everything else for itself. */
function matches(glob: string, name: string): boolean {
  const source = glob.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${source.join("[^]*")}$`).test(name);
}

/** The rule that a ConfigMap breaks, as a sentence, or undefined. A policy that does not speak of ConfigMaps allows none. */
export function judgeConfigMap(policy: SourcePolicy, name: string, sizeBytes: number): string | undefined {
  const rules = policy.config_map;
  if (rules === undefined)
    return "The source policy has no config_map section, so no ConfigMap is allowed. Use an allowed source, or another policy.";
  if (rules.names !== undefined && !rules.names.some((glob) => matches(glob, name))) {
    return `The source policy's config_map.names does not allow ConfigMap "${name}". Use an allowed name, or another policy.`;
  }
  if (rules.max_bytes !== undefined && sizeBytes > rules.max_bytes) {
    return `The source has ${sizeBytes} bytes; the source policy's config_map.max_bytes allows ${rules.max_bytes}. Make it smaller, or use another policy.`;
  }
  return undefined;
}
