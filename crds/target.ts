/** The database a resource changes, and the realm that keeps two resources from changing it at once. */
import * as v from "valibot";
import { ConfigMapKeySelector, DatabaseEngine, SecretKeySelector } from "./common.ts";
import { def, kube, opt, pattern, req } from "./meta.ts";

/** 1..253 characters, lower case, alphanumeric at both ends. */
export const CoordinationKey = pattern(/^[a-z0-9]([a-z0-9._:/-]{0,251}[a-z0-9])?$/, 253);

/** DNS-1123 subdomain. */
export const RealmName = pattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, 253);

export const DatabaseTargetSpec = v.pipe(
  v.object({
    engine: req(
      "Database engine, in any case: PostgreSQL (postgres and pgx mean it too) or MySQL (mariadb too).",
      DatabaseEngine,
    ),
    coordinationKey: opt(
      "Names the database realm (one physical database, one change at a time) within this namespace. Not a secret.",
      CoordinationKey,
    ),
    realmRef: opt(
      "Names the database realm by a cluster-wide PtahRealm, for several namespaces. Exactly one of this and coordinationKey.",
      v.object({ name: req("Name of the PtahRealm.", RealmName) }),
    ),
    sharedRealm: def(
      "Declares that this resource owns only a part of the database realm; every resource of the realm has to say so.",
      v.boolean(),
      false,
    ),
    urlFrom: req("Secret key with the database URL. Only the operation's Pod reads it.", SecretKeySelector),
    caFrom: opt(
      "ConfigMap key with the CA bundle that the database's certificate is checked against: name and all (sslmode=verify-full), unless the " +
        "URL asks for its chain alone (verify-ca, require). A URL that would not check it is refused.",
      ConfigMapKeySelector,
    ),
  }),
  kube({
    rules: [
      {
        rule: "has(self.coordinationKey) != has(self.realmRef)",
        message: "exactly one of coordinationKey and realmRef must be set",
      },
    ],
  }),
);
export type DatabaseTargetSpec = v.InferOutput<typeof DatabaseTargetSpec>;

/** A database that is only named by its URL. */
export const DatabaseTargetRef = v.object({
  urlFrom: req("Secret key with the database URL. Only the operation's Pod reads it.", SecretKeySelector),
});
export type DatabaseTargetRef = v.InferOutput<typeof DatabaseTargetRef>;
