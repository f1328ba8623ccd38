import { describe, expect, test } from "bun:test";
import { decodePlan, encodePlan, loadParser, type PlanDocument, planSummary, SQL_LIMITS } from "./index.ts";

const parser = await loadParser();
const statement = (
  sql: string,
  over: Partial<PlanDocument["statements"][number]> = {},
): PlanDocument["statements"][number] => ({
  sql,
  severity: "safe",
  reason: "",
  transaction: "joined",
  commitAfter: false,
  class: { destructive: false, privilegeChanges: [] },
  ...over,
});
const plan = (over: Partial<PlanDocument> = {}): PlanDocument => ({
  format_version: 1,
  name: "plan_0123456789ab",
  dialect: "postgres",
  from_fingerprint: `sha256:${"0".repeat(64)}`,
  to_fingerprint: `sha256:${"1".repeat(64)}`,
  destructive: false,
  statements: [statement("CREATE TABLE t (a int)")],
  ...over,
});
const bytesOf = (text: string) => new TextEncoder().encode(text);
function encoded(document: PlanDocument): string {
  const outcome = encodePlan(document);
  if ("error" in outcome) throw new Error(outcome.error.message);
  return new TextDecoder().decode(outcome.bytes);
}

describe("plan document", () => {
  test("is written in the reference's key order, two spaces, escaped, with a trailing newline", () => {
    const text = encoded(
      plan({ exclude: ["a.*"], statements: [statement("SELECT 1 WHERE 1 < 2 AND 3 > 2 -- & \u2028")] }),
    );
    expect(text).toStartWith(
      '{\n  "format_version": 1,\n  "name": "plan_0123456789ab",\n  "dialect": "postgres",\n  "from_fingerprint"',
    );
    expect(text).toContain("1 \\u003c 2 AND 3 \\u003e 2 -- \\u0026 \\u2028");
    expect(text).toEndWith("  ]\n}\n");
    expect(Object.keys(JSON.parse(text))).toEqual(
      "format_version name dialect from_fingerprint to_fingerprint exclude destructive statements".split(" "),
    );
    expect(Object.keys(JSON.parse(text).statements[0])).toEqual(
      "sql severity reason transaction commitAfter class".split(" "),
    );
  });

  test("reads back what it wrote, whatever order the keys came in", () => {
    const { name, ...rest } = plan({ exclude: ["x"] });
    const text = encoded({ ...rest, name });
    expect(decodePlan(bytesOf(text))).toEqual({ plan: plan({ exclude: ["x"] }) });
  });

  const text = encoded(plan());
  const refused: readonly [string, string, string][] = [
    ["an unknown key", text.replace('"name"', '"extra": 1,\n  "name"'), "plan_invalid"],
    ["a repeated key", text.replace('"name"', '"name": "a",\n  "name"'), "plan_not_canonical"],
    ["another format", text.replace('"format_version": 1', '"format_version": 2'), "plan_invalid"],
    ["a blank name", text.replace("plan_0123456789ab", " "), "plan_invalid"],
    ["an unknown severity", text.replace('"safe"', '"fine"'), "plan_invalid"],
    ["an unknown dialect", text.replace('"postgres"', '"oracle"'), "plan_invalid"],
    ["no statement", encoded(plan()).replace(/"statements": \[[\s\S]*\]/, '"statements": []'), "plan_invalid"],
    ["a blank statement", text.replace("CREATE TABLE t (a int)", " \\n "), "plan_invalid"],
    ["other white space", JSON.stringify(JSON.parse(text)), "plan_not_canonical"],
    ["no trailing newline", text.trimEnd(), "plan_not_canonical"],
    ["a byte order mark", `\ufeff${text}`, "plan_not_json"],
    ["no JSON", "plan", "plan_not_json"],
    [
      "kinds out of order",
      text.replace('"privilegeChanges": []', '"privilegeChanges": ["Role", "Grant"]'),
      "plan_invalid",
    ],
  ];
  for (const [name, given, code] of refused) {
    test(`${name} is refused`, () => expect(decodePlan(bytesOf(given))).toMatchObject({ error: { code } }));
  }
  test("bytes that are not UTF-8 are refused", () => {
    expect(decodePlan(new Uint8Array([0x7b, 0xff]))).toMatchObject({ error: { code: "plan_not_text" } });
  });
  test("a refusal names the place and repeats no content", () => {
    const outcome = decodePlan(bytesOf(text.replace('"safe"', '"hunter2"').replace('"reason": ""', '"hunter2": ""')));
    expect(JSON.stringify(outcome)).not.toContain("hunter2");
    expect(decodePlan(bytesOf(text.replace('"safe"', '"x"')))).toMatchObject({
      error: { message: "the plan document does not follow format 1 at statements.0.severity" },
    });
  });
  test("the largest plan is bounded", () => {
    const big = plan({ statements: [statement(`SELECT '${"x".repeat(SQL_LIMITS.planSizeBytes)}'`)] });
    expect(encodePlan(big)).toMatchObject({ error: { code: "plan_too_large" } });
    expect(decodePlan(new Uint8Array(SQL_LIMITS.planSizeBytes + 1))).toMatchObject({
      error: { code: "plan_too_large" },
    });
  });
});

describe("plan summary", () => {
  test("is derived from the statements, whatever the document claims", () => {
    const lying = plan({
      statements: [statement("CREATE TABLE t (a int)"), statement("DROP TABLE u"), statement("GRANT SELECT ON t TO x")],
    });
    expect(planSummary(parser, lying)).toEqual({
      summary: {
        destructive: true,
        privilegeChanges: ["Grant"],
        statementCount: 3,
        highestSeverity: "destructive",
        credentialStatements: [],
      },
    });
  });
  test("keeps what the document claims beyond what the statements show", () => {
    const raised = statement("CREATE TABLE t (a int)", {
      severity: "error",
      class: { destructive: true, privilegeChanges: ["Role"] },
    });
    expect(planSummary(parser, plan({ statements: [raised] }))).toMatchObject({
      summary: { destructive: true, privilegeChanges: ["Role"], highestSeverity: "error" },
    });
    expect(planSummary(parser, plan({ destructive: true }))).toMatchObject({ summary: { destructive: true } });
  });
  test("a plain plan is neither destructive nor privileged", () => {
    expect(planSummary(parser, plan())).toMatchObject({
      summary: { destructive: false, privilegeChanges: [], statementCount: 1, highestSeverity: "safe" },
    });
  });
  test("names the statements that carry a credential", () => {
    const statements = [statement("CREATE TABLE t (a int)"), statement("ALTER ROLE x PASSWORD 'y'")];
    expect(planSummary(parser, plan({ statements }))).toMatchObject({ summary: { credentialStatements: [1] } });
  });
  test("a dialect without a reader is refused by name", () => {
    expect(planSummary(parser, plan({ dialect: "mariadb" }))).toMatchObject({ error: { code: "dialect_unsupported" } });
  });
});
