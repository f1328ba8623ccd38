/**
 * What a cluster finds and leaves behind on the machine, read from the machine's own tables. Pure: text in, facts out.
 */

/** Mount points under `directory`, the innermost first (proc(5), mountinfo; blanks are written as \040). */
export function mountsUnder(mountinfo: string, directory: string): string[] {
  const points: string[] = [];
  for (const line of mountinfo.split("\n")) {
    const point = line.split(" ")[4];
    if (point === undefined) continue;
    const plain = point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    if (plain.startsWith(`${directory}/`)) points.push(plain);
  }
  return points.reverse();
}

/**
 * From the output of iptables-save, the input for `iptables-restore --noflush` that removes what the node made: every
 * KUBE-* chain, and the CNI chains whose rules name `networkName`, with all jumps to them. Empty when there is nothing.
 */
export function packetRuleRemoval(saved: string, networkName: string): string {
  const output: string[] = [];
  for (const table of tablesOf(saved)) {
    const doomed = new Set(
      table.chains.filter((chain) => isKubeChain(chain) || isOurCniChain(chain, table.rules, networkName)),
    );
    const removals = table.rules.filter((rule) => !doomed.has(rule.chain) && doomed.has(rule.target));
    if (doomed.size === 0) continue;
    output.push(`*${table.name}`);
    for (const rule of removals) output.push(rule.text.replace(/^-A /, "-D "));
    for (const chain of doomed) output.push(`-F ${chain}`);
    for (const chain of doomed) output.push(`-X ${chain}`);
    output.push("COMMIT");
  }
  return output.length === 0 ? "" : `${output.join("\n")}\n`;
}

interface Rule {
  chain: string;
  target: string;
  text: string;
}

interface Table {
  name: string;
  chains: string[];
  rules: Rule[];
}

function tablesOf(saved: string): Table[] {
  const tables: Table[] = [];
  for (const line of saved.split("\n")) {
    const table = tables[tables.length - 1];
    if (line.startsWith("*")) tables.push({ name: line.slice(1), chains: [], rules: [] });
    else if (!table) continue;
    else if (line.startsWith(":")) table.chains.push(line.slice(1).split(" ")[0] ?? "");
    else if (line.startsWith("-A ")) {
      table.rules.push({
        chain: line.split(" ")[1] ?? "",
        target: /(?:^| )-[jg] (\S+)/.exec(line)?.[1] ?? "",
        text: line,
      });
    }
  }
  return tables;
}

function isKubeChain(chain: string): boolean {
  return chain.startsWith("KUBE-");
}

/** The bridge plugin writes `name: "<network>" id: "<container>"` into the comment of its chains' rules and jumps. */
function isOurCniChain(chain: string, rules: readonly Rule[], networkName: string): boolean {
  if (!chain.startsWith("CNI-")) return false;
  const mark = new RegExp(`name: \\\\?"${networkName}\\\\?"`);
  return rules.some((rule) => (rule.chain === chain || rule.target === chain) && mark.test(rule.text));
}

/** The network namespace path of a sandbox, from its OCI runtime configuration. */
export function networkNamespaceOf(runtimeConfig: string): string | undefined {
  const parsed = JSON.parse(runtimeConfig) as { linux?: { namespaces?: { type?: string; path?: string }[] } };
  return parsed.linux?.namespaces?.find((namespace) => namespace.type === "network")?.path;
}

/** What programs could still take without swapping (proc(5), meminfo), in bytes; 0 when the kernel does not say. */
export function availableMemoryBytes(meminfo: string): number {
  return Number(/^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024;
}
