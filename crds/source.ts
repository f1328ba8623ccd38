/** Where the declared files come from: exactly one of an OCI artifact, a ConfigMap or a Git repository. */
import * as v from "valibot";
import { ConfigMapKeySelector, ObjectName } from "./common.ts";
import { atomic, def, kube, opt, pattern, req, text } from "./meta.ts";

const secretKey = () => text(1, 253);

/** How the Pod logs in to a registry. */
export const RegistryAuthFrom = v.pipe(
  v.object({
    name: req("Name of the Secret, in the same namespace.", ObjectName),
    mode: def(
      "Whether the Secret holds plain keys or a Docker configuration.",
      v.picklist(["Environment", "DockerConfigJSON"]),
      "Environment",
    ),
    usernameKey: def("Key of the user name.", secretKey(), "username"),
    passwordKey: def("Key of the password.", secretKey(), "password"),
    tokenKey: def("Key of the token.", secretKey(), "token"),
    dockerConfigJSONKey: def("Key of the Docker configuration.", secretKey(), ".dockerconfigjson"),
  }),
  kube({
    rules: [
      {
        rule: "self.mode != 'DockerConfigJSON' || self.dockerConfigJSONKey.size() > 0",
        message: "mode DockerConfigJSON needs dockerConfigJSONKey",
      },
    ],
  }),
);

/** How the registry is spoken to. */
export const RegistryTransport = v.pipe(
  v.object({
    plainHTTP: def("Speak HTTP without TLS. The Secret's owner has to allow it too.", v.boolean(), false),
    caFrom: opt("CA bundle that the registry's certificate is checked against.", ConfigMapKeySelector),
  }),
  kube({
    rules: [{ rule: "!self.plainHTTP || !has(self.caFrom)", message: "plainHTTP and caFrom exclude each other" }],
  }),
);

/** Each part of it a name that a file system takes: at most 255 bytes. */
const FILE_PATH = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}(\/[A-Za-z0-9_][A-Za-z0-9._-]{0,254})*$/;

/** Files in a ConfigMap. */
export const ConfigMapSource = v.pipe(
  v.object({
    name: req("Name of the ConfigMap, in the same namespace.", ObjectName),
    keys: opt("Keys to take as files, each under its own name. Default: every key.", atomic(text(1, 253), 256)),
    items: opt(
      "Keys to take as files under another path.",
      atomic(
        v.object({
          key: req("Key in the ConfigMap.", text(1, 253)),
          path: req("Relative path of the file.", pattern(FILE_PATH, 512)),
        }),
        256,
      ),
    ),
  }),
  kube({
    rules: [{ rule: "!(has(self.keys) && has(self.items))", message: "keys and items exclude each other" }],
  }),
);

/** Files in a Git repository. */
export const GitSource = v.pipe(
  v.object({
    repository: req("https:// or ssh:// URL, without a password.", pattern(/^(https|ssh):\/\/[^\s?#]+$/, 2048, 9)),
    ref: req("Branch, tag or full commit id.", pattern(/^[^\s~^:?*[\\\p{Cc}]+$/u, 255)),
    path: def(
      "Directory or file inside the repository.",
      pattern(/^(\.|[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*)$/, 1024),
      ".",
    ),
    authFrom: opt(
      "Secret with username and password or token (https), or identity and known_hosts (ssh).",
      v.object({ name: req("Name of the Secret, in the same namespace.", ObjectName) }),
    ),
  }),
  kube({
    rules: [
      {
        rule: "!self.repository.startsWith('ssh://') || has(self.authFrom)",
        message: "an ssh repository needs authFrom with identity and known_hosts",
      },
    ],
  }),
);

/** The source of a resource, as its author writes it. */
export const SourceSpec = v.pipe(
  v.object({
    ociRef: opt("OCI artifact, oci://host[:port]/repository[:tag][@sha256:…].", pattern(/^oci:\/\/[^\s?#]+$/, 2048, 7)),
    registryAuthFrom: opt("Registry credentials; only with ociRef.", RegistryAuthFrom),
    verificationPolicyFrom: opt(
      "Immutable ConfigMap that says which artifacts are accepted; required with ociRef, refused otherwise.",
      ConfigMapKeySelector,
    ),
    transport: opt("How the registry is spoken to; only with ociRef.", RegistryTransport),
    configMap: opt("Files in a ConfigMap; the manager copies them into an immutable snapshot.", ConfigMapSource),
    git: opt("Files in a Git repository.", GitSource),
    sourcePolicyFrom: opt(
      "Immutable ConfigMap that says which ConfigMaps or Git hosts are accepted; only with configMap or git.",
      ConfigMapKeySelector,
    ),
  }),
  kube({
    rules: [
      {
        rule: "[has(self.ociRef), has(self.configMap), has(self.git)].filter(x, x).size() == 1",
        message: "exactly one of ociRef, configMap and git must be set",
      },
      {
        rule: "has(self.ociRef) == has(self.verificationPolicyFrom)",
        message: "verificationPolicyFrom is required with ociRef and only allowed there",
      },
      {
        rule: "has(self.ociRef) || (!has(self.registryAuthFrom) && !has(self.transport))",
        message: "registryAuthFrom and transport are only allowed with ociRef",
      },
      {
        rule: "!has(self.ociRef) || !has(self.sourcePolicyFrom)",
        message: "sourcePolicyFrom is only allowed with configMap or git",
      },
    ],
  }),
);
export type SourceSpec = v.InferOutput<typeof SourceSpec>;

export const SourceKind = v.picklist(["OCI", "ConfigMap", "Git"]);
export type SourceKind = v.InferOutput<typeof SourceKind>;

/** The same source with its kind told apart, so that a reader switches on one word. */
export type DeclaredSource =
  | {
      readonly kind: "OCI";
      readonly ociRef: string;
      readonly verificationPolicyFrom: ConfigMapKeySelector;
      readonly registryAuthFrom: SourceSpec["registryAuthFrom"];
      readonly transport: SourceSpec["transport"];
    }
  | {
      readonly kind: "ConfigMap";
      readonly configMap: NonNullable<SourceSpec["configMap"]>;
      readonly sourcePolicyFrom: ConfigMapKeySelector | undefined;
    }
  | {
      readonly kind: "Git";
      readonly git: NonNullable<SourceSpec["git"]>;
      readonly sourcePolicyFrom: ConfigMapKeySelector | undefined;
    };

/**
 * The one source a spec declares.
 * @returns undefined when the spec names none or several, which the API server refuses (CEL) and an old object may still hold
 */
export function declaredSource(spec: SourceSpec): DeclaredSource | undefined {
  const named = [spec.ociRef, spec.configMap, spec.git].filter((s) => s !== undefined);
  if (named.length !== 1) return undefined;
  const { sourcePolicyFrom, registryAuthFrom, transport, verificationPolicyFrom } = spec;
  if (spec.configMap !== undefined) return { kind: "ConfigMap", configMap: spec.configMap, sourcePolicyFrom };
  if (spec.git !== undefined) return { kind: "Git", git: spec.git, sourcePolicyFrom };
  if (spec.ociRef === undefined || verificationPolicyFrom === undefined) return undefined;
  return { kind: "OCI", ociRef: spec.ociRef, verificationPolicyFrom, registryAuthFrom, transport };
}
