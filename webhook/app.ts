import { type Context, Hono } from "hono";
import { isKubeError } from "../kube/index.ts";
import type { WebhookConfig } from "./config.ts";
import { answerOf, parseReview } from "./envelope.ts";
import type { Reads } from "./reads.ts";
import { ALLOWED, deny, type ReviewRequest, type Verdict } from "./review.ts";
import { reviewAcknowledgment } from "./reviews/acknowledgment.ts";
import { reviewApproval } from "./reviews/approval.ts";
import { type ApprovalFamily, MIGRATION_APPROVALS, type Plan, SCHEMA_APPROVALS } from "./reviews/approval-family.ts";
import { type Family, MIGRATION, SCHEMA, type Subject } from "./reviews/family.ts";
import { reviewJob } from "./reviews/job.ts";
import {
  ACKNOWLEDGMENT,
  APPROVAL_OF_MIGRATION,
  APPROVAL_OF_SCHEMA,
  type PersonsWord,
  stampPerson,
} from "./reviews/person-stamp.ts";
import { reviewPod } from "./reviews/pod.ts";
import { reviewSubject } from "./reviews/subject.ts";
import { stampSubject } from "./reviews/subject-stamp.ts";

/** What the reviews need from outside, created once in `main`. */
export interface ReviewPorts {
  readonly reads: Reads;
  readonly config: WebhookConfig;
  readonly now: () => Date;
  /** Told how each review ended, and after how long. */
  readonly reviewed: (rule: string, outcome: "allowed" | "denied" | "failed", seconds: number) => void;
  /** Told of an error of ours or of a read; never of the request's content. */
  readonly failed: (rule: string, message: string) => void;
  readonly monotonicMs: () => number;
}

type Review = (request: ReviewRequest, ports: ReviewPorts) => Verdict | Promise<Verdict>;

interface Rule {
  readonly path: string;
  readonly name: string;
  readonly review: Review;
}

const pathOf = (verb: "mutate" | "validate", resource: string): string =>
  `/${verb}-operator-ptah-run-v1alpha1-${resource}`;
const stamping =
  (word: PersonsWord): Review =>
  (request, { now }) =>
    request.operation === "CREATE" ? stampPerson(request, now(), word) : ALLOWED;
const marking =
  (family: Family): Review =>
  (request, { config }) =>
    request.user.username === config.manager ? ALLOWED : stampSubject(request, config, family);
const declaring =
  (family: Family): Review =>
  (request, { config }) =>
    reviewSubject(request, config, family);

const approving =
  <S extends Subject, P extends Plan>(of: ApprovalFamily<S, P>): Review =>
  (request, { reads, config, now }) =>
    reviewApproval(request, reads, config, now(), of);

/** Paths and what answers them; GUARDS.md holds the configuration that leads here. */
export const RULES: readonly Rule[] = [
  { path: pathOf("mutate", "ptahschemaapproval"), name: "mapproval", review: stamping(APPROVAL_OF_SCHEMA) },
  { path: pathOf("mutate", "ptahschema"), name: "mschema", review: marking(SCHEMA) },
  {
    path: pathOf("validate", "ptahschemaapproval"),
    name: "vapproval",
    review: approving(SCHEMA_APPROVALS),
  },
  { path: pathOf("validate", "ptahschema"), name: "vschema", review: declaring(SCHEMA) },
  {
    path: pathOf("mutate", "ptahmigrationapproval"),
    name: "mmigrationapproval",
    review: stamping(APPROVAL_OF_MIGRATION),
  },
  { path: pathOf("mutate", "ptahmigration"), name: "mmigration", review: marking(MIGRATION) },
  {
    path: pathOf("mutate", "ptahmigrationrunacknowledgment"),
    name: "macknowledgment",
    review: stamping(ACKNOWLEDGMENT),
  },
  {
    path: pathOf("validate", "ptahmigrationapproval"),
    name: "vmigrationapproval",
    review: approving(MIGRATION_APPROVALS),
  },
  { path: pathOf("validate", "ptahmigration"), name: "vmigration", review: declaring(MIGRATION) },
  {
    path: pathOf("validate", "ptahmigrationrunacknowledgment"),
    name: "vacknowledgment",
    review: (request, { reads, config, now }) => reviewAcknowledgment(request, reads, config, now()),
  },
  {
    path: "/validate-batch-v1-job-ptah-operation",
    name: "vjob",
    review: (request, { reads, config }) => reviewJob(request, reads, config),
  },
  {
    path: "/validate-v1-pod-ptah-operation-intent",
    name: "vpod",
    review: (request, { reads, config, now }) => reviewPod(request, reads, config, now()),
  },
];

/** The admission endpoints. Every way of failing is a refusal: nothing passes because something broke. */
export function admissionApp(ports: ReviewPorts): Hono {
  const app = new Hono();
  for (const rule of RULES) app.post(rule.path, (context) => answer(context, rule, ports));
  return app;
}

async function answer(context: Context, rule: Rule, ports: ReviewPorts): Promise<Response> {
  const startMs = ports.monotonicMs();
  const request = parseReview(await context.req.json().catch(() => undefined));
  if (request === undefined) return context.json({ error: "expected an AdmissionReview of admission.k8s.io/v1" }, 400);
  const changes = request.operation === "CREATE" || request.operation === "UPDATE";
  const { verdict, failed } = changes ? await judged(rule, request, ports) : { verdict: ALLOWED, failed: false };
  const outcome = failed ? "failed" : verdict.allowed ? "allowed" : "denied";
  ports.reviewed(rule.name, outcome, (ports.monotonicMs() - startMs) / 1000);
  return context.json(answerOf(request.uid, verdict));
}

async function judged(
  rule: Rule,
  request: ReviewRequest,
  ports: ReviewPorts,
): Promise<{ verdict: Verdict; failed: boolean }> {
  try {
    return { verdict: await rule.review(request, ports), failed: false };
  } catch (error) {
    ports.failed(rule.name, error instanceof Error ? error.message : String(error));
    return { verdict: refusalOf(error), failed: true };
  }
}

/** A read that failed is no answer, so the request is refused with what to do about it. */
function refusalOf(error: unknown): Verdict {
  if (isKubeError(error, "Forbidden", "Unauthorized")) {
    return deny("the operator's webhook may not read what this decision needs; check its ClusterRole", 403);
  }
  if (isKubeError(error, "Malformed")) {
    return deny(
      "an object this decision needs cannot be read by this version of the operator; upgrade the operator",
      422,
    );
  }
  return deny("the operator's webhook could not read what this decision needs; try again", 500);
}

/** What a probe and a scraper ask. */
export interface HealthPorts {
  /** Why the webhook does not serve now, or undefined. */
  readonly notReady: () => string | undefined;
  readonly metrics: () => Promise<string>;
}

export function healthApp(ports: HealthPorts): Hono {
  const app = new Hono();
  app.get("/healthz", (context) => context.text("ok"));
  app.get("/readyz", (context) => {
    const reason = ports.notReady();
    return reason === undefined ? context.text("ok") : context.text(reason, 503);
  });
  return app;
}

export function metricsApp(ports: HealthPorts): Hono {
  const app = new Hono();
  app.get("/metrics", async (context) => context.text(await ports.metrics()));
  return app;
}
