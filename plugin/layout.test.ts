import { describe, expect, test } from "bun:test";
import { loadParser } from "../sql/index.ts";
import { laidOut } from "./layout.ts";

const parser = await loadParser();

describe("a laid out CREATE TABLE", () => {
  test.each([
    'CREATE TABLE "public"."orders" ("id" bigint NOT NULL, "total" numeric(10,2) DEFAULT 0.0, PRIMARY KEY ("id"))',
    "CREATE TABLE t (a text DEFAULT 'it''s, (so',b text CHECK (b IN ('x', 'y')), UNIQUE (a, b)) PARTITION BY RANGE (a, b)",
    'CREATE UNLOGGED TABLE IF NOT EXISTS "a ""quoted, (name" ("x""," int, y int[]) WITH (fillfactor=70, autovacuum_enabled=false)',
  ])("holds the same tokens in the same order: %s", (sql) => {
    const shown = laidOut(sql);
    expect(shown.split("\n").length).toBeGreaterThan(3);
    expect(parser.words(shown)).toEqual(parser.words(sql) ?? []);
    expect(shown.replaceAll(/\s/g, "")).toBe(sql.replaceAll(/\s/g, ""));
    const trees = [shown, sql].map((text) =>
      JSON.stringify(parser.parse(text)).replaceAll(/"\w*(?:location|len|sizeBytes|list_start|list_end)":\d+/g, ""),
    );
    expect(trees[0]).toBe(trees[1]);
  });

  test.each([
    "CREATE TABLE t (a int, b int) -- comment, (",
    "CREATE TABLE t (a text DEFAULT E'\\'', b int)",
    "CREATE TABLE t (a text DEFAULT $$, ($$, b int)",
    "CREATE TABLE t (\na int,\nb int)",
    "CREATE TABLE p PARTITION OF t FOR VALUES IN (1, 2)",
    "CREATE TABLE t (a int)",
    "CREATE INDEX i ON t (a, b)",
    "CREATE TABLE t (a int, b int",
  ])("is left as it is where nothing is gained or its quoting could be misread: %s", (sql) => {
    expect(laidOut(sql)).toBe(sql);
  });
});
