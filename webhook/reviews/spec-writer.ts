import { GROUP } from "../../crds/common.ts";
import type { PatchOperation, ReviewRequest } from "../review.ts";
import { pointer } from "../review.ts";
import { same } from "./same.ts";

/** Annotations that say who last wrote a resource's spec; kept only where distinct approvers are required. */
export const WRITER_USERNAME = `${GROUP}/last-spec-writer-username`;
export const WRITER_UID = `${GROUP}/last-spec-writer-uid`;

export interface SpecWriter {
  readonly username: string;
  readonly uid: string;
}

export function lastSpecWriter(annotations: Readonly<Record<string, string>> | undefined): SpecWriter | undefined {
  const username = annotations?.[WRITER_USERNAME];
  if (username === undefined || username === "") return undefined;
  return { username, uid: annotations?.[WRITER_UID] ?? "" };
}

/**
 * The annotations a write leaves: the requester's where the spec is new or changed, else the stored ones again, whatever
 * the client sent.
 */
export function writerAnnotations(request: ReviewRequest): ReadonlyMap<string, string | undefined> {
  const before = request.oldObject;
  const wrote = before === undefined || !same(request.object["spec"], before["spec"]);
  const stored = lastSpecWriter(before?.metadata.annotations);
  const writer = wrote ? { username: request.user.username, uid: request.user.uid } : stored;
  return new Map([
    [WRITER_USERNAME, writer?.username],
    [WRITER_UID, writer?.uid === "" ? undefined : writer?.uid],
  ]);
}

/** Patch operations that bring an object's annotations to the wanted values; undefined removes. */
export function annotationPatch(
  present: Readonly<Record<string, string>> | undefined,
  wanted: ReadonlyMap<string, string | undefined>,
): PatchOperation[] {
  const changed = [...wanted].filter(([key, value]) => present?.[key] !== value);
  if (changed.length === 0) return [];
  const create: PatchOperation[] =
    present === undefined ? [{ op: "add", path: "/metadata/annotations", value: {} }] : [];
  return [
    ...create,
    ...changed.map(([key, value]): PatchOperation => {
      const path = `/metadata/annotations/${pointer(key)}`;
      return value === undefined ? { op: "remove", path } : { op: "add", path, value };
    }),
  ];
}
