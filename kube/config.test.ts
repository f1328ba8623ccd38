import { afterEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectionFrom, inCluster } from "./config.ts";
import { isKubeError } from "./errors.ts";
import { limits } from "./limits.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true });
});
function dir(files: Record<string, string>): string {
  const made = mkdtempSync(join(tmpdir(), "ptah-kube-"));
  dirs.push(made);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(made, name, ".."), { recursive: true });
    writeFileSync(join(made, name), content);
  }
  return made;
}

const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c
  cluster: {server: "https://10.0.0.1:6443/", certificate-authority: ca.crt, tls-server-name: kubernetes}
contexts:
- name: one
  context: {cluster: c, user: u, namespace: shop}
- name: two
  context: {cluster: c, user: t}
users:
- name: u
  user: {client-certificate: u.crt, client-key-data: ${Buffer.from("KEY").toString("base64")}}
- name: t
  user: {tokenFile: token}
`;

describe("choosing a cluster as kubectl does", () => {
  test("the current context gives server, namespace and client certificate; paths are relative to the file", async () => {
    const at = dir({ config: KUBECONFIG, "ca.crt": "CA", "u.crt": "CERT" });
    const connection = await connectionFrom({ kubeconfig: join(at, "config") }, {});
    expect([connection.server, connection.namespace]).toEqual(["https://10.0.0.1:6443", "shop"]);
    const { tls } = await connection.credentials();
    expect(tls).toEqual({ ca: "CA", cert: "CERT", key: "KEY", serverName: "kubernetes", verify: true });
  });

  test("--context wins, and a token file is read anew at every call", async () => {
    const at = dir({ config: KUBECONFIG, "ca.crt": "CA", token: "first\n" });
    const connection = await connectionFrom({ kubeconfig: join(at, "config"), context: "two" }, {});
    expect((await connection.credentials()).headers).toEqual({ authorization: "Bearer first" });
    writeFileSync(join(at, "token"), "second");
    expect((await connection.credentials()).headers).toEqual({ authorization: "Bearer second" });
    expect(connection.namespace).toBe("default");
  });

  test("KUBECONFIG may name several files; the first that defines a name wins", async () => {
    const a = dir({ config: "current-context: mine\ncontexts:\n- {name: mine, context: {cluster: c, user: t}}\n" });
    const b = dir({ config: KUBECONFIG, "ca.crt": "CA", token: "x" });
    const connection = await connectionFrom({}, { KUBECONFIG: `${join(a, "config")}:${join(b, "config")}` });
    expect((await connection.credentials()).headers).toEqual({ authorization: "Bearer x" });
  });

  test("inside a Pod the mounted ServiceAccount is used, its token read anew", async () => {
    const at = dir({ token: "a", "ca.crt": "CA", namespace: "ptah-system" });
    const connection = inCluster({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" }, at);
    expect([connection.server, connection.namespace]).toEqual(["https://[fd00::1]:443", "ptah-system"]);
    expect(connection.unpacked).toBe(true);
    writeFileSync(join(at, "token"), "b");
    expect(await connection.credentials()).toEqual({
      headers: { authorization: "Bearer b" },
      tls: { ca: "CA", verify: true },
    });
  });

  test.each([
    [{ context: "three" }, "no context"],
    [{ kubeconfig: "/nonexistent/config" }, "could not be read"],
  ])("what is missing is named: %p", async (flags, words) => {
    const at = dir({ config: KUBECONFIG });
    const found = await connectionFrom({ kubeconfig: join(at, "config"), ...flags }, {}).catch(
      (error: unknown) => error,
    );
    expect(isKubeError(found, "Configuration")).toBe(true);
    expect((found as Error).message).toContain(words);
  });

  const asking = (user: string, flags: { as?: string; asGroup?: string } = {}) => {
    const at = dir({ config: KUBECONFIG.replace("{tokenFile: token}", `{token: x${user}}`), "ca.crt": "CA" });
    return connectionFrom({ kubeconfig: join(at, "config"), context: "two", ...flags }, {});
  };

  test("whoever the kubeconfig acts as is acted as, and --as and --as-group come before it", async () => {
    const ann = ", as: ann, as-uid: '7', as-groups: [dba]";
    expect((await (await asking(ann)).credentials()).headers).toEqual({
      authorization: "Bearer x",
      "impersonate-user": "ann",
      "impersonate-uid": "7",
      "impersonate-group": "dba",
    });
    const headers = async (flags: { as?: string; asGroup?: string }) =>
      (await (await asking(ann, flags)).credentials()).headers;
    expect(await headers({ as: "bob" })).toEqual({ authorization: "Bearer x", "impersonate-user": "bob" });
    expect(await headers({ as: "bob", asGroup: "ops" })).toMatchObject({
      "impersonate-user": "bob",
      "impersonate-group": "ops",
    });
  });

  test.each([
    [", as: ann, as-groups: [a, b]", {}, "more than one group"],
    [", as: ann, as-user-extra: {scope: [view]}", {}, "as-user-extra"],
    [", as-groups: [a]", {}, "without a user"],
    ["", { asGroup: "a" }, "without a user"],
    ["", { as: "ann\r\nimpersonate-group: system:masters" }, "printable ASCII"],
  ])("what cannot be asked for is refused and never left out: %p %p", async (user, flags, words) => {
    const found = await asking(user, flags).catch((error: unknown) => error);
    expect(isKubeError(found, "Configuration")).toBe(true);
    expect((found as Error).message).toContain(words);
  });

  test("a shell's pipe is read like a file, also where its writer takes a while", () => {
    const at = dir({ config: KUBECONFIG });
    const script = `import { connectionFrom } from ${JSON.stringify(join(import.meta.dir, "config.ts"))};
      console.log((await connectionFrom({ kubeconfig: process.argv.at(-1) }, {})).namespace);`;
    writeFileSync(join(at, "read.ts"), script);
    const read = `${process.execPath} ${join(at, "read.ts")} <(sleep 0.3; cat ${join(at, "config")})`;
    expect(execFileSync("bash", ["-c", read], { encoding: "utf8" })).toBe("shop\n");
  });

  test("what has no end is refused, and a file beyond the bound", async () => {
    const at = dir({ large: `# ${"x".repeat(limits.configFileBytesMax)}` });
    for (const [kubeconfig, words] of [
      ["/dev/zero", `is larger than ${limits.configFileBytesMax} bytes`],
      [at, "could not be read"],
      [join(at, "large"), `is larger than ${limits.configFileBytesMax} bytes`],
    ] as const) {
      const found = await connectionFrom({ kubeconfig }, {}).catch((error: unknown) => error);
      expect(isKubeError(found, "Configuration")).toBe(true);
      expect((found as Error).message).toContain(words);
    }
  });

  test("a namespace that is there but empty is the default one", async () => {
    const at = dir({ config: KUBECONFIG.replace("namespace: shop", 'namespace: ""') });
    expect((await connectionFrom({ kubeconfig: join(at, "config") }, {})).namespace).toBe("default");
  });

  test("without anything the sentence says what to give", async () => {
    const found = await connectionFrom({}, { HOME: dir({}) }).catch((error: unknown) => error);
    expect((found as Error).message).toContain("--kubeconfig");
  });
});
